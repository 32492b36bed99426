# Values of all kinds, and what becomes of those that no fact can have.
Facter.add(:v_integer) { setcode { 42 } }
Facter.add(:v_float) { setcode { 2.5 } }
Facter.add(:v_true) { setcode { true } }
Facter.add(:v_false) { setcode { false } }
Facter.add(:v_nil) { setcode { nil } }
Facter.add(:v_empty) { setcode { '' } }
Facter.add(:v_symbol) { setcode { :word } }
Facter.add(:v_array) { setcode { [1, 'two', [3.5, nil], { 'four' => true }] } }
Facter.add(:v_empty_array) { setcode { [] } }
Facter.add(:v_empty_hash) { setcode { {} } }
Facter.add(:v_hash) { setcode { { 'a' => { 'b' => [1, 2] }, :c => :d, 5 => 6 } } }
Facter.add(:v_text) { setcode { "two\nlines\tand ünïcode" } }
Facter.add(:v_object) { setcode { Object.new } }
Facter.add(:v_range) { setcode { 1..2 } }
Facter.add(:v_pattern) { setcode { /x/ } }
Facter.add(:v_nested_object) { setcode { { 'a' => 1..2 } } }
Facter.add(:v_fixed, value: 'given')
Facter.add(:v_no_code) { has_weight 5 }
Facter.add(:V_Upper) { setcode { 'lower' } }
Facter.add('v_text_name') { setcode { 1 } }
Facter.add('v.dotted.name') { setcode { 1 } }
Facter.add(:v_last_line) do
  setcode do
    x = 3
    x + 4
  end
end
Facter.add(:v_next) { setcode { next 'early'; 'late' } }
Facter.add(:v_return) { setcode { return 'returned' } }
Facter.add(:v_instance_variable) do
  @held = 'held'
  setcode { @held }
end
Facter.add(:v_other_instance_variable) { setcode { @held.inspect } }
Facter.add(:v_lambda) do
  double = ->(x) { x * 2 }
  setcode { double.call(21) }
end
%w[one two].each_with_index do |name, index|
  Facter.add("v_loop_#{name}") { setcode { index } }
end
{ 'alpha' => 1, 'beta' => 2 }.each_pair do |name, number|
  Facter.add(:"v_pair_#{name}") { setcode { number } }
end

# Errors cost one fact.
Facter.add(:e_raise) { setcode { raise 'no' } }
Facter.add(:e_raise_class) { setcode { raise ArgumentError, 'no' } }
Facter.add(:e_nil) { setcode { nil.upcase } }
Facter.add(:e_name) { setcode { no_such_method_here } }
Facter.add(:e_zero) { setcode { 1 / 0 } }
Facter.add(:e_rescued) { setcode { begin; 1 / 0; rescue ZeroDivisionError; 'rescued'; end } }
Facter.add(:e_rescued_any) { setcode { Integer('x') rescue 'any' } }
Facter.add(:e_ensure) do
  setcode do
    log = []
    begin
      log << 'body'
      raise 'no'
    rescue StandardError => e
      log << e.message
    ensure
      log << 'ensure'
    end
    log
  end
end
Facter.add(:e_after) { setcode { 'still here' } }

# Facts that depend on others, also on those that come later.
Facter.add(:d_first) { setcode { "#{Facter.value(:d_later)}!" } }
Facter.add(:d_later) { setcode { 'later' } }
Facter.add(:d_chain) { setcode { [Facter.value(:d_first), Facter.value('d_later'), Facter.value(:d_nothing)] } }
Facter.add(:d_part) { setcode { Facter.value('os.family') == Facter.value(:os)['family'] } }
Facter.add(:d_legacy) { setcode { Facter.value(:osfamily) == Facter.value('os.family') } }
Facter.add(:d_fact) { setcode { Facter.fact(:kernel).value.class.to_s } }
Facter.add(:d_index) { setcode { Facter[:d_later].value } }
Facter.add(:d_unknown) { setcode { Facter.fact(:never_heard_of_it).nil? } }
Facter.add(:d_self) { setcode { Facter.value(:d_self) } }
Facter.add(:d_circle_a) { setcode { Facter.value(:d_circle_b) } }
Facter.add(:d_circle_b) { setcode { Facter.value(:d_circle_a) || 'b' } }
Facter.add(:d_broken) { setcode { Facter.value(:e_raise).nil? } }
Facter.add(:d_structured) { setcode { { 'inner' => { 'x' => [10, 20] } } } }
Facter.add(:d_of_structured) { setcode { Facter.value(:d_structured)['inner']['x'][1] } }
Facter.debug('not shown')
Facter.add(:d_version) { setcode { Facter.version.split('.').first } }
Facter.define_fact(:d_defined) do
  define_resolution(:one) do
    has_weight 1
    setcode { 'one' }
  end
  define_resolution(:two) do
    has_weight 2
    setcode { 'two' }
  end
end
