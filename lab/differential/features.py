"""Code that users write around modules: pieces of profiles, each with its files and data. An environment has some of them.

A piece depends only on the random generator, so a seed makes the same environment everywhere.
"""

import random
from collections.abc import Callable
from typing import Any

import msgspec

from lab.differential.notation import literal


class Feature(msgspec.Struct, frozen=True):
    """A class of the module `profile`, with further files, its data, and code for the top of site.pp."""

    code: str
    files: dict[str, str] = {}
    data: dict[str, Any] = {}
    options: dict[str, Any] = {}
    top: str = ""


MAKERS: dict[str, Callable[[random.Random], Feature]] = {}


def feature(maker: Callable[[random.Random], Feature]) -> Callable[[random.Random], Feature]:
    MAKERS[maker.__name__] = maker
    return maker


def _numbers(chance: random.Random, count: int) -> list[int]:
    return [chance.randrange(1024, 60000) for _ in range(count)]


@feature
def motd(chance: random.Random) -> Feature:
    template = """<%- | String $greeting, Hash[String, Any] $facts_shown, Array $ports = [] | -%>
<%# greetings %>
<%= $greeting %> on <%= $facts['networking']['hostname'] %>
<% $facts_shown.each |$name, $value| { -%>
  <%= $name.capitalize %>: <%= $value %>
<% } -%>
<% if $ports.empty { -%>
no ports
<% } else { -%>
<%- $ports.each |$at, $port| { -%>
port <%= $at + 1 %>: <%= $port %>
<%- } -%>
<% } -%>
<%= $trusted['certname'] =~ /^(\\w+)/ ? { true => "short ${1}", default => 'none' } %>
"""
    code = f"""class profile::motd (
  String $greeting,
  Array[Integer] $ports = [],
  Enum['present', 'absent'] $ensure = 'present',
) {{
  $shown = {{ 'os' => $facts['os']['name'], 'cores' => $facts['processors']['count'], 'memory' => $facts['memory']['system']['total'] }}
  file {{ '/etc/motd':
    ensure  => $ensure,
    content => epp('profile/motd.epp', {{ greeting => $greeting, facts_shown => $shown, ports => $ports }}),
    mode    => '{chance.choice(("0644", "0444"))}',
  }}
  file {{ "/etc/motd.d/${{facts['networking']['hostname']}}":
    content => inline_epp("<%= \\$x %>-${{trusted['domain']}}", {{ 'x' => 'inline' }}),
    require => File['/etc/motd'],
  }}
}}
"""
    greeting = chance.choice(
        ("Welcome to %{facts.networking.fqdn}", "Hello", "Keep out: %{literal('%')}{not} %{trusted.certname}")
    )
    return Feature(
        code,
        {"templates/motd.epp": template},
        {"profile::motd::greeting": greeting, "profile::motd::ports": _numbers(chance, chance.randrange(4))},
        {"profile::motd::ports": {"merge": "unique"}},
    )


@feature
def service_file(chance: random.Random) -> Feature:
    template = """# <%= @title %> of <%= @fqdn -%>

<% @settings.sort.each do |key, value| -%>
<%   next if value.nil? -%>
<%   if value.is_a?(Hash) -%>
[<%= key %>]
<%     value.keys.sort.each do |inner| -%>
<%= inner %> = <%= value[inner].is_a?(Array) ? value[inner].join(', ') : value[inner] %>
<%     end -%>
<%   elsif value == true || value == false -%>
<%= key.upcase %>=<%= value ? 'yes' : 'no' %>
<%   else -%>
<%= '%-12s' % key %>: <%= value.to_s.gsub(/[aeiou]/) { |c| c.upcase } %>
<%   end -%>
<% end -%>
<%- unless @extra.to_s.empty? -%>
extra <%= scope['profile::service_file::extra'] %> <%= scope.lookupvar('::kernel') %>
<%- end -%>
<%= (1..3).map { |n| n * 2 }.inject(:+) %> <%= @settings.size %> <%= @settings.to_a.flatten.length %>
"""
    code = """class profile::service_file (
  Hash $settings,
  Optional[String] $extra = undef,
) {
  file { '/etc/service.conf':
    content => template('profile/service.conf.erb'),
    owner   => root,
  }
  ~> exec { 'reload service':
    command     => 'systemctl reload service',
    path        => ['/bin', '/usr/bin'],
    refreshonly => true,
    onlyif      => [['test', '-e', '/run/service'], 'true'],
  }
  $text = inline_template("<%= @settings.keys.sort.join(':') %>\\n", '<%= @title %>')
  file { '/etc/service.keys': content => $text, before => Exec['reload service'] }
}
"""
    settings = {
        "log": {"level": chance.choice(("info", "debug")), "targets": ["a", "b"]},
        "listen": f"0.0.0.0:{chance.randrange(1024, 9999)}",
        "verbose": chance.random() < 0.5,
        "workers": chance.randrange(1, 64),
        "empty": None,
        "host": "%{facts.networking.hostname}",
    }
    data: dict[str, Any] = {"profile::service_file::settings": settings}
    if chance.random() < 0.5:
        data["profile::service_file::extra"] = "%{lookup('profile::service_file::base')}!"
        data["profile::service_file::base"] = "base"
    options = {"profile::service_file::settings": {"merge": {"strategy": "deep", "knockout_prefix": "--"}}}
    return Feature(code, {"templates/service.conf.erb": template}, data, options)


