# Facts of parts.
Facter.add(:a_hashes, type: :aggregate) do
  chunk(:first) { { 'a' => 1, 'deep' => { 'x' => [1] } } }
  chunk(:second) { { 'b' => 2, 'deep' => { 'x' => [2], 'y' => true } } }
end
Facter.add(:a_arrays, :type => :aggregate) do
  chunk(:first) { %w[a b] }
  chunk(:second) { ['c'] }
end
Facter.add(:a_combined, type: :aggregate) do
  chunk(:one) { 1 }
  chunk(:two) { 2 }
  aggregate { |chunks| chunks[:one] + chunks[:two] }
end
Facter.add(:a_depends, type: :aggregate) do
  chunk(:last, require: [:first, :second]) { |first, second| { 'sum' => first['n'] + second['n'] } }
  chunk(:second, require: :first) { |first| { 'n' => first['n'] * 10 } }
  chunk(:first) { { 'n' => 2 } }
  aggregate { |chunks| chunks.keys.map(&:to_s).sort + [chunks[:last]['sum']] }
end
Facter.add(:a_nil_part, type: :aggregate) do
  chunk(:none) { nil }
  chunk(:some) { { 'a' => 1 } }
end
Facter.add(:a_mixed, type: :aggregate) do
  chunk(:hash) { { 'a' => 1 } }
  chunk(:array) { [1] }
end
Facter.add(:a_scalar_clash, type: :aggregate) do
  chunk(:one) { { 'a' => 1 } }
  chunk(:two) { { 'a' => 2 } }
end
Facter.add(:a_circle, type: :aggregate) do
  chunk(:one, require: :two) { |x| x }
  chunk(:two, require: :one) { |x| x }
end
Facter.add(:a_missing_part, type: :aggregate) do
  chunk(:one, require: :nobody) { |x| x }
end
Facter.add(:a_confined, type: :aggregate) do
  confine kernel: 'Windows'
  chunk(:one) { { 'a' => 1 } }
end
Facter.add(:a_raises, type: :aggregate) do
  chunk(:one) { raise 'no' }
end
Facter.add(:a_one, type: :aggregate) { chunk(:one) { 'alone' } }
Facter.add(:a_none, type: :aggregate) { has_weight 3 }
