# Compiles exporters and their collectors with real Puppet, all in this one process: JSON lines in, JSON lines out.
#   ruby puppet_exports.rb < cases.jsonl > answers.jsonl
# A case is {"id", "exporters": {node: code}, "node", "code"}. The exported resources of the exporters' catalogs are what PuppetDB would
# have stored; searches of the collectors are answered from them as PuppetDB's terminus answers them.
require 'json'
require 'tmpdir'
require 'puppet'
require 'puppet/node'
require 'puppet/parser/compiler'
require 'puppet/indirector/code'

BASE = Dir.mktmpdir('exports')
at_exit { FileUtils.rm_rf(BASE) }
Puppet.initialize_settings(['--confdir', "#{BASE}/conf", '--vardir', "#{BASE}/var", '--environmentpath', "#{BASE}/environments"])
Puppet[:log_level] = 'err'
Puppet[:hiera_config] = "#{BASE}/none.yaml"
FileUtils.mkdir_p("#{BASE}/environments/production/manifests")
Puppet::Util::Log.close_all
SKIPPED = ['Stage[main]', 'Class[Settings]'].freeze

# The exports of all nodes, searched by type and by the query of a collector.
class Puppet::Resource::Known < Puppet::Indirector::Code
  class << self
    attr_accessor :rows
  end

  def search(request)
    scope, filter = request.options[:scope], request.options[:filter]
    found = self.class.rows.select { |row| row['type'] == request.key && row['node'] != request.options[:host] && match?(row, filter) }
    found.map { |row| resource(row, scope) }
  end

  def resource(row, scope)
    parameters = (row['parameters'] || {}).map { |name, value| Puppet::Parser::Resource::Param.new(name: name, value: value) }
    made = Puppet::Parser::Resource.new(row['type'], row['title'], parameters: parameters, scope: scope)
    made.collector_id = "#{row['node']}|#{row['type']}|#{row['title']}"
    made
  end

  def match?(row, filter)
    return true unless filter

    left, sign, right = filter
    case sign
    when 'and' then match?(row, left) && match?(row, right)
    when 'or' then match?(row, left) || match?(row, right)
    else equal?(row, left, right) == (sign == '==')
    end
  end

  def equal?(row, field, value)
    case field
    when 'tag' then row['tags'].include?(value.downcase)
    when 'title' then row['title'] == value
    else (row['parameters'] || {})[field] == (value.is_a?(Puppet::Resource) ? value.ref : value)
    end
  end
end

Puppet[:storeconfigs] = true
Puppet::Resource.indirection.terminus_class = :known

def compile(name, code)
  Puppet[:code] = code
  environment = Puppet::Node::Environment.create(:production, [], '')
  node = Puppet::Node.new(name, environment: environment, facts: Puppet::Node::Facts.new(name, 'fqdn' => name))
  node.merge('fqdn' => name)
  node.trusted_data = { 'authenticated' => 'remote', 'certname' => name, 'extensions' => {}, 'hostname' => name, 'domain' => '', 'external' => {} }
  context = { current_environment: environment, environments: Puppet::Environments::Static.new(environment), rich_data: true,
              loaders: Puppet::Pops::Loaders.new(environment) }
  Puppet.override(context) { Puppet::Parser::Compiler.compile(node).to_resource.to_data_hash }
end

def answer(asked)
  Puppet::Resource::Known.rows = []
  rows = asked['exporters'].flat_map do |node, code|
    compile(node, code)['resources'].select { |each| each['exported'] }.map { |each| each.merge('node' => node) }
  end
  Puppet::Resource::Known.rows = rows.sort_by { |row| row.values_at('type', 'title', 'node') }
  data = compile(asked['node'], asked['code'])
  resources = data['resources'].reject { |each| SKIPPED.include?("#{each['type']}[#{each['title']}]") }
  { 'resources' => resources.map { |each| each.slice('type', 'title', 'parameters', 'exported', 'tags') },
    'edges' => data['edges'].map { |each| each.values_at('source', 'target') }.reject { |pair| SKIPPED.include?(pair[1]) },
    'classes' => data['classes'] }
rescue StandardError => e
  { 'error' => true, 'message' => e.message }
end

STDIN.each_line do |line|
  asked = JSON.parse(line)
  puts JSON.generate({ 'id' => asked['id'] }.merge(answer(asked)))
end
