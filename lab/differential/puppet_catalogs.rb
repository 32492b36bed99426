# Compiles many environments with real Puppet in one process: JSON lines in, JSON lines out.
#   ruby puppet_catalogs.rb ENVIRONMENTS TEMPLATES < asked.jsonl > answers.jsonl
# A line asks {"id", "environment", "node", "facts"}; ENVIRONMENTS is the directory that holds the environments, each with its own
# environment.conf. Every rendering of an ERB template goes to the file TEMPLATES with all that the template asked for.
require 'base64'
require 'delegate'
require 'json'
require 'set'
require 'tmpdir'
require 'puppet'
require 'puppet/node'
require 'puppet/parser/compiler'

PLACE, RENDERED = ARGV[0], File.open(ARGV[1], 'w')
BASE = Dir.mktmpdir('differential')
at_exit { FileUtils.rm_rf(BASE) }
Puppet.initialize_settings(['--confdir', "#{BASE}/conf", '--vardir', "#{BASE}/var", '--environmentpath', PLACE])
Puppet[:log_level] = 'err'
Puppet[:hiera_config] = "#{BASE}/none.yaml"
Puppet::Util::Log.close_all
TYPES = Puppet::Pops::Types
SKIPPED = ['Stage[main]', 'Class[Settings]'].freeze
NOT_APPLIED = /\A(Whit|Admissible|Completed|Schedule|Filebucket|Stage|Class\[(Main|main|Settings)\])/.freeze

# A value as JSON; what JSON lacks is {"__ptype", "__pvalue"}.
module Plain
  def self.of(value)
    case value
    when nil, :undef then nil
    when true, false, Integer then value
    when Float then value.finite? ? value : { '__ptype' => 'Float', '__pvalue' => value.to_s }
    when String
      value.valid_encoding? && value.encoding != Encoding::BINARY ? value : { '__ptype' => 'Bytes', '__pvalue' => Base64.strict_encode64(value) }
    when Symbol then { '__ptype' => 'Symbol', '__pvalue' => value.to_s }
    when Array then value.map { |each| of(each) }
    when Hash
      value.keys.all?(String) ? value.transform_values { |each| of(each) } : { '__ptype' => 'Hash', '__pvalue' => value.map { |pair| of(pair) } }
    when TYPES::PSensitiveType::Sensitive then { '__ptype' => 'Sensitive', '__pvalue' => of(value.unwrap) }
    when Puppet::Resource then { '__ptype' => 'Resource', '__pvalue' => value.ref }
    when TYPES::PAnyType then { '__ptype' => 'Type', '__pvalue' => value.to_s }
    else { '__ptype' => value.class.name, '__pvalue' => value.to_s }
    end
  end
end

# What a template gets as its scope: the real one, with a record of what was asked of it.
class WatchedScope < SimpleDelegator
  def initialize(scope, asked)
    super(scope)
    @asked = asked
  end

  def [](name, *rest)
    __getobj__[name, *rest].tap { |found| @asked['variables'][name.to_s] = Plain.of(found) }
  end

  def lookupvar(name, *rest)
    __getobj__.lookupvar(name, *rest).tap { |found| @asked['variables'][name.to_s] = Plain.of(found) }
  end

  def to_hash(*rest)
    __getobj__.to_hash(*rest).tap { |found| found.each { |name, value| @asked['variables'][name] = Plain.of(value) } }
  end

  def call_function(name, args, &block)
    __getobj__.call_function(name, args, &block).tap { |found| called(name.to_s, args, found) }
  end

  def method_missing(name, *args, &block)
    found = __getobj__.public_send(name, *args, &block)
    called(name.to_s.delete_prefix('function_'), args[0], found) if name.to_s.start_with?('function_')
    found
  end

  def called(name, args, found)
    @asked['calls'] << [name, Plain.of(args), Plain.of(found)]
  end
end

