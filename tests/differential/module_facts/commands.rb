# Commands, in all ways in which modules run them.
Facter.add(:x_string) { setcode 'echo hello' }
Facter.add(:x_string_empty) { setcode 'true' }
Facter.add(:x_string_missing) { setcode 'no-such-program-here' }
Facter.add(:x_exec) { setcode { Facter::Core::Execution.exec('echo "  spaced  "') } }
Facter.add(:x_execute) { setcode { Facter::Core::Execution.execute('printf "a\nb\n"') } }
Facter.add(:x_old) { setcode { Facter::Util::Resolution.exec('echo old') } }
Facter.add(:x_pipe) { setcode { Facter::Core::Execution.execute("printf 'b\\na\\n' | sort | head -1") } }
Facter.add(:x_redirected) { setcode { Facter::Core::Execution.execute('ls /nowhere-at-all 2>&1 | wc -l') } }
Facter.add(:x_error_output) { setcode { Facter::Core::Execution.execute('sh -c "echo bad >&2; echo good"') } }
Facter.add(:x_exit_code) { setcode { Facter::Core::Execution.execute('sh -c "echo out; exit 3"') } }
Facter.add(:x_missing_nil) { setcode { Facter::Core::Execution.exec('no-such-program-here').inspect } }
Facter.add(:x_missing_raises) do
  setcode do
    begin
      Facter::Core::Execution.execute('no-such-program-here')
    rescue Facter::Core::Execution::ExecutionFailure => e
      "failed: #{e.message}"
    end
  end
end
Facter.add(:x_missing_uncaught) { setcode { Facter::Core::Execution.execute('no-such-program-here') } }
Facter.add(:x_on_fail) { setcode { Facter::Core::Execution.execute('no-such-program-here', on_fail: 'default') } }
Facter.add(:x_on_fail_nil) { setcode { Facter::Core::Execution.execute('no-such-program-here', :on_fail => nil).inspect } }
Facter.add(:x_timeout) do
  setcode do
    begin
      Facter::Core::Execution.execute('sleep 20', timeout: 1)
    rescue StandardError => e
      e.class.to_s
    end
  end
end
Facter.add(:x_which) { setcode { Facter::Core::Execution.which('sh') } }
Facter.add(:x_which_none) { setcode { Facter::Util::Resolution.which('no-such-program-here').inspect } }
Facter.add(:x_which_absolute) { setcode { Facter::Core::Execution.which('/bin/sh') } }
Facter.add(:x_quoted) { setcode { Facter::Core::Execution.execute('"/bin/echo" one two') } }
Facter.add(:x_backquotes) { setcode { `echo back` } }
Facter.add(:x_backquotes_value) { word = 'in'; setcode { `echo #{word}side`.chomp } }
Facter.add(:x_percent) { setcode { %x(echo percent).strip } }
Facter.add(:x_backquotes_status) { setcode { `sh -c 'exit 3'`; [$?.exitstatus, $?.success?] } }
Facter.add(:x_backquotes_missing) { setcode { begin; `no-such-program-here`; rescue Errno::ENOENT; 'no entry'; end } }
Facter.add(:x_backquotes_shell_missing) { setcode { `no-such-program-here 2>/dev/null; echo after` } }
Facter.add(:x_system) { setcode { [system('true'), system('false'), system('no-such-program-here')] } }
Facter.add(:x_language) { setcode { Facter::Core::Execution.execute('sh -c "echo $LC_ALL $LANG"') } }
Facter.add(:x_builtin) { setcode { Facter::Core::Execution.exec('type cd').inspect } }
Facter.add(:x_with_env) do
  setcode do
    Facter::Core::Execution.with_env('SPECIAL' => 'yes') { Facter::Core::Execution.execute('sh -c "echo $SPECIAL"') }
  end
end
require 'open3'
Facter.add(:x_capture2) { setcode { out, status = Open3.capture2('cat', stdin_data: 'given'); [out, status.success?] } }
Facter.add(:x_capture3) do
  setcode do
    out, err, status = Open3.capture3('sh', '-c', 'echo o; echo e >&2; exit 2')
    [out, err, status.exitstatus]
  end
end
Facter.add(:x_popen) { setcode { IO.popen(%w[printf a\nb\n]) { |io| io.readlines.map(&:chomp) } } }
require 'timeout'
Facter.add(:x_ruby_timeout) do
  setcode do
    begin
      Timeout.timeout(1) { sleep 20 }
    rescue Timeout::Error
      'timed out'
    end
  end
end
Facter.add(:x_own_timeout, timeout: 1) { setcode { sleep 20; 'never' } }
Facter.add(:x_own_timeout_falls, timeout: 1) { has_weight 5; setcode { loop { 1 + 1 } } }
Facter.add(:x_own_timeout_falls) { setcode { 'second' } }
