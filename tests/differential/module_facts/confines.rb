# Confines in all forms, and weights.
require 'facter'

Facter.add(:c_symbol) { confine kernel: :Linux; setcode { 1 } }
Facter.add(:c_rocket) { confine :kernel => 'linux'; setcode { 1 } }
Facter.add(:c_string_key) { confine 'kernel' => 'Linux'; setcode { 1 } }
Facter.add(:c_wrong) { confine kernel: 'Windows'; setcode { 1 } }
Facter.add(:c_list) { confine kernel: %w[FreeBSD Linux]; setcode { 1 } }
Facter.add(:c_wrong_list) { confine kernel: %w[FreeBSD AIX]; setcode { 1 } }
Facter.add(:c_pattern) { confine kernel: /^lin/; setcode { 1 } }
Facter.add(:c_pattern_case) { confine kernel: /^Lin/; setcode { 1 } }
Facter.add(:c_block) { confine { true }; setcode { 1 } }
Facter.add(:c_block_no) { confine { nil }; setcode { 1 } }
Facter.add(:c_block_raises) { confine { raise 'no' }; setcode { 1 } }
Facter.add(:c_block_value) { confine(:kernel) { |value| value == 'linux' }; setcode { 1 } }
Facter.add(:c_block_value_no) { confine('kernel') { |value| value == 'Linux' }; setcode { 1 } }
Facter.add(:c_block_structured) { confine(:os) { |os| os['family'] == Facter.value('os.family') }; setcode { 1 } }
Facter.add(:c_block_unknown) { confine(:no_such_fact_here) { |_| true }; setcode { 1 } }
Facter.add(:c_dotted) { confine 'os.name' => Facter.value('os.name'); setcode { 1 } }
Facter.add(:c_boolean) { confine c_flag: true; setcode { 1 } }
Facter.add(:c_boolean_text) { confine c_flag: 'true'; setcode { 1 } }
Facter.add(:c_flag) { setcode { true } }
Facter.add(:c_several) { confine kernel: 'Linux', c_flag: true; setcode { 1 } }
Facter.add(:c_several_no) { confine kernel: 'Linux', c_flag: false; setcode { 1 } }
Facter.add(:c_two) do
  confine kernel: 'Linux'
  confine { Facter.value(:c_flag) }
  setcode { 'both' }
end
Facter.add(:c_range) { confine c_number: 3..5; setcode { 1 } }
Facter.add(:c_number) { setcode { 4 } }
Facter.add(:c_absent) { confine c_absent_other: 'x'; setcode { 1 } }

# The most confines win, unless a weight says otherwise.
Facter.add(:w_confines) { setcode { 'plain' } }
Facter.add(:w_confines) { confine kernel: 'Linux'; setcode { 'confined' } }
Facter.add(:w_weight) { has_weight 100; setcode { 'heavy' } }
Facter.add(:w_weight) { confine kernel: 'Linux'; setcode { 'confined' } }
Facter.add(:w_option, weight: 50) { setcode { 'option' } }
Facter.add(:w_option) { has_weight 40; setcode { 'block' } }
Facter.add(:w_nil_falls) { has_weight 100; setcode { nil } }
Facter.add(:w_nil_falls) { setcode { 'second' } }
Facter.add(:w_false_wins) { has_weight 100; setcode { false } }
Facter.add(:w_false_wins) { setcode { 'second' } }
Facter.add(:w_error_ends) { has_weight 100; setcode { raise 'broken' } }
Facter.add(:w_error_ends) { setcode { 'second' } }
Facter.add(:w_equal) { has_weight 7; setcode { 'first' } }
Facter.add(:w_equal) { has_weight 7; setcode { 'second' } }
Facter.add(:w_negative) { has_weight(-5); setcode { 'negative' } }
Facter.add(:w_negative) { setcode { 'zero' } }

# Against the machine's own facts.
Facter.add(:kernel) { setcode { 'weightless' } }
Facter.add(:kernelrelease) { has_weight 10; setcode { 'replaced' } }
Facter.add(:kernelversion) { has_weight 10; setcode { nil } }
Facter.add(:timezone) { confine kernel: 'Linux'; setcode { 'confined' } }
