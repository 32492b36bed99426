"""Sets the machine's name in /etc/hostname and in the kernel, and writes /etc/hosts if manage_etc_hosts is set.

A name in the configuration wins over the data source's name. It is written once per instance, so a later rename of the machine stays.
"""

import re
import socket
from typing import NamedTuple

from precast.boot.capabilities import Capability
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Config, Frequency, Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Flag, Text

_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?")
_HOSTS = """\
# Written by Precast at each boot, because manage_etc_hosts asks for it.
127.0.1.1 {names}
127.0.0.1 localhost

# The following lines are desirable for IPv6 capable hosts
::1 ip6-localhost ip6-loopback
fe00::0 ip6-localnet
ff00::0 ip6-mcastprefix
ff02::1 ip6-allnodes
ff02::2 ip6-allrouters
ff02::3 ip6-allhosts
"""


class Hostname(NamedTuple):
    """The machine's name, without and with its domain."""

    short: str
    full: str  # the short name if no domain is known


def find_hostname(context: ModuleContext) -> Hostname | None:
    """Return the configured name of the machine; None if there is none. An invalid name is ignored with a warning."""
    config = context.config
    name = config.get("fqdn") or config.get("hostname") or context.get_value(Capability.HOSTNAME)
    if not name:
        return None
    full = str(name).strip().rstrip(".")
    if not all(_LABEL.fullmatch(label) for label in full.split(".")) or len(full) > 253:
        context.warn(f"{name!r} is not a valid host name")
        return None
    short = full.partition(".")[0]
    if config.get("fqdn") and config.get("hostname"):
        short = str(config["hostname"]).partition(".")[0]
    if "." not in full and not config.get("fqdn"):
        known = str(context.get_value(Capability.HOSTNAME) or "")
        full = known if known.partition(".")[0] == full and "." in known else full
    return Hostname(short, full)


def set_hostname(context: ModuleContext) -> ModuleOutcome:
    if context.config.get("preserve_hostname"):
        context.outcome.not_run = "preserve_hostname is true"
        return context.outcome
    name = find_hostname(context)
    if name is None:
        context.outcome.not_run = (
            context.outcome.not_run or "neither the configuration nor the data source has a host name"
        )
        return context.outcome
    hostname = name.full if context.config.get("prefer_fqdn_over_hostname") else name.short
    if context.config.get("create_hostname_file", True) or context.exists("/etc/hostname"):
        context.write("/etc/hostname", f"{hostname}\n".encode())
    if not context.machine.root and socket.gethostname() != hostname:
        context.record_change(f"hostname is {hostname} now")
        if not context.is_dry_run:
            socket.sethostname(hostname)
    return context.outcome


def write_hosts(context: ModuleContext) -> ModuleOutcome:
    setting = context.config["manage_etc_hosts"]
    name = find_hostname(context)
    if setting is False or name is None:
        context.outcome.not_run = "manage_etc_hosts is false" if setting is False else "the machine has no name"
        return context.outcome
    names = f"{name.full} {name.short}" if name.full != name.short else name.short
    if setting == "localhost":
        lines = context.read_text("/etc/hosts").splitlines()
        kept = [line for line in lines if line.split()[:1] != ["127.0.1.1"]]
        index = next((index for index, line in enumerate(lines) if line.split()[:1] == ["127.0.1.1"]), 0)
        text = "\n".join([*kept[:index], f"127.0.1.1 {names}", *kept[index:]]) + "\n"
    else:
        text = _HOSTS.format(names=names)
    context.write("/etc/hosts", text.encode(errors="surrogateescape"))
    return context.outcome


def _always(_: Config) -> bool:
    return True


_FIRST = (Predecessor("bootcmd", "bootcmd runs before every module that configures something"),)
MODULES = (
    Module(
        "hostname",
        set_hostname,
        {
            "hostname": Text(),
            "fqdn": Text(),
            "prefer_fqdn_over_hostname": Flag(),
            "preserve_hostname": Flag(),
            "create_hostname_file": Flag(),
        },
        uses=frozenset({Capability.HOSTNAME}),
        stage=Stage.LOCAL,  # the DHCP client sends the name to the server
        has_work=_always,
    ),
    Module(
        "etc_hosts",
        write_hosts,
        {"manage_etc_hosts": Either(Flag(), Text(("localhost", "template")))},
        uses=frozenset({Capability.HOSTNAME}),
        stage=Stage.NETWORK,
        frequency=Frequency.BOOT,
        after=(*_FIRST, Predecessor("hostname", "the file contains the name that was set")),
    ),
)
