"""Puppet as facts use it: the default providers of services and packages, settings, features.

Puppet's agent collects facts with Puppet loaded, so these facts have values there, and `systemd` and others follow from them.
"""

from typing import Any, Final

from precast.lang.module_facts.commands import which
from precast.lang.module_facts.execution import refuse
from precast.lang.module_facts.tables import fact_class
from precast.lang.puppet_settings import DEFAULTS
from precast.lang.ruby.methods.dispatch import method, plain_text
from precast.lang.ruby.objects import Constant, Proc
from precast.lang.ruby.values import Instance, Symbol, to_ruby

Args = list[Any]


# Default providers


class PuppetType(Instance):
    """`Puppet::Type.type(:service)`: only its default provider can be asked for."""

    kind_name = "Puppet::Type of a fact"

    def __init__(self, name: str) -> None:
        self.name = name


class PuppetProvider(Instance):
    """A provider, of which only the name is known."""

    kind_name = "Puppet::Provider"

    def __init__(self, name: str) -> None:
        self.name = name


class PuppetResource(Instance):
    """A resource that a fact makes to see which provider it gets."""

    kind_name = "Puppet::Resource of a fact"

    def __init__(self, provider: str) -> None:
        self.provider = provider


@fact_class("Puppet::Type", "type")
def _type(execution: Any, this: Constant, args: Args, block: Proc | None) -> PuppetType:
    name = plain_text(execution, args[0]).lower()
    if name not in _DEFAULTS:
        refuse(f"Puppet::Type.type(:{name})")
    return PuppetType(name)


@method("Puppet::Type of a fact", "new", "newservice", "newpackage")
def _new(execution: Any, this: PuppetType, args: Args, block: Proc | None) -> PuppetResource:
    return PuppetResource(_DEFAULTS[this.name](execution))


@method("Puppet::Type of a fact", "defaultprovider")
def _default_provider(execution: Any, this: PuppetType, args: Args, block: Proc | None) -> PuppetProvider:
    return PuppetProvider(_DEFAULTS[this.name](execution))


@method("Puppet::Provider", "name")
def _provider_name(execution: Any, this: PuppetProvider, args: Args, block: Proc | None) -> Symbol:
    return Symbol(this.name)


@method("Puppet::Resource of a fact", "[]")
def _parameter(execution: Any, this: PuppetResource, args: Args, block: Proc | None) -> Symbol:
    name = plain_text(execution, args[0])
    if name != "provider":
        refuse(f"the parameter {name} of a resource")
    return Symbol(this.provider)


@method("Puppet::Resource of a fact", "provider")
def _provider(execution: Any, this: PuppetResource, args: Args, block: Proc | None) -> PuppetProvider:
    return PuppetProvider(this.provider)


def _service_provider(execution: Any) -> str:
    """Puppet's default provider of services."""
    family, name = _fact(execution, "osfamily"), _fact(execution, "operatingsystem")
    if _runs_systemd(execution):
        return "systemd"
    if name == "Gentoo" or name == "Alpine":
        return "openrc"
    by_family = {"Debian": "debian", "RedHat": "redhat", "Suse": "redhat", "Archlinux": "systemd", "FreeBSD": "freebsd"}
    if name == "Ubuntu" and which(execution, "initctl") and execution.node.status("/etc/init") is not None:
        return "upstart"
    return by_family.get(family, "init")


def _runs_systemd(execution: Any) -> bool:
    """Whether systemd is the first process, as Puppet's provider asks."""
    try:
        return "systemd" in execution.node.read("/proc/1/comm")
    except OSError:
        return False


def _package_provider(execution: Any) -> str:
    """Puppet's default provider of packages."""
    family, name = _fact(execution, "osfamily"), _fact(execution, "operatingsystem")
    if family == "RedHat":
        major = _fact(execution, "operatingsystemmajrelease")
        is_old = name != "Fedora" and major.isdigit() and int(major) < 8 and name != "Amazon"
        return "yum" if is_old or not which(execution, "dnf") else "dnf"
    by_name = {"Alpine": "apk", "Gentoo": "portage", "Archlinux": "pacman", "FreeBSD": "pkgng", "OpenBSD": "openbsd"}
    by_family = {"Debian": "apt", "Suse": "zypper", "Archlinux": "pacman"}
    found = by_name.get(name) or by_family.get(family)
    return found if found is not None else refuse(f"the default provider of packages of {name or 'this system'}")


