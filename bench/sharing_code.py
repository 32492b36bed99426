"""The code and the fleet that `bench/sharing.py` measures: 24 profiles in modules, 20 roles, data in four layers."""

from typing import Any, NamedTuple

from lab.fact_documents import facts_of as documents_of

PROFILES = 24
SYSTEMS = ("Debian", "Ubuntu", "RedHat")
OWN_FILES = 25


class Role(NamedTuple):
    """The profiles of a role, and whether it writes the node's own name into files."""

    profiles: tuple[int, ...]
    is_personal: bool


ROLES = {
    f"role{number}": Role(tuple(sorted({(number * 5 + step * 7) % PROFILES for step in range(6)})), number % 3 == 0)
    for number in range(20)
}


def role_of(node: int) -> str:
    return f"role{node % len(ROLES)}"


def facts_of(node: int, tick: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A document of 20 KB as agents send it, with the system that the node has."""
    stable, volatile = documents_of(node, 0, tick)
    system = SYSTEMS[node // len(ROLES) % len(SYSTEMS)]
    stable["os"] = {"name": system, "family": "RedHat" if system == "RedHat" else "Debian", "release": "12"}
    return stable, volatile


def code() -> dict[str, str]:
    """All files of the environment."""
    files = {
        "manifests/site.pp": 'include "role::${role}"\n',
        "hiera.yaml": HIERA,
        "data/common.yaml": "".join(
            f"profile{n}::level: {n}\nprofile{n}::hosts: [a{n}, b{n}]\n" for n in range(PROFILES)
        ),
        **{f"data/os/{name}.yaml": f"profile1::level: {len(name)}\n" for name in SYSTEMS},
        # A few nodes have data of their own.
        **{f"data/nodes/node{n:05d}.example.org.yaml": "profile0::level: 99\n" for n in range(0, OWN_FILES * 40, 40)},
    }
    for name, role in ROLES.items():
        included = "".join(f"  include profile{n}\n" for n in role.profiles)
        own = PERSONAL if role.is_personal else ""
        files[f"modules/role/manifests/{name}.pp"] = f"class role::{name} {{\n{included}{own}}}\n"
    for n in range(PROFILES):
        files[f"modules/profile{n}/manifests/init.pp"] = PROFILE.replace("profileN", f"profile{n}")
        files[f"modules/profile{n}/templates/config.epp"] = TEMPLATE
    return files


HIERA = """---
version: 5
defaults:
  datadir: data
  data_hash: yaml_data
hierarchy:
  - name: node
    path: "nodes/%{trusted.certname}.yaml"
  - name: system
    path: "os/%{facts.os.name}.yaml"
  - name: common
    path: common.yaml
"""
PERSONAL = """
  file { '/etc/identity': content => "${trusted['certname']} ${facts['networking']['ip']}\\n" }
  file { '/etc/issue': content => "This is ${facts['networking']['fqdn']}.\\n" }
"""
PROFILE = """class profileN (Integer $level = 0, Array[String] $hosts = []) {
  $packages = $facts['os']['family'] ? { 'RedHat' => ['profileN-libs', 'profileN-el'], default => ['profileN'] }
  package { $packages: ensure => installed }
  file { '/etc/profileN.conf':
    content => epp('profileN/config.epp', { 'level' => $level, 'hosts' => $hosts }),
    notify  => Service['profileN'],
  }
  Integer[0, $level % 3].each |$index| { file { "/etc/profileN.d-${index}": content => "part ${index}\\n" } }
  service { 'profileN': ensure => running, enable => true }
}
"""
TEMPLATE = """<%- | Integer $level, Array $hosts | -%>
level = <%= $level %>
<% $hosts.each |$host| { -%>
host <%= $host %>
<% } -%>
"""
