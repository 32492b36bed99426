# Calls functions of modules in one warm Puppet: JSON lines {"name", "args"} in, {"value"} or {"error"} out.
# usage: ruby puppet_functions.rb MODULEPATH < calls > answers
require 'json'
require 'tmpdir'
require 'timeout'
require 'puppet'
require 'puppet/node'
require 'puppet/parser/compiler'

base = Dir.mktmpdir('functions')
at_exit { FileUtils.rm_rf(base) }
Puppet.initialize_settings(['--confdir', "#{base}/conf", '--vardir', "#{base}/var"])
Puppet[:log_level] = 'crit'
environment = Puppet::Node::Environment.create(:production, ARGV[0].split(':'))
Puppet[:hiera_config] = "#{base}/none.yaml"
facts = {'hostname' => 'testhost', 'fqdn' => 'testhost.example.com', 'kernel' => 'Linux', 'osfamily' => 'Debian', 'ipaddress' => '192.0.2.10',
         'networking' => {'ip' => '192.0.2.10', 'hostname' => 'testhost', 'fqdn' => 'testhost.example.com'}}
node = Puppet::Node.new('testhost.example.com', environment: environment, facts: Puppet::Node::Facts.new('facts', facts))
node.merge(facts)
node.add_server_facts('serverversion' => '7.23.0', 'servername' => 'server.example.com', 'serverip' => '192.0.2.1')
node.trusted_data = {'authenticated' => 'remote', 'certname' => node.name, 'extensions' => {}, 'hostname' => 'testhost', 'domain' => 'example.com', 'external' => {}}

def data(value)
  case value
  when nil, true, false, Integer, String then value
  when Float then value.finite? ? value : {'__float' => value.to_s}
  when Symbol then value == :undef ? nil : {'__symbol' => value.to_s}
  when Array then value.map { |item| data(item) }
  when Hash then {'__hash' => value.map { |key, item| [data(key), data(item)] }}
  when Puppet::Pops::Types::PSensitiveType::Sensitive then {'__sensitive' => data(value.unwrap)}
  else {'__other' => value.class.name}
  end
end

def argument(value)
  case value
  when Array then value.map { |item| argument(item) }
  when Hash
    return Puppet::Pops::Types::PSensitiveType::Sensitive.new(argument(value['__sensitive'])) if value.key?('__sensitive')
    value.transform_values { |item| argument(item) }
  else value
  end
end

loaders = Puppet::Pops::Loaders.new(environment)
FileUtils.mkdir_p("#{base}/environments/production")
environments = Puppet::Environments::Directories.new("#{base}/environments", [])
Puppet.override(current_environment: environment, environments: environments, loaders: loaders, rich_data: true) do
  compiler = Puppet::Parser::Compiler.new(node)
  Puppet[:code] = ''
  compiler.send(:set_node_parameters)
  compiler.send(:create_settings_scope)
  compiler.send(:evaluate_main)
  scope = compiler.topscope
  Puppet.override(global_scope: scope, loaders: compiler.loaders) do
    $stdin.each_line do |line|
      call = JSON.parse(line)
      begin
        if call['repeat']
          args = argument(call['args'])
          scope.call_function(call['name'], args) rescue nil
          started = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
          call['repeat'].times { scope.call_function(call['name'], args) rescue nil }
          answer = {'seconds' => Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - started}
        else
          answer = {'value' => data(Timeout.timeout(10) { scope.call_function(call['name'], argument(call['args'])) })}
        end
      rescue StandardError, ScriptError, SystemStackError => e
        answer = {'error' => e.message.to_s.scrub}
      end
      begin
        puts JSON.generate(answer)
      rescue StandardError
        puts JSON.generate({'unreadable' => true})
      end
      $stdout.flush
    end
  end
end
