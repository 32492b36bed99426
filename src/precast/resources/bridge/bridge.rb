# frozen_string_literal: true

# Applies single resources with the Ruby types and providers of Puppet modules, for Precast's agent.
#
# The agent starts this program once for a run and gives it two pipes, whose descriptors are its arguments: requests arrive on the first and
# answers leave on the second, one JSON document on each line. Parameters, which may be secret, travel only there. The program reads a resource, says which properties are not in
# sync, and sets one property at a time when it is told to; the agent decides about order, no-op, refreshes and reports. Of Puppet it uses types,
# providers and features; neither its configuration nor its state directories are read.

require 'json'

# Answers the requests of one run, one after the other.
class Bridge
  LOGGED = %i[info notice warning err alert emerg crit].freeze

  # A request that cannot be carried out; its text is for people.
  class Refusal < StandardError; end

  # What was found out about a resource when it was last checked.
  Checked = Struct.new(:values)

  def initialize
    @logs = []
    @resources = {}
    @checked = {}
    @examined = {}
    @prefetched = {}
    @failed_prefetches = {}
  end

  def answer(request)
    @logs.clear
    result = dispatch(request)
    result.merge('logs' => @logs)
  rescue Exception => e # rubocop:disable Lint/RescueException - code of modules may raise anything; it fails one request
    raise if e.is_a?(SignalException)

    { 'error' => explain(e), 'logs' => @logs }
  end

  private

  def dispatch(request)
    case request['do']
    when 'start' then start(request)
    when 'declare' then declare(request['resources'])
    when 'check' then check(find(request['id']), request['id'])
    when 'change' then change(find(request['id']), request['id'], request['property'])
    when 'flush' then flush(find(request['id']))
    when 'refresh' then refresh(find(request['id']))
    when 'generate' then generate(find(request['id']))
    when 'finish' then finish
    else raise Refusal, "unknown request #{request['do']}"
    end
  end

  # Load Puppet with directories of our own, so that a Puppet that runs beside us is left alone.
  def start(request)
    @is_noop = request['noop']
    $LOAD_PATH.unshift(*request['libraries'])
    require 'puppet'
    home = request['directory']
    Puppet.initialize_settings(%w[confdir codedir vardir rundir logdir ssldir].flat_map { |name| ["--#{name}", "#{home}/#{name}"] })
    Puppet[:noop] = @is_noop
    collect_logs
    add_vendored_modules
    @catalog = Puppet::Resource::Catalog.new('precast', Puppet.lookup(:current_environment))
    @catalog.host_config = false
    { 'version' => Puppet.version.to_s }
  end

  def collect_logs
    logs = @logs
    target = Object.new
    Puppet::Util::Log.newdesttype :precast do
      define_singleton_method(:match?) { |given| given.equal?(target) }
      define_method(:initialize) { |_| nil }
      define_method(:handle) { |message| logs << [message.level.to_s, message.to_s.scrub] if LOGGED.include?(message.level) }
    end
    Puppet::Util::Log.level = :info
    Puppet::Util::Log.newdestination(target)
  end

  # Types that Puppet's own packages bring with them, beside those of its core.
  def add_vendored_modules
    return unless Puppet.settings.setting(:vendormoduledir)

    $LOAD_PATH.push(*Dir.glob("#{Puppet[:vendormoduledir]}/*/lib").sort)
  end

  # Make the resources, in the order of the catalog. One that is invalid has an error, which it alone reports.
  def declare(declared)
    made = declared.to_h { |given| [given['id'], make(given)] }
    made.each_value { |resource| complete(resource) }
    made.each { |id, resource| @resources[id] = resource }
    { 'resources' => made.to_h { |id, resource| [id, describe(resource)] } }
  end

  def make(given)
    kind = Puppet::Type.type(given['type'].to_sym)
    raise Refusal, "Puppet #{Puppet.version} on this node knows no type #{given['type']}, and its module is not in the catalog" if kind.nil?

    desired = Puppet::Resource.new(kind, given['title'], parameters: ruby_values(given['parameters']))
    desired.catalog = @catalog
    desired.sensitive_parameters = given['sensitive'].map(&:to_sym)
    desired.file, desired.line = given.values_at('file', 'line')
    resource = kind.new(desired)
    resource.tag(*given['tags'])
    @catalog.add_resource(resource)
    resource
  rescue StandardError, LoadError, SyntaxError, NotImplementedError => e
    explain(e)
  end

  def complete(resource)
    resource.finish unless resource.is_a?(String)
  rescue StandardError => e
    @examined[resource] = explain(e)
  end

  def describe(resource)
    return { 'error' => resource } if resource.is_a?(String)

    {
      'refreshes' => resource.respond_to?(:refresh),
      'generates' => resource.respond_to?(:generate) || resource.respond_to?(:eval_generate),
      'relations' => relations(resource)
    }
  end

  # What the type's `autorequire` and the like name, as kind, type and title.
  def relations(resource)
    kind = resource.class
    [[:eachautorequire, 'require'], [:eachautosubscribe, 'subscribe'], [:eachautobefore, 'before'], [:eachautonotify, 'notify']]
      .select { |each, _| kind.respond_to?(each) }
      .flat_map { |each, name| named_by(resource, each).map { |type, title| [name, type, title] } }
  end

  def named_by(resource, each)
    named = []
    resource.class.public_send(each) do |type, block|
      next unless Puppet::Type.type(type)

      titles = [resource.instance_eval(&block)].flatten.compact
      named.concat(titles.map { |title| named_type_and_title(type, title) })
    end
    named
  rescue StandardError => e
    @logs << ['warning', "the automatic relationships of #{resource.ref} cannot be read: #{explain(e)}"]
    []
  end

  def named_type_and_title(type, title)
    title.is_a?(Puppet::Resource) || title.is_a?(Puppet::Type) ? [title.type.to_s.downcase, title.title.to_s] : [type.to_s, title.to_s]
  end

  def find(id)
    resource = @resources.fetch(id) { raise Refusal, "#{id} was not declared" }
    raise Refusal, resource if resource.is_a?(String)

    resource
  end

  # The state of a resource, and each property that is not in sync.
  def check(resource, id)
    examine(resource)
    values = resource.retrieve_resource.to_hash
    @checked[id] = Checked.new(values)
    secret = resource.properties.select(&:sensitive).map { |property| property.name.to_s }
    { 'state' => state_of(resource, values), 'changes' => changes_of(resource, values), 'sensitive' => secret }
  end

  # Whatever prevents that a resource is evaluated at all.
  def examine(resource)
    raise Refusal, @examined[resource] if @examined[resource]

    prefetch(resource)
    unless resource.suitable?
      provider = resource.provider
      raise Refusal, "Could not find a suitable provider for #{resource.type}" if provider.nil?

      raise Refusal, "Provider #{provider.class.name} is not functional on this host"
    end
    return if @examined.key?(resource)

    resource.pre_run_check if resource.respond_to?(:pre_run_check)
    @examined[resource] = nil
  end

  def state_of(resource, values)
    resource.properties.to_h { |property| [property.name.to_s, plain(values[property.name])] }
  end

  # If `ensure` is not in sync, setting it sets everything else too.
  def changes_of(resource, values)
    ensuring = resource.parameter(:ensure)
    return [describe_change(ensuring, values)] if is_out_of_sync(ensuring, values)
    return [] unless resource.present?(values)

    resource.properties.select { |property| property.name != :ensure && is_out_of_sync(property, values) }
            .map { |property| describe_change(property, values) }
  end

  def is_out_of_sync(property, values)
    property&.should && !property.safe_insync?(values[property.name])
  end

  def describe_change(property, values)
    current = values[property.name]
    change = { 'property' => property.name.to_s, 'sensitive' => property.sensitive ? true : false }
    return change if property.sensitive

    change.merge(
      'previous' => plain(current),
      'desired' => plain(property.should),
      'previous_text' => property.is_to_s(current).to_s.scrub,
      'desired_text' => property.should_to_s(property.should).to_s.scrub
    )
  end

  def change(resource, id, name)
    refuse_in_noop
    property = resource.property(name.to_sym)
    current = @checked.fetch(id).values[property.name]
    property.sync
    return {} if property.sensitive

    { 'message' => property.change_to_s(current, property.should).to_s.scrub }
  end

  def flush(resource)
    refuse_in_noop
    resource.flush if resource.respond_to?(:flush)
    {}
  end

  def refresh(resource)
    refuse_in_noop
    resource.refresh
    {}
  end

  # The agent sends no such request in no-op; a mistake there must not change the node.
  def refuse_in_noop
    raise Refusal, 'a no-op run changes nothing' if @is_noop
  end

  # Read all resources of a provider at once before the first of them is evaluated; later ones of that provider are read when they come.
  def prefetch(resource)
    provider = resource.provider.class
    return unless resource.provider && provider.respond_to?(:prefetch)

    key = [resource.type, provider.name]
    known = @prefetched[key] ||= {}.compare_by_identity
    prefetch_all(resource, provider, key, known) unless known.key?(resource)
    raise Refusal, "Prefetch failed for #{resource.type} provider '#{provider.name}'" if @failed_prefetches[key]
  end

  def prefetch_all(resource, provider, key, known)
    alike = @resources.values.select { |other| other.is_a?(Puppet::Type) && other.type == resource.type }
    adopt(alike, provider) if provider == resource.class.defaultprovider
    found = [*alike, resource].uniq.select { |other| other.provider.class == provider && !known.key?(other) }
    found.each { |other| known[other] = true }
    provider.prefetch(found.to_h { |other| [other.name, other] })
  rescue LoadError, StandardError => e
    @logs << ['err', "Could not prefetch #{key[0]} provider '#{key[1]}': #{explain(e)}"]
    @failed_prefetches[key] = true
  end

  # Resources without a provider get the default one, which may have become suitable during the run.
  def adopt(resources, provider)
    resources.select { |other| other.class.attrclass(:provider) && other.provider.nil? }.each { |other| other.provider = provider.name }
  end

  # The resources that a resource generates and the catalog does not have.
  def generate(resource)
    made = %i[generate eval_generate].select { |name| resource.respond_to?(name) }.flat_map { |name| [resource.public_send(name)].flatten.compact }
    made = made.reject { |child| @catalog.resource(child.ref) }
    made.each { |child| adopt_child(resource, child) }
    { 'children' => made.map { |child| describe(child).merge('id' => child.ref, 'type' => child.type.to_s, 'title' => child.title.to_s) } }
  end

  def adopt_child(parent, child)
    child.merge_tags_from(parent)
    @catalog.add_resource(child)
    child.finish
    @resources[child.ref] = child
  end

  def finish
    kinds = @resources.values.select { |resource| resource.is_a?(Puppet::Type) }.map { |resource| resource.provider&.class }
    kinds.compact.uniq.select { |provider| provider.respond_to?(:post_resource_eval) }.each do |provider|
      provider.post_resource_eval
    rescue StandardError => e
      @logs << ['err', "post_resource_eval failed for provider #{provider}: #{explain(e)}"]
    end
    {}
  end

  def explain(error)
    text = error.message.to_s.scrub.strip
    text = error.class.name if text.empty?
    error.is_a?(StandardError) ? text : "#{error.class.name}: #{text}"
  end

  # A value of Puppet as JSON has it.
  def plain(value)
    case value
    when nil, true, false, Integer, Float then value
    when Array then value.map { |item| plain(item) }
    when Hash then value.to_h { |key, item| [plain(key).to_s, plain(item)] }
    when Puppet::Pops::Types::PSensitiveType::Sensitive then '[redacted]'
    else value.to_s.dup.encode('UTF-8', invalid: :replace, undef: :replace).scrub
    end
  end

  # Values of a catalog as types expect them; bytes arrive in base64.
  def ruby_values(value)
    case value
    when Array then value.map { |item| ruby_values(item) }
    when Hash
      return Puppet::Pops::Types::PBinaryType::Binary.from_base64(value['bytes']) if value['__precast'] == 'binary'

      value.transform_values { |item| ruby_values(item) }
    else value
    end
  end
end

requests = IO.for_fd(ARGV.fetch(0).to_i, 'r:UTF-8', autoclose: false)
answers = IO.for_fd(ARGV.fetch(1).to_i, 'w:UTF-8', autoclose: false)
ARGV.clear
[requests, answers].each { |pipe| pipe.close_on_exec = true }
answers.sync = true
Encoding.default_external = Encoding::UTF_8
File.umask(0o022)
bridge = Bridge.new
while (line = requests.gets)
  request = JSON.parse(line)
  answer = bridge.answer(request)
  # From here on nobody reads what providers print, and a daemon that one of them starts must not meet a closed pipe.
  $stderr.reopen(File::NULL) if request['do'] == 'start'
  answers.write("#{JSON.generate(answer)}\n")
end
