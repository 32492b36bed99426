# Makes resources of modules' types with real Puppet: JSON lines {"type", "title", "values"} in, {"error"} and the munged values out.
#   ruby puppet_types.rb MODULEPATH < asked.jsonl > answers.jsonl
require 'json'
require 'tmpdir'
require 'puppet'

BASE = Dir.mktmpdir('types')
at_exit { FileUtils.rm_rf(BASE) }
Puppet.initialize_settings(['--confdir', "#{BASE}/conf", '--vardir', "#{BASE}/var"])
Puppet::Util::Log.close_all
ENVIRONMENT = Puppet::Node::Environment.create(:production, ARGV[0].split(':'))
ARGV[0].split(':').each { |place| Dir.glob("#{place}/*/lib").each { |lib| $LOAD_PATH << lib } }

def relations(resource)
  %i[autorequire autosubscribe autobefore autonotify].flat_map do |kind|
    found = []
    resource.class.send("each#{kind}") do |type, block|
      titles = [resource.instance_eval(&block)].flatten(1).compact
      found << [kind.to_s, type.to_s, titles.map { |title| title.is_a?(Puppet::Type) ? title.ref : title.to_s }]
    end
    found
  rescue StandardError => e
    [[kind.to_s, 'error', [e.message]]]
  end
end

Puppet.override(current_environment: ENVIRONMENT, environments: Puppet::Environments::Static.new(ENVIRONMENT)) do
  STDIN.each_line do |line|
    asked = JSON.parse(line)
    answer = begin
      resource = Puppet::Resource.new(asked['type'], asked['title'], parameters: asked['values'], environment: ENVIRONMENT).to_ral
      { 'relations' => relations(resource) }
    rescue StandardError, ScriptError => e
      { 'error' => e.message, 'class' => e.class.name }
    end
    puts JSON.generate(answer)
    STDOUT.flush
  end
end
