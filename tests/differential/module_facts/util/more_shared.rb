module MoreShared
  WORDS = %w[shared words].freeze
end

def shared_method(number)
  number * 3
end
