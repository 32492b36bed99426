# What facts of modules do most: parse output and files, rearrange collections.
require 'json'
require 'yaml'
require 'set'
Facter.add(:m_lvm_support) do
  confine :kernel => :linux
  vgdisplay =  Facter::Core::Execution.which('vgs')
  setcode { vgdisplay.nil? ? nil : true }
end
Facter.add(:m_partitions) do
  setcode do
    File.readlines('/proc/partitions')[2..-1].map { |l| l.split }.each_with_object({}) do |(maj, min, blocks, name), h|
      h[name] = { 'blocks' => blocks.to_i, 'id' => "#{maj}:#{min}" }
    end
  end
end
Facter.add(:m_sorted) { setcode { %w[b a C].sort_by(&:downcase).join('-') } }
Facter.add(:m_case) do
  setcode do
    case Facter.value(:osfamily)
    when 'Debian', 'Ubuntu' then 'deb'
    when /RedHat|Suse/ then 'rpm'
    else 'other'
    end
  end
end
Facter.add('m_users') do
  setcode do
    users = {}
    File.open('/etc/passwd', 'r').each_line do |line|
      next if line =~ /^#/ || line.strip.empty?
      name, _, uid, gid, _comment, home, shell = line.strip.split(':')
      users[name] = { uid: uid.to_i, home: home } if uid.to_i.between?(0, 2)
    end
    users
  end
end
Facter.add(:m_named) do
  setcode do
    m = /(?<major>\d+)\.(?<minor>\d+)/.match(Facter.value(:kernelversion))
    { 'major' => m[:major], 'minor' => m['minor'] } if m
  end
end
Facter.add(:m_ssh) do
  setcode do
    Dir.glob('/etc/ssh/ssh_host_*_key.pub').map { |f| File.read(f).split[0] }.sort.uniq
  end
end
Facter.add(:m_const) do
  setcode do
    Facter::Core::Execution.exec('uname -r') == Facter.value(:kernelrelease) || Facter.value(:kernelrelease)
  end
end
module Facter::Util::Mine
  class << self
    attr_accessor :cache
    def lookup(key)
      self.cache ||= load_all
      cache.fetch(key) { |k| "no #{k}" }
    end
    private
    def load_all
      { 'a' => 1 }
    end
  end
end
Facter.add(:m_cached) { setcode { [Facter::Util::Mine.lookup('a'), Facter::Util::Mine.lookup('z')] } }
class MyCollector
  def initialize(path)
    @path = path
  end
  def to_fact
    return {} unless File.exist?(@path)
    File.foreach(@path).grep(/^root/).map(&:chomp).to_a
  end
end
Facter.add(:m_class) { setcode { MyCollector.new('/etc/group').to_fact } }
Facter.add(:m_json) { setcode { JSON.parse(`printf '{"a":[1,{"b":null}]}'`)['a'] } }
Facter.add(:m_heredoc) do
  setcode do
    <<~TEXT.lines.map(&:strip)
      one
      two
    TEXT
  end
end
Facter.add(:m_format) { setcode { format('%05.2f|%-5s|%x', 3.14159, 'ab', 255) } }
Facter.add(:m_gsub) { setcode { 'a-b_c'.gsub(/[-_](\w)/) { Regexp.last_match(1).upcase } } }
Facter.add(:m_mem) { setcode { (Facter.value('memory.system.total_bytes').to_f / 1024**3).ceil } }
Facter.add(:m_safe) { setcode { Facter.value(:nothing_here)&.dig('a', 'b').inspect } }
Facter.add(:m_set) { setcode { Set.new([3, 1, 3]).to_a.sort } }
Facter.add(:m_tr) { setcode { "AA:BB\n".chomp.downcase.tr(':', '-') } }
Facter.add(:m_times) { setcode { 3.times.map { |i| i * 2 } } }
Facter.add(:m_until) { setcode { i = 0; i += 1 until i * i > 50; i } }
Facter.add(:m_group) { setcode { (1..6).group_by { |x| x % 3 }.map { |k, v| [k.to_s, v] }.to_h } }
Facter.add(:m_partition) { setcode { [1, 2, 3, 4].partition(&:even?) } }
Facter.add(:m_ip) { require 'ipaddr'; setcode { IPAddr.new('192.0.2.0/24').include?(IPAddr.new('192.0.2.7')) } }
Facter.add(:m_ifaces) { setcode { (Facter.value(:interfaces) || '').split(',').sort } }
Facter.add(:m_iface_each) { setcode { Facter.value(:networking)['interfaces'].select { |n, v| v['ip'] == '127.0.0.1' }.keys } }
Facter.add(:m_env_path) { setcode { ENV['PATH'].split(':').any? { |d| File.executable?(File.join(d, 'ls')) } } }
Facter.add(:m_rescue_mod) { setcode { (File.read('/nope') rescue 'none') } }
Facter.add(:m_exit) { setcode { `false`; $?.exitstatus == 1 ? 'failed' : 'ok' } }
Facter.add(:m_success) { setcode { `true`; $CHILD_STATUS.nil? || $?.success? } }
Facter.add(:m_unpack) { setcode { [1, 2].pack('C*').unpack('C*') } }
Facter.add(:m_digest) { require 'digest'; setcode { Digest::MD5.hexdigest('x') + Digest::SHA256.hexdigest('y')[0, 8] } }
Facter.add(:m_time) { setcode { Time.at(86400).utc.strftime('%Y-%m-%d') } }
Facter.add(:m_bool) { setcode { !!Facter.value(:os) && !Facter.value(:nope) } }
Facter.add(:m_freeze) { setcode { ['a'.freeze].freeze.first } }
Facter.add(:m_multi) { setcode { a, (b, *c), d = 1, [2, 3, 4], 5; [a, b, c, d] } }
Facter.add(:m_proc_sym) { setcode { %w[1 2].map(&:to_i).inject(:+) } }
Facter.add(:m_path) { setcode { require 'pathname'; Pathname.new('/etc/passwd').basename.to_s } }
Facter.add(:m_utf) { setcode { "caf\u00e9".encode('UTF-8').length } }
Facter.add(:m_scan) { setcode { File.read('/proc/cpuinfo').scan(/^processor\s*:\s*(\d+)/).flatten.length > 0 } }
Facter.add(:m_grepv) { setcode { %w[a b].grep_v(/a/) } }
Facter.add(:m_then) { setcode { 5.then { |x| x + 1 } } }
Facter.add(:m_sum) { setcode { [1, 2.5].sum } }
Facter.add(:m_zip) { setcode { %w[a b].zip([1, 2]).to_h } }
Facter.add(:m_deepmerge) { setcode { { a: { b: 1 } }.merge({ a: { c: 2 } }) { |_k, o, n| o.merge(n) } } }
Facter.add(:m_transform) { setcode { { a: 1 }.transform_values { |v| v + 1 }.transform_keys(&:to_s) } }
Facter.add(:m_filter_map) { setcode { [1, nil, 3].filter_map { |x| x && x * 2 } } }
Facter.add(:m_tally) { setcode { %w[a b a].tally } }
Facter.add(:m_stat) { setcode { format('%o', File.stat('/etc/passwd').mode & 0o777) } }
