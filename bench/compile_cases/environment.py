"""Generates environments of a given size in the usual style of Puppet code: roles, profiles, defines, lambdas, templates."""

from pathlib import Path
from typing import Final

# One instance of the define has itself, a directory, two files, a service, and one cron-like file per job.
JOBS: Final = 2
PER_INSTANCE: Final = 5 + JOBS
PER_PROFILE: Final = 9

SITE = """
node default {{
  include role::server
  $instances = Integer[1, {instances}].reduce({{}}) |$memo, $n| {{
    $memo + {{ "app${{n}}" => {{ 'port' => 8000 + $n, 'weight' => $n % 7 }} }}
  }}
  $instances.each |String $name, Hash $settings| {{
    app::instance {{ $name:
      port    => $settings['port'],
      options => $settings.filter |$key, $value| {{ $key != 'port' }} + {{ 'name' => $name, 'os' => $facts['os']['family'] }},
      jobs    => {jobs}.map |$job| {{ "${{name}}-${{job}}" }},
      require => Class['profile::p1'],
    }}
  }}
}}
"""

ROLE = """
class role::server {{
{includes}
  Class['profile::p1'] -> Class['profile::p{last}']
}}
"""

PROFILE = """
class profile::p{n} (
  String            $ensure  = 'present',
  Integer[1, 65535] $port    = {port},
  Array[String]     $members = ['alice', 'bob', 'carol'],
  Hash[String, Any] $limits  = {{ 'soft' => 1024, 'hard' => 4096 }},
) inherits profile::params {{
  $config = "${{profile::params::base}}/p{n}"
  $listen = $facts['networking']['ip'] ? {{
    undef   => "127.0.0.1:${{port}}",
    default => "${{facts['networking']['ip']}}:${{port}}",
  }}

  group {{ 'p{n}': ensure => $ensure }}
  package {{ "p{n}-server":
    ensure => $facts['os']['family'] ? {{ 'Debian' => 'latest', default => $ensure }},
  }}
  file {{ $config:
    ensure => directory,
    mode   => '0755',
  }}
  file {{ "${{config}}/main.conf":
    ensure  => file,
    mode    => '0644',
    content => epp('profile/main.conf.epp', {{ 'name' => 'p{n}', 'listen' => $listen, 'limits' => $limits, 'members' => $members }}),
    require => Package['p{n}-server'],
    notify  => Service['p{n}'],
  }}
  $members.each |$index, $member| {{
    user {{ "p{n}_${{member}}":
      ensure => $ensure,
      gid    => 'p{n}',
      uid    => {uid} + $index,
      home   => "/home/p{n}_${{member}}",
    }}
  }}
  if $port > 1024 and $ensure =~ /^pre/ {{
    service {{ 'p{n}':
      ensure => running,
      enable => true,
    }}
  }} else {{
    service {{ 'p{n}': ensure => stopped }}
  }}
}}
"""

PARAMS = """
class profile::params {
  case $facts['os']['family'] {
    'Debian', 'Ubuntu': { $base = '/etc/default/profiles' }
    /RedHat|Suse/:      { $base = '/etc/sysconfig/profiles' }
    default:            { $base = '/etc/profiles' }
  }
}
"""

MAIN_EPP = """<%- | String $name, String $listen, Hash $limits, Array[String] $members | -%>
# <%= $name %>, written by the profile
listen = <%= $listen %>
<% $limits.each |$kind, $limit| { -%>
limit.<%= $kind %> = <%= $limit %>
<% } -%>
<% if $members.size > 2 { -%>
members = <%= $members.join(', ') %>
<% } else { -%>
# few members
<% } -%>
"""

INSTANCE = """
define app::instance (
  Integer[1, 65535] $port,
  Hash[String, Any] $options = {},
  Array[String]     $jobs    = [],
  Enum['present', 'absent'] $ensure = 'present',
) {
  include app
  $directory = "${app::root}/${title}"
  $is_heavy = $options['weight'] > 3

  file { $directory:
    ensure => $ensure ? { 'present' => directory, default => absent },
    mode   => app::mode($is_heavy),
  }
  file { "${directory}/app.yaml":
    ensure  => file,
    content => epp('app/app.yaml.epp', { 'title' => $title, 'port' => $port, 'options' => $options }),
    notify  => Service["app-${title}"],
  }
  file { "${directory}/env":
    ensure  => file,
    content => @("ENV"),
      NAME=${title}
      PORT=${port}
      HEAVY=${is_heavy}
      | ENV
  }
  service { "app-${title}":
    ensure    => running,
    enable    => $is_heavy,
    subscribe => File["${directory}/env"],
  }
  $jobs.each |$job| {
    file { "/etc/cron.d/${job}":
      ensure  => file,
      content => "17 * * * * root ${directory}/run ${job.upcase}\\n",
    }
  }
}
"""

APP = """
class app(String $root = '/srv/app') {
  file { $root: ensure => directory }
}
"""

MODE = """
function app::mode(Boolean $is_heavy) >> String {
  if $is_heavy { '0700' } else { '0755' }
}
"""

APP_EPP = """<%- | String $title, Integer $port, Hash $options | -%>
---
name: <%= $title %>
port: <%= $port %>
options:
<% $options.keys.sort.each |$key| { -%>
  <%= $key %>: <%= $options[$key] %>
<% } -%>
"""


def generate(resources: int) -> dict[str, str]:
    """The files of an environment whose catalog has about this number of resources."""
    profiles = max(4, resources // 60)
    instances = max(1, (resources - profiles * PER_PROFILE - 10) // PER_INSTANCE)
    jobs = "['daily', 'hourly']"
    files = {
        "manifests/site.pp": SITE.format(instances=instances, jobs=jobs),
        "modules/role/manifests/server.pp": ROLE.format(
            includes="\n".join(f"  include profile::p{n}" for n in range(1, profiles + 1)), last=profiles
        ),
        "modules/profile/manifests/params.pp": PARAMS,
        "modules/profile/templates/main.conf.epp": MAIN_EPP,
        "modules/app/manifests/init.pp": APP,
        "modules/app/manifests/instance.pp": INSTANCE,
        "modules/app/functions/mode.pp": MODE,
        "modules/app/templates/app.yaml.epp": APP_EPP,
    }
    for n in range(1, profiles + 1):
        files[f"modules/profile/manifests/p{n}.pp"] = PROFILE.format(n=n, port=2000 + n, uid=10_000 + 10 * n)
    return files


def write(files: dict[str, str], directory: Path) -> None:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def long_manifest(lines: int) -> str:
    """One manifest of about this number of lines, made of whole classes."""
    text = ""
    n = 0
    while text.count("\n") < lines:
        n += 1
        text += PROFILE.format(n=n, port=2000 + n, uid=10_000 + n)
    return text
