Facter.add(:b_before) { setcode { 1 } }
Facter.add(:b_broken) do
  setcode { ( }
end