@feature
def accounts(chance: random.Random) -> Feature:
    code = f"""class profile::accounts (
  Hash[String, Hash] $users = {{}},
  Array[String] $groups = [],
) {{
  $groups.unique.each |Integer $at, String $group| {{
    @group {{ $group: ensure => present, gid => 2000 + $at }}
  }}
  $users.each |$name, $values| {{
    $more = $values ? {{
      Struct[{{ admin => Boolean, Optional[groups] => Array }}] => {{ 'groups' => $values['groups'], 'tag' => 'admins' }},
      default => $values - ['admin'],
    }}
    @user {{ $name:
      ensure     => present,
      managehome => true,
      home       => "/home/${{name}}",
      *          => $more,
    }}
  }}
  Group <| |>
  User <| tag == 'admins' or title == 'deploy' |> {{ shell => '/bin/bash' }}
  {chance.choice(("realize(User['deploy'])", "User <| title != 'nobody' |>", "Group <| |> -> User <| |>"))}
}}
"""
    names = ["deploy", *chance.sample(["ada", "bob", "cyd", "dee"], chance.randrange(1, 4))]
    users: dict[str, Any] = {
        name: {"uid": 3000 + at, "comment": f"{name} of %{{facts.networking.domain}}"} for at, name in enumerate(names)
    }
    users[names[-1]] = {"admin": True, "groups": ["wheel"]}
    return Feature(
        code,
        data={"profile::accounts::users": users, "profile::accounts::groups": ["wheel", "staff", "wheel"]},
        options={
            "^profile::accounts::.*": {"merge": "unique"},
            "profile::accounts::users": {"merge": {"strategy": "deep", "merge_hash_arrays": True}},
        },
    )


@feature
def sites(chance: random.Random) -> Feature:
    define = """define profile::site (
  Profile::Port $port,
  Variant[Array[Profile::Path, 1], Profile::Path] $paths,
  Hash[String, String] $labels = {},
  Optional[Profile::Port] $tls = undef,
) {
  $all = [$paths].flatten
  $all.each |$path| {
    file { "${path}/${title}":
      ensure => directory,
      tag    => ["site-${name}", 'sites'],
    }
  }
  $shown = profile::labels($labels, $port)
  file { "/etc/sites/${title}.conf":
    content => "port=${port}\\n${shown}\\n${pick_tls($tls)}",
    require => File["${all[0]}/${title}"],
  }
}
""".replace("pick_tls($tls)", "if $tls { $tls } else { 'plain' }")
    function = """# Labels in one line
function profile::labels(Hash[String, String] $labels, Profile::Port $port = 80) >> String {
  $sorted = $labels.map |$k, $v| { "${k}=${v}" }.sort
  $sorted.reduce("p${port}") |$memo, $each| { "${memo} ${each}" }
}
"""
    code = f"""class profile::sites (
  Hash $sites,
) {{
  file {{ ['/etc/sites', '/srv/a', '/srv/b']: ensure => directory }}
  $defaults = {{ 'port' => {chance.randrange(80, 90)}, 'labels' => {{ 'env' => $environment, 'os' => $facts['os']['family'] }} }}
  $sites.each |$title, $values| {{
    profile::site {{ $title:
      * => $defaults + $values,
    }}
  }}
  File<| tag == 'sites' |> {{ mode => '0750' }}
  {chance.choice(("Profile::Site <| |> -> Exec['sites done']", "File['/etc/sites'] -> Profile::Site <| title != 'x' |>"))}
  exec {{ 'sites done': command => '/bin/true', refreshonly => true, subscribe => Profile::Site[$sites.keys] }}
}}
"""
    site_values = {
        f"s{at}": {"paths": ["/srv/a", "/srv/b"][: at + 1] if at < 2 else "/srv/a"}
        for at in range(chance.randrange(1, 4))
    }
    return Feature(
        code,
        {
            "manifests/site.pp": define,
            "functions/labels.pp": function,
            "types/port.pp": "type Profile::Port = Integer[1, 65535]\n",
            "types/path.pp": "type Profile::Path = Pattern[/\\A\\/\\w+/]\n",
        },
        {"profile::sites::sites": site_values},
        {"profile::sites::sites": {"merge": "hash"}},
    )


