# Code that facts share. Facter does not load it by itself.
module Facter::Util::SharedPart
  def self.answer
    42
  end
end
Facter.add(:f_from_shared) { setcode { 'added by shared code' } }
