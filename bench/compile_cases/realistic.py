"""A realistic node: a web and database server with real modules, about 460 resources, and its values in Hiera.

The modules are Debian's `puppet-module-*` packages. The manifests are ours: a role, profiles, a define, a few functions.
"""

import json
import random
from pathlib import Path
from typing import Final

from lab.differential.fact_sets import FactSet, fact_sets
from lab.differential.module_declarations import MODULES

NODE: Final = "shop1.example.test"
# The modules that must be installed for this node.
NEEDED: Final = ("apache", "apt", "concat", "cron_core", "inifile", "mysql", "ntp", "ssh", "stdlib")

SITE = """
node default {
  include role::shop
}
"""

ROLE = """
class role::shop {
  include profile::base
  include profile::web
  include profile::database
  include profile::app
  Class['profile::base'] -> Class['profile::web']
  Class['profile::database'] -> Class['profile::app']
}
"""

BASE = """
class profile::base (
  Hash[String, Hash] $users,
  Array[String] $packages,
) {
  include ntp
  include ssh
  include apt
  $release = $facts['os']['distro']['codename']
  apt::source { 'backports':
    location => 'http://mirror.example.test/debian',
    release  => "${release}-backports",
    repos    => 'main contrib',
  }
  apt::pin { 'backports': release => "${release}-backports", priority => 200 }
  package { $packages: ensure => installed }
  $users.each |String $name, Hash $values| {
    user { $name:
      ensure     => present,
      managehome => true,
      shell      => '/bin/bash',
      *          => $values,
    }
    file { "/home/${name}/.profile":
      content => epp('profile/profile.epp', { 'name' => $name, 'uid' => $values['uid'] }),
      owner   => $name,
    }
  }
  concat { '/etc/motd': ensure => present }
  ['head', 'system', 'tail'].each |Integer $at, String $part| {
    concat::fragment { "motd ${part}":
      target  => '/etc/motd',
      order   => "${at}0",
      content => "${part} of ${facts['networking']['fqdn']}\\n",
    }
  }
}
"""

WEB = """
class profile::web (
  Hash[String, Hash] $sites,
) {
  class { 'apache': default_vhost => false, mpm_module => 'event' }
  include apache::mod::rewrite
  include apache::mod::ssl
  include apache::mod::headers
  include apache::mod::proxy
  include apache::mod::proxy_http
  $sites.each |String $name, Hash $site| {
    apache::vhost { $name:
      port          => $site['port'],
      docroot       => "/srv/www/${name}",
      serveraliases => ["www.${name}", "static.${name}"],
      directories   => [
        { 'path' => "/srv/www/${name}", 'options' => ['FollowSymLinks'], 'allow_override' => ['None'] },
        { 'path' => "/srv/www/${name}/internal", 'require' => 'ip 10.0.0.0/8' },
      ],
      rewrites      => [{ 'comment' => 'moved', 'rewrite_rule' => ['^/old/(.*)$ /$1 [R=301,L]'] }],
      proxy_pass    => [{ 'path' => '/api', 'url' => "http://127.0.0.1:${site['backend']}/" }],
    }
  }
}
"""

DATABASE = """
class profile::database (
  Hash[String, Hash] $databases,
) {
  include mysql::server
  include mysql::client
  $databases.each |String $name, Hash $values| {
    mysql::db { $name: host => 'localhost', grant => ['SELECT', 'INSERT', 'UPDATE', 'DELETE'], * => $values }
  }
}
"""

APP = """
class profile::app (
  Hash[String, Hash] $settings,
  Integer[1] $workers = 4,
) {
  $settings.each |String $section, Hash $values| {
    $values.each |String $key, $value| {
      ini_setting { "shop ${section} ${key}":
        path    => '/etc/shop/shop.ini',
        section => $section,
        setting => $key,
        value   => profile::shown($value),
        require => File['/etc/shop'],
      }
    }
  }
  file { '/etc/shop': ensure => directory }
  Integer[1, $workers].each |Integer $n| {
    profile::worker { "worker${n}": port => 9000 + $n }
  }
  cron { 'shop cleanup': command => '/usr/local/bin/shop-cleanup', hour => 3, minute => fqdn_rand(60, 'shop') }
  cron { 'shop report': command => '/usr/local/bin/shop-report', hour => [6, 18], minute => 0 }
}
"""

WORKER = """
define profile::worker (
  Integer[1024, 65535] $port,
  Array[String] $queues = ['mail', 'orders'],
) {
  file { "/etc/shop/${title}.conf":
    content => template('profile/worker.conf.erb'),
    notify  => Service["shop-${title}"],
  }
  file { ["/var/log/shop-${title}", "/var/lib/shop-${title}"]: ensure => directory, owner => 'shop' }
  $queues.each |String $queue| {
    cron { "${title} ${queue}": command => "/usr/local/bin/shop-queue ${queue} ${port}", minute => '*/5', user => 'shop' }
  }
  service { "shop-${title}": ensure => running, enable => true }
}
"""

