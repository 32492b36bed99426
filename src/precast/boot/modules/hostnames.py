"""The machine's name: /etc/hostname, the kernel's own, and /etc/hosts if that is to be managed.

A name in the configuration wins over the source's. It is written once for an instance: who renames the machine later keeps that name.
"""

import re
import socket
from typing import NamedTuple

from precast.boot.capabilities import Capability
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Config, Frequency, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Either, Flag, Text

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


class Name(NamedTuple):
    short: str
    full: str  # with its domain, or the short one if there is none


def name_of(context: Context) -> Name | None:
    """How the machine is to be called; None if nobody says. A name that cannot be one is told and passed over."""
    config = context.config
    given = config.get("fqdn") or config.get("hostname") or context.value(Capability.HOSTNAME)
    if not given:
        return None
    full = str(given).strip().rstrip(".")
    if not all(_LABEL.fullmatch(label) for label in full.split(".")) or len(full) > 253:
        context.warn(f"{given!r} cannot be the name of a machine")
        return None
    short = full.partition(".")[0]
    if config.get("fqdn") and config.get("hostname"):
        short = str(config["hostname"]).partition(".")[0]
    if "." not in full and not config.get("fqdn"):
        known = str(context.value(Capability.HOSTNAME) or "")
        full = known if known.partition(".")[0] == full and "." in known else full
    return Name(short, full)


def set_hostname(context: Context) -> Outcome:
    if context.config.get("preserve_hostname"):
        context.outcome.not_run = "preserve_hostname is true"
        return context.outcome
    name = name_of(context)
    if name is None:
        context.outcome.not_run = context.outcome.not_run or "nobody says how the machine is called"
        return context.outcome
    wanted = name.full if context.config.get("prefer_fqdn_over_hostname") else name.short
    if context.config.get("create_hostname_file", True) or context.is_there("/etc/hostname"):
        context.write("/etc/hostname", f"{wanted}\n".encode())
    if not context.machine.root and socket.gethostname() != wanted:
        context.changed(f"hostname is {wanted} now")
        if not context.is_dry_run:
            socket.sethostname(wanted)
    return context.outcome


def write_hosts(context: Context) -> Outcome:
    wish = context.config["manage_etc_hosts"]
    name = name_of(context)
    if wish is False or name is None:
        context.outcome.not_run = "manage_etc_hosts is false" if wish is False else "the machine has no name"
        return context.outcome
    names = f"{name.full} {name.short}" if name.full != name.short else name.short
    if wish == "localhost":
        lines = context.read_text("/etc/hosts").splitlines()
        kept = [line for line in lines if line.split()[:1] != ["127.0.1.1"]]
        at = next((at for at, line in enumerate(lines) if line.split()[:1] == ["127.0.1.1"]), 0)
        text = "\n".join([*kept[:at], f"127.0.1.1 {names}", *kept[at:]]) + "\n"
    else:
        text = _HOSTS.format(names=names)
    context.write("/etc/hosts", text.encode(errors="surrogateescape"))
    return context.outcome


def _always(_: Config) -> bool:
    return True


_FIRST = (After("bootcmd", "bootcmd comes before everything that configures"),)
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
        stage=Stage.LOCAL,  # DHCP tells the server the name
        is_wanted=_always,
    ),
    Module(
        "etc_hosts",
        write_hosts,
        {"manage_etc_hosts": Either(Flag(), Text(("localhost", "template")))},
        uses=frozenset({Capability.HOSTNAME}),
        stage=Stage.NETWORK,
        frequency=Frequency.BOOT,
        after=(*_FIRST, After("hostname", "the file has the name that was set")),
    ),
)