@feature
def defaults(chance: random.Random) -> Feature:
    code = f"""class profile::defaults {{
  File {{ owner => 'root', group => '{chance.choice(("root", "adm"))}', backup => false }}
  Exec {{ path => '/usr/bin:/bin' }}
  file {{ '/etc/defaulted': content => 'x', }}
  file {{ '/etc/other':
    content => "${{module_name}} ${{title}} ${{name}}",
    group   => 'mail',
    ;
    '/etc/third':
    ensure => link,
    target => '/etc/other',
  }}
  exec {{ 'say': command => "echo ${{facts['os']['release']['major']}}", logoutput => on_failure }}
  include profile::defaults::inner
}}
"""
    inner = """class profile::defaults::inner inherits profile::defaults {
  File['/etc/other'] { mode => '0600', group => undef }
  File['/etc/third'] { require +> Exec['say'] }
  file { '/etc/inner': ensure => file }
  tag('inside', "by-${module_name}")
  if tagged('inside') { notify { "tagged ${title}": loglevel => debug } }
}
"""
    return Feature(code, {"manifests/defaults/inner.pp": inner})


@feature
def stages(chance: random.Random) -> Feature:
    code = """class profile::stages {
  class { 'profile::stages::early': stage => 'pre' }
  notify { 'main stage': require => Class['profile::stages::early'] }
}
"""
    early = f"""class profile::stages::early (Integer $count = {chance.randrange(1, 4)}) {{
  Integer[1, $count].each |$n| {{ notify {{ "early ${{n}}": }} }}
  contain profile::stages::nested
}}
"""
    nested = "class profile::stages::nested { notify { 'nested': noop => true } }\n"
    files = {"manifests/stages/early.pp": early, "manifests/stages/nested.pp": nested}
    return Feature(code, files, top="stage { 'pre': before => Stage['main'] }\n")


@feature
def packages(chance: random.Random) -> Feature:
    code = f"""class profile::packages {{
  $wanted = lookup('profile::packages', Array[String], 'unique', [])
  $versions = lookup({{ 'name' => 'profile::versions', 'merge' => {{ 'strategy' => 'deep' }}, 'default_value' => {{}} }})
  package {{ $wanted.sort: ensure => {chance.choice(("installed", "present", "latest"))}, tag => [downcase($facts['os']['family'])] }}
  $versions.each |$name, $version| {{
    unless defined(Package[$name]) {{
      package {{ $name: ensure => $version ? {{ undef => present, Numeric => String($version), default => $version }} }}
    }}
  }}
  case $facts['os']['family'] {{
    'Debian': {{ $extra = ['apt-file'] }}
    /^(RedHat|Suse)$/: {{ $extra = ["${{1.downcase}}-tools"] }}
    default: {{ $extra = [] }}
  }}
  ensure_packages($extra, {{ 'ensure' => 'present' }})
}}
"""
    return Feature(
        code,
        data={
            "profile::packages": chance.sample(["vim", "git", "curl", "htop", "strace", "lsof"], 3),
            "profile::versions": {"jq": "1.6", "tmux": 3, "curl": "latest"},
        },
    )