SHOWN = """
function profile::shown(Variant[Boolean, Numeric, String, Array] $value) >> String {
  $value ? {
    Boolean => bool2str($value, 'yes', 'no'),
    Array   => join($value, ','),
    default => String($value),
  }
}
"""

WORKER_TEMPLATE = """# <%= @title %> on <%= @fqdn %>
port = <%= @port %>
<% @queues.sort.each_with_index do |queue, at| -%>
queue.<%= at %> = <%= queue.upcase %>
<% end -%>
<% if scope['profile::app::workers'] > 1 -%>
shared = true
<% end -%>
"""

PROFILE_TEMPLATE = """<%- | String $name, Integer $uid | -%>
# <%= $name %> (<%= $uid %>)
umask 027
<% ['EDITOR=vim', 'LESS=-R'].each |$each| { -%>
export <%= $each %>
<% } -%>
"""

HIERA = """---
version: 5
defaults: {datadir: data, data_hash: yaml_data}
hierarchy:
  - {name: node, path: "nodes/%{trusted.certname}.yaml"}
  - {name: system, path: "os/%{facts.os.family}.yaml"}
  - {name: common, path: common.yaml}
"""

DEBIAN = """---
profile::base::packages: [apt-file, debian-goodies]
mysql::server::package_name: mariadb-server
mysql::server::service_name: mariadb
"""

OF_NODE = """---
profile::app::workers: 2
profile::base::users:
  operator: {uid: 4100, groups: [adm]}
"""


def common() -> str:
    """The common layer, which is long: users, sites, databases, settings."""
    lines = [
        "---",
        "lookup_options:",
        "  profile::base::users: {merge: deep}",
        "  profile::base::packages: {merge: unique}",
        "profile::base::packages: [curl, git, vim]",
        "profile::base::users:",
        *(f"  user{n}: {{uid: {4000 + n}, comment: 'User {n} of %{{facts.networking.domain}}'}}" for n in range(2)),
        "ntp::servers: [0.pool.example.test, 1.pool.example.test, 2.pool.example.test]",
        "ntp::restrict: ['default kod nomodify notrap nopeer noquery', '127.0.0.1']",
        "ssh::storeconfigs_enabled: false",
        "ssh::server_options: {PermitRootLogin: 'no', PasswordAuthentication: 'no', X11Forwarding: 'no', Port: [22, 2222]}",
        "ssh::client_options: {'Host *': {SendEnv: 'LANG LC_*', HashKnownHosts: 'yes'}}",
        "profile::web::sites:",
        *(
            f"  {name}.example.test: {{port: 80, backend: {8000 + at}}}"
            for at, name in enumerate(("shop", "blog", "wiki", "docs", "status"))
        ),
        "mysql::server::root_password: not-a-secret",
        "mysql::server::override_options: {mysqld: {max_connections: 512, innodb_buffer_pool_size: 256M}}",
        "profile::database::databases:",
        *(f"  {name}: {{user: {name}, password: 'pw-{name}'}}" for name in ("shop", "blog")),
        "profile::app::settings:",
        "  main: {debug: false, workers: '%{lookup(\"profile::app::workers\")}', name: shop, languages: [en, de, fr]}",
        *(f"  part{n}: {{enabled: {str(n % 2 == 0).lower()}, weight: {n}, limit: {n * 100}}}" for n in range(2)),
    ]
    return "\n".join(lines) + "\n"


def files() -> dict[str, str]:
    """The environment, by path."""
    profile = "modules/profile"
    return {
        "environment.conf": f"modulepath = modules:{MODULES}\n",
        "hiera.yaml": HIERA,
        "data/common.yaml": common(),
        "data/os/Debian.yaml": DEBIAN,
        f"data/nodes/{NODE}.yaml": OF_NODE,
        "manifests/site.pp": SITE,
        "modules/role/manifests/shop.pp": ROLE,
        f"{profile}/manifests/base.pp": BASE,
        f"{profile}/manifests/web.pp": WEB,
        f"{profile}/manifests/database.pp": DATABASE,
        f"{profile}/manifests/app.pp": APP,
        f"{profile}/manifests/worker.pp": WORKER,
        f"{profile}/functions/shown.pp": SHOWN,
        f"{profile}/templates/worker.conf.erb": WORKER_TEMPLATE,
        f"{profile}/templates/profile.epp": PROFILE_TEMPLATE,
    }


def node() -> FactSet:
    """The machine: Debian, with generated facts."""
    machine = fact_sets(random.Random("realistic"))[0]
    host, domain = NODE.split(".", 1)
    text = json.dumps(machine.facts).replace(machine.facts["hostname"], host).replace(machine.facts["domain"], domain)
    return FactSet(NODE, json.loads(text))


def is_possible() -> bool:
    """Whether the modules are installed."""
    return all((Path(MODULES) / name).is_dir() for name in NEEDED)
