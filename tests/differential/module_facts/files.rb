# Files, directories, accounts. The directory is the one of this file, which both programs see under another path.
require 'etc'
Facter.add(:f_read) { setcode { File.read('/etc/hostname').strip == `cat /etc/hostname`.strip } }
Facter.add(:f_lines) { setcode { File.readlines('/etc/passwd').map { |line| line.split(':').first }.first } }
Facter.add(:f_chomped) { setcode { File.readlines('/etc/passwd', chomp: true).first.end_with?("\n") } }
Facter.add(:f_foreach) { setcode { found = []; File.foreach('/etc/group') { |line| found << line[/^\w+/] }; found.first(2) } }
Facter.add(:f_open) { setcode { File.open('/etc/passwd') { |file| file.each_line.count } } }
Facter.add(:f_open_read) { setcode { File.open('/etc/passwd', 'r').read.length } }
Facter.add(:f_open_readlines) { setcode { File.open('/etc/group').readlines.length } }
Facter.add(:f_gets) { setcode { File.open('/etc/passwd') { |f| [f.gets, f.gets, f.eof?] } } }
Facter.add(:f_missing) { setcode { begin; File.read('/nowhere-at-all'); rescue Errno::ENOENT => e; e.class.to_s; end } }
Facter.add(:f_missing_uncaught) { setcode { File.read('/nowhere-at-all') } }
Facter.add(:f_directory_read) { setcode { begin; File.read('/etc'); rescue SystemCallError => e; e.class.to_s; end } }
Facter.add(:f_kinds) { setcode { %w[/etc/passwd /etc /nowhere-at-all /dev/null].map { |p| [File.exist?(p), File.file?(p), File.directory?(p)] } } }
Facter.add(:f_link) { setcode { [File.symlink?('/proc/self'), File.symlink?('/etc/passwd')] } }
Facter.add(:f_readlink) { setcode { File.readlink('/proc/self/cwd').class.to_s } }
Facter.add(:f_realpath) { setcode { File.realpath('/usr/../etc/./passwd') } }
Facter.add(:f_access) { setcode { [File.readable?('/etc/passwd'), File.executable?('/bin/sh'), File.executable?('/etc/passwd')] } }
Facter.add(:f_size) { setcode { [File.size('/etc/passwd'), File.size?('/nowhere-at-all'), File.zero?('/etc/passwd')] } }
Facter.add(:f_mtime) { setcode { File.mtime('/etc/passwd').to_i } }
Facter.add(:f_age) { setcode { (Time.now - File.mtime('/etc/passwd')) > 0 } }
Facter.add(:f_stat) { setcode { stat = File.stat('/etc/passwd'); [stat.mode.to_s(8), stat.uid, stat.size, stat.file?] } }
Facter.add(:f_names) { setcode { [File.basename('/a/b.rb', '.rb'), File.dirname('/a/b.rb'), File.extname('b.tar.gz'), File.join('a', '/b')] } }
Facter.add(:f_expand) { setcode { [File.expand_path('../b', '/a/c'), File.expand_path('/x/./y')] } }
Facter.add(:f_glob) { setcode { Dir.glob('/etc/{passwd,group,no-such}') } }
Facter.add(:f_glob_star) { setcode { Dir['/etc/host*'].sort } }
Facter.add(:f_glob_deep) { setcode { Dir.glob('/etc/apt/**/*.d').sort } }
Facter.add(:f_glob_set) { setcode { Dir.glob('/etc/[pg]*s[sw]*d') } }
Facter.add(:f_glob_none) { setcode { Dir.glob('/nowhere-at-all/*') } }
Facter.add(:f_glob_block) { setcode { found = []; Dir.glob('/etc/passw?') { |path| found << path }; found } }
Facter.add(:f_entries) { setcode { Dir.entries('/etc/apt').include?('..') && !Dir.children('/etc/apt').include?('..') } }
Facter.add(:f_dir_exist) { setcode { [Dir.exist?('/etc'), Dir.exist?('/etc/passwd')] } }
Facter.add(:f_dir_missing) { setcode { begin; Dir.entries('/nowhere-at-all'); rescue Errno::ENOENT; 'none'; end } }
Facter.add(:f_env) { setcode { [ENV['NO_SUCH_VARIABLE'], ENV.fetch('NO_SUCH_VARIABLE', 'default'), ENV.key?('PATH')] } }
Facter.add(:f_passwd) { setcode { [Etc.getpwnam('root').dir, Etc.getpwnam('root').uid, Etc.getpwuid(0).name, Etc.getgrgid(0).name] } }
Facter.add(:f_passwd_missing) { setcode { begin; Etc.getpwnam('no-such-user-here'); rescue ArgumentError; 'none'; end } }
Facter.add(:f_time) { setcode { Time.now.year >= 2024 && Time.at(0).utc.year } }
Facter.add(:f_own_path) { setcode { File.basename(__FILE__) } }
Facter.add(:f_own_directory) { setcode { File.directory?(File.dirname(__FILE__)) && File.exist?(__FILE__) } }
require File.join(File.dirname(__FILE__), 'util', 'shared_part.rb')
require_relative 'util/more_shared'
Facter.add(:f_shared) { setcode { [Facter::Util::SharedPart.answer, MoreShared::WORDS.first, shared_method(2)] } }
begin
  require 'no/such/library'
rescue LoadError
  Facter.add(:f_load_error) { setcode { 'rescued' } }
end
require 'json'
require 'yaml'
Facter.add(:f_json) { setcode { JSON.parse('{"a": [1, 2.5, null]}') } }
Facter.add(:f_yaml) { setcode { YAML.safe_load("a: [1, x]\nb:\n  c: true\n") } }
Facter.add(:f_version) { setcode { Gem::Version.new('1.10.0') > Gem::Version.new('1.9') } }
Facter.add(:f_version_list) { setcode { %w[1.10 1.9 2.0.a 2.0].map { |v| Gem::Version.new(v) }.sort.map(&:to_s) } }
