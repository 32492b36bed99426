# Applies catalogs with real Puppet, all in this one process, and says what it did of each.
#   ruby puppet.rb STATE_DIRECTORY MODULEPATH CATALOG.json...
# Prints a line of JSON for each catalog and run: events, and the resources that failed or were skipped.
require 'json'
require 'puppet'
require 'puppet/node'
require 'puppet/configurer'
require 'puppet/file_serving/content'
require 'puppet/file_serving/metadata'

base, modulepath, *catalogs = ARGV
Puppet.initialize_settings(['--confdir', "#{base}/conf", '--vardir', "#{base}/var", '--rundir', "#{base}/run",
                            '--logdir', "#{base}/log"])
Puppet[:default_file_terminus] = :file_server
Puppet[:show_diff] = false
Puppet::FileServing::Content.indirection.terminus_class = :selector
Puppet::FileServing::Metadata.indirection.terminus_class = :selector
Puppet::Util::Log.close_all

# As `puppet apply` does, so that types find the files that they require.
$LOAD_PATH.concat(modulepath.split(':').flat_map { |directory| Dir.glob("#{directory}/*/lib").sort })
env = Puppet::Node::Environment.create(:production, modulepath.split(':'), '')
context = { current_environment: env, environments: Puppet::Environments::Static.new(env),
            loaders: Puppet::Pops::Loaders.new(env) }
Puppet.override(context, 'differential') do
  catalogs.each do |file|
    catalog = Puppet::Resource::Catalog.from_data_hash(JSON.parse(File.read(file)))
    catalog.environment_instance = env
    ral = catalog.to_ral
    ral.finalize
    report = Puppet::Transaction::Report.new(nil, 'production', nil)
    ral.apply(report: report)
    statuses = report.resource_statuses
    events = statuses.flat_map do |ref, status|
      status.events.map { |e| [ref, e.property, e.status, e.message] }
    end
    failed = statuses.select { |_, s| s.failed || s.failed_to_restart }.keys
    skipped = statuses.select { |_, s| s.skipped }.keys
    puts JSON.generate('catalog' => file, 'events' => events, 'failed' => failed, 'skipped' => skipped)
    $stdout.flush
  end
end