# Puts a record beside every rendering.
module Watching
  def result(string = nil)
    @asked = { 'file' => @__file__, 'text' => string, 'own' => {}, 'variables' => {}, 'calls' => [] }
    source = string || File.read(@__file__, encoding: 'utf-8')
    known = __getobj_scope.to_hash
    source.scan(/@([a-z_]\w*)/).flatten.uniq.each { |name| @asked['own'][name] = Plain.of(known[name]) if known.key?(name) }
    text = super
    line = JSON.generate(@asked.merge('result' => Plain.of(text)))
    RENDERED.puts(line) if SEEN.add?(line.hash)
    text
  rescue JSON::GeneratorError
    text
  ensure
    @asked = nil
  end

  def __getobj_scope
    @__scope__
  end

  def scope
    @asked ? WatchedScope.new(@__scope__, @asked) : @__scope__
  end

  def has_variable?(name)
    super.tap { |found| @asked['variables'][name.to_s] = Plain.of(@__scope__[name.to_s]) if found && @asked }
  end
end
SEEN = Set.new
Puppet::Parser::TemplateWrapper.prepend(Watching)

# Whether a provider could work on this machine must not decide the order of a catalog for another one.
Puppet::Type.prepend(Module.new { def suitable? = true })

def references(value)
  [value].flatten.compact.map { |each| each.is_a?(Puppet::Resource) ? each.ref : each.to_s }
end

def relationships(catalog)
  catalog.resources.flat_map do |resource|
    forth = { before: 'before', notify: 'notify' }.flat_map { |name, kind| references(resource[name]).map { |ref| [resource.ref, ref, kind] } }
    back = { require: 'before', subscribe: 'notify' }.flat_map { |name, kind| references(resource[name]).map { |ref| [ref, resource.ref, kind] } }
    forth + back
  end.uniq.sort
end

# The order of application; types may refuse values here that the compiler let through.
def order(catalog)
  found = []
  graph = catalog.to_ral.relationship_graph(Puppet::Graph::SequentialPrioritizer.new)
  none = ->(_) {}
  graph.traverse(while: -> { true }, pre_process: none, overly_deferred_resource_handler: none, canceled_resource_handler: none,
                 graph_cycle_handler: ->(_) { found = nil }, teardown: -> {}) { |resource| found << resource.ref if found }
  found ? { 'order' => found.grep_v(NOT_APPLIED) } : { 'cycle' => true }
rescue StandardError => e
  { 'order_error' => e.message[0, 200] }
end

def answer(asked, environment)
  node = Puppet::Node.new(asked['node'], environment: environment, facts: Puppet::Node::Facts.new(asked['node'], asked['facts']))
  node.merge(asked['facts'])
  node.add_server_facts('serverversion' => '7.23.0', 'servername' => 'server.example.com', 'serverip' => '192.0.2.1')
  host, domain = asked['node'].split('.', 2)
  node.trusted_data = { 'authenticated' => 'remote', 'certname' => node.name, 'extensions' => {}, 'hostname' => host, 'domain' => domain, 'external' => {} }
  started = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  catalog = Puppet::Parser::Compiler.compile(node)
  spent = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - started
  data = Puppet.override(rich_data: true) { catalog.to_resource.to_data_hash }
  resources = data['resources'].reject { |each| SKIPPED.include?("#{each['type']}[#{each['title']}]") }
  {
    'resources' => resources.map { |each| each.slice('type', 'title', 'parameters', 'exported', 'tags', 'sensitive_parameters', 'virtual') },
    'edges' => data['edges'].map { |each| each.values_at('source', 'target') }.reject { |pair| SKIPPED.include?(pair[1]) },
    'classes' => data['classes'], 'relationships' => relationships(catalog), 'cpu_s' => spent
  }.merge(order(catalog))
end

def compiled(asked)
  environments = Puppet.lookup(:environments)
  environment = environments.get!(asked['environment'])
  Puppet.override(current_environment: environment, loaders: Puppet::Pops::Loaders.new(environment), rich_data: true) { answer(asked, environment) }
rescue StandardError, NotImplementedError, LoadError => e
  { 'error' => true, 'message' => e.message.gsub(PLACE, 'ENVIRONMENTS').gsub(BASE, 'BASE') }
end

Puppet.override(environments: Puppet::Environments::Directories.new(PLACE, [])) do
  STDIN.each_line do |line|
    asked = JSON.parse(line)
    puts JSON.generate({ 'id' => asked['id'] }.merge(compiled(asked)))
    STDOUT.flush
  end
end
