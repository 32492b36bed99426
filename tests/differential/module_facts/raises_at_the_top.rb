Facter.add(:t_before) { setcode { 'before' } }
raise 'at the top'
Facter.add(:t_after) { setcode { 'after' } }