@feature
def inherited(chance: random.Random) -> Feature:
    code = """class profile::inherited (
  String $prefix = $profile::inherited::params::prefix,
  Array $list = $profile::inherited::params::list,
) inherits profile::inherited::params {
  $list.each |$each| { notify { "${prefix}-${each}": } }
  notify { 'seen': message => "${profile::inherited::params::computed} ${computed} ${::kernel}" }
}
"""
    params = f"""class profile::inherited::params {{
  $prefix = $facts['is_virtual'] ? {{ true => 'virtual', default => 'metal' }}
  $list = split('{chance.choice(("a,b,c", "x,y"))}', ',')
  $computed = $list.reverse_each.map |$l| {{ $l * {1} }}.join('/')
}}
""".replace("$l * 1", '"${l}${l}"')
    return Feature(code, {"manifests/inherited/params.pp": params})


@feature
def exported(chance: random.Random) -> Feature:
    code = f"""class profile::exported {{
  @@host {{ $facts['networking']['fqdn']:
    ip           => $facts['networking']['ip'],
    host_aliases => [$facts['networking']['hostname']],
    tag          => 'fleet',
  }}
  @@notify {{ "from ${{trusted['certname']}}": message => "{chance.randrange(100)}" }}
  @file {{ '/etc/virtual': ensure => file }}
  @file {{ '/etc/realized': ensure => file, content => Sensitive('x') }}
  realize File['/etc/realized']
}}
"""
    return Feature(code)


@feature
def jobs(chance: random.Random) -> Feature:
    code = f"""class profile::jobs (
  Hash[String, Struct[{{ command => String, Optional[every] => Integer[1], Optional[user] => String }}]] $jobs = {{}},
) {{
  $jobs.each |$name, $job| {{
    cron {{ $name:
      command => $job['command'],
      minute  => fqdn_rand(60, $name),
      hour    => "*/${{$job.dig('every').then |$n| {{ $n }}.lest || {{ 6 }}}}",
      user    => $job['user'] ? {{ undef => 'root', default => $job['user'] }},
    }}
  }}
  $secret = Sensitive("{literal("s3")[1:-1]}-${{$facts['networking']['mac'].md5[0, 8]}}")
  file {{ '/etc/secret':
    content   => $secret,
    show_diff => false,
  }}
  file {{ '/etc/jobs.json':
    content => $jobs.keys.sort.map |$k| {{ sprintf('%-10s|%05.1f', $k, {chance.randrange(1, 99)} / 4.0) }}.join("\\n"),
  }}
  $doc = @("END"/n)
    jobs of ${{facts['networking']['hostname']}}\\n\\
    ${{jobs.length}}
    | END
  file {{ '/etc/jobs.txt': content => $doc, validate_cmd => '/bin/true %' }}
}}
"""
    jobs = {f"job{at}": {"command": f"/usr/local/bin/job{at}", "every": at + 1} for at in range(chance.randrange(1, 4))}
    return Feature(code, data={"profile::jobs::jobs": jobs}, options={"profile::jobs::jobs": {"merge": "deep"}})


@feature
def in_module(chance: random.Random) -> Feature:
    """Data in the module itself."""
    code = """class profile::in_module (
  String $daemon,
  Integer $port,
  Hash $options,
  Array[String] $names = lookup('profile::in_module::other_names', { 'default_value' => ['none'] }),
) {
  service { $daemon: ensure => running, enable => true, tag => $names }
  $options.each |$k, $v| { notify { "${k}: ${v} ${port}": } }
}
"""
    hiera = """---
version: 5
defaults:
  datadir: data
  data_hash: yaml_data
hierarchy:
  - name: system
    paths:
      - "os/%{facts.os.name}.yaml"
      - "family/%{facts.os.family}.yaml"
  - name: common
    path: common.yaml
"""
    common = f"""---
lookup_options:
  profile::in_module::options:
    merge: {chance.choice(("deep", "hash", "first"))}
  profile::in_module::port:
    convert_to: Integer
profile::in_module::daemon: exampled
profile::in_module::port: "{chance.randrange(1024, 9999)}"
profile::in_module::options:
  one: 1
  two: [a, b]
  three: "%{{facts.kernel}}"
"""
    debian = """---
profile::in_module::daemon: "%{facts.os.family}-exampled"
profile::in_module::options:
  two: [b, c]
  four: "%{alias('profile::in_module::port')}"
"""
    files = {"hiera.yaml": hiera, "data/common.yaml": common, "data/family/Debian.yaml": debian}
    return Feature(code, files, {"profile::in_module::options": {"five": "%{lookup('profile::in_module::daemon')}"}})
