"""Sets the machine's name in /etc/hostname and in the kernel, and writes /etc/hosts if manage_etc_hosts is set, from the image's template.

A name in the configuration wins over the data source's name. It is written once per instance, so a later rename of the machine stays.
"""

import re
import socket
from typing import NamedTuple

from precast.boot.capabilities import Capability
from precast.boot.modules import image_templates
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Config, Frequency, Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Flag, Text

_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?")
_OWN_ADDRESS = "127.0.1.1"
_HOSTS = """\
# Written by Precast at each boot, because manage_etc_hosts asks for it.
127.0.1.1 {names}
127.0.0.1 localhost

# The following lines are desirable for IPv6 capable hosts
::1 localhost ip6-localhost ip6-loopback
ff02::1 ip6-allnodes
ff02::2 ip6-allrouters
"""


class Hostname(NamedTuple):
    """The machine's name, without and with its domain."""

    short: str
    full: str  # the short name if no domain is known


def find_hostname(context: ModuleContext) -> Hostname | None:
    """Return the configured name of the machine; None if there is none. An invalid name is ignored with a warning."""
    fqdn = _read_name(context, context.config.get("fqdn"))
    hostname = _read_name(context, context.config.get("hostname"))
    platform_name = _read_name(context, context.get_value(Capability.HOSTNAME))
    full = fqdn or hostname or platform_name
    if not full:
        return None
    short = (hostname or full).partition(".")[0]
    if "." not in full and not fqdn:
        # The data source's name counts as the full name, even if the configuration sets another short one.
        full = platform_name or full
    return Hostname(short, full)


def _read_name(context: ModuleContext, name: object) -> str:
    """Return a name without the dot at its end; empty if there is none, or if it is invalid, with a warning."""
    text = str(name or "").strip().rstrip(".")
    if text and (not all(_LABEL.fullmatch(label) for label in text.split(".")) or len(text) > 253):
        context.warn(f"{name!r} is not a valid host name")
        return ""
    return text


def set_hostname(context: ModuleContext) -> ModuleOutcome:
    if context.config.get("preserve_hostname"):
        context.outcome.remark = "preserve_hostname is true"
        return context.outcome
    name = find_hostname(context)
    if name is None:
        context.outcome.remark = "neither the configuration nor the data source has a valid host name"
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
    if setting == "localhost":
        text = _add_own_address(context.read_text("/etc/hosts"), name)
    else:
        variables = {"hostname": name.short, "fqdn": name.full}
        rendered = image_templates.render(context, [f"hosts.{image_templates.find_family(context)}"], variables)
        text = _HOSTS.format(names=_join_names(name)) if rendered is None else rendered
    context.write("/etc/hosts", text.encode(errors="surrogateescape"))
    return context.outcome


def _join_names(name: Hostname) -> str:
    return f"{name.full} {name.short}" if name.full != name.short else name.short


def _add_own_address(text: str, name: Hostname) -> str:
    """Return /etc/hosts with a line for the machine's name, after the lines that the address has already."""
    lines = text.splitlines()
    entries = [index for index, line in enumerate(lines) if line.split()[:1] == [_OWN_ADDRESS]]
    if any({name.full, name.short} <= set(lines[index].partition("#")[0].split()) for index in entries):
        return text
    lines.insert(entries[-1] + 1 if entries else len(lines), f"{_OWN_ADDRESS} {_join_names(name)}")
    return "\n".join(lines) + "\n"


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
