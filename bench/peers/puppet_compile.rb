# Compiles one environment over and over in this process with real Puppet; prints the figures as one JSON object.
#   ruby puppet_compile.rb DIRECTORY ROUNDS NODE FACTS.json
require 'json'
require 'digest'
require 'tmpdir'
require 'puppet'
require 'puppet/node'
require 'puppet/parser/compiler'

directory, rounds, name, facts_file = ARGV[0], ARGV[1].to_i, ARGV[2], ARGV[3]
base = Dir.mktmpdir('bench')
at_exit { FileUtils.rm_rf(base) }
Puppet.initialize_settings(['--confdir', "#{base}/conf", '--vardir', "#{base}/var", '--environmentpath', File.dirname(directory)])
Puppet[:log_level] = 'err'
Puppet::Util::Log.newdestination(:console)
Puppet[:hiera_config] = "#{base}/none.yaml"
environments = Puppet::Environments::Directories.new(File.dirname(directory), [])
env = environments.get!(File.basename(directory))
facts = JSON.parse(File.read(facts_file))
seconds = []
catalog = nil
Puppet.override({current_environment: env, environments: environments, loaders: Puppet::Pops::Loaders.new(env)}, 'bench') do
  rounds.times do
    node = Puppet::Node.new(name, environment: env, facts: Puppet::Node::Facts.new('facts', facts))
    node.merge(facts)
    host, domain = name.split('.', 2)
    node.trusted_data = {'authenticated' => 'remote', 'certname' => name, 'extensions' => {}, 'hostname' => host, 'domain' => domain, 'external' => {}}
    started = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    catalog = Puppet::Parser::Compiler.compile(node)
    seconds << Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - started
  end
end
data = catalog.to_resource.to_data_hash['resources']
lines = data.map do |r|
  plain = (r['parameters'] || {}).select { |_, v| v.is_a?(String) }.map { |k, v| "#{k}=#{v}" }.sort
  "#{r['type']}[#{r['title']}] #{plain.join(' ')}"
end
kept = lines.reject { |l| l.start_with?('Stage[', 'Class[Settings]', 'Class[main]', 'Node[') }.sort
peak = File.read('/proc/self/status')[/VmHWM:\s+(\d+)/, 1].to_i / 1024.0
warm = seconds[1..]
puts JSON.generate('version' => Puppet.version, 'resources' => data.size, 'first_cpu_s' => seconds[0], 'cpu_s' => warm.min,
                   'median_cpu_s' => warm.sort[warm.size / 2], 'rss_mb' => peak, 'refs' => Digest::SHA256.hexdigest(kept.join("\n")))