def _fact(execution: Any, name: str) -> str:
    value = execution.facts.value(name)
    return value if isinstance(value, str) else ""


_DEFAULTS: Final = {"service": _service_provider, "package": _package_provider}


# Settings

# The directories of Puppet's own packages, and those of Debian's.
_OWN_LAYOUT: Final = {
    "confdir": "/etc/puppetlabs/puppet", "codedir": "/etc/puppetlabs/code", "vardir": "/opt/puppetlabs/puppet/cache",
    "logdir": "/var/log/puppetlabs/puppet", "rundir": "/var/run/puppetlabs",
}  # fmt: skip
_DEBIAN_LAYOUT: Final = {
    "confdir": "/etc/puppet", "codedir": "/etc/puppet/code", "vardir": "/var/cache/puppet", "logdir": "/var/log/puppet",
    "rundir": "/run/puppet",
}  # fmt: skip
_BELOW: Final = {
    "ssldir": ("confdir", "ssl"), "certdir": ("ssldir", "certs"), "privatekeydir": ("ssldir", "private_keys"),
    "config": ("confdir", "puppet.conf"),
    "environmentpath": ("codedir", "environments"), "hiera_config": ("confdir", "hiera.yaml"), "statedir": ("vardir", "state"),
    "libdir": ("vardir", "lib"), "pluginfactdest": ("vardir", "facts.d"), "clientbucketdir": ("vardir", "clientbucket"),
    "lastrunfile": ("publicdir", "last_run_summary.yaml"), "publicdir": ("vardir", "public"), "statefile": ("statedir", "state.yaml"),
    "agent_catalog_run_lockfile": ("statedir", "agent_catalog_run.lock"), "agent_disabled_lockfile": ("statedir", "agent_disabled.lock"),
    "lastrunreport": ("statedir", "last_run_report.yaml"), "client_datadir": ("vardir", "client_data"), "pidfile": ("rundir", "agent.pid"),
}  # fmt: skip


@fact_class("Puppet", "[]")
def _setting(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    return setting(execution, plain_text(execution, args[0]))


@fact_class("Puppet", "settings")
def _settings(execution: Any, this: Constant, args: Args, block: Proc | None) -> Constant:
    return this


@fact_class("Puppet", "value")
def _setting_value(execution: Any, this: Constant, args: Args, block: Proc | None) -> Any:
    return setting(execution, plain_text(execution, args[0]))


def setting(execution: Any, name: str) -> Any:
    """A setting of Puppet's with its default: there need not be a Puppet on the node."""
    if name in _BELOW:
        above, leaf = _BELOW[name]
        return f"{setting(execution, above)}/{leaf}"
    if name in _OWN_LAYOUT:
        has_own = execution.node.status("/etc/puppetlabs") is not None or execution.node.status("/etc/puppet") is None
        return (_OWN_LAYOUT if has_own else _DEBIAN_LAYOUT)[name]
    if name in ("certname", "node_name_value"):
        return execution.facts.value("clientcert") or execution.facts.value("networking.fqdn")
    if name in DEFAULTS:
        return to_ruby(DEFAULTS[name])
    return refuse(f"Puppet[:{name}]")


# Features


class PuppetFeatures(Instance):
    """`Puppet.features`."""

    kind_name = "Puppet::Util::Feature"


@fact_class("Puppet", "features")
def _features(execution: Any, this: Constant, args: Args, block: Proc | None) -> PuppetFeatures:
    return PuppetFeatures()


@method("Puppet::Util::Feature", "root?")
def _is_root(execution: Any, this: PuppetFeatures, args: Args, block: Proc | None) -> bool:
    return bool(execution.node.ids()[0] == 0)


@method("Puppet::Util::Feature", "posix?")
def _is_posix(execution: Any, this: PuppetFeatures, args: Args, block: Proc | None) -> bool:
    return True


@method("Puppet::Util::Feature", "microsoft_windows?")
@fact_class("Puppet::Util::Platform Facter::Util::Config", "windows?", "is_windows?")
def _is_windows(execution: Any, this: Any, args: Args, block: Proc | None) -> bool:
    return False
