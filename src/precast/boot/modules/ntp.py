"""ntp: which time servers to ask, for whichever of the usual clients there is."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from precast.boot.modules import packages, services
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.people import os_release
from precast.boot.modules.shapes import Fields, Flag, Items, Text, Unused
from precast.boot.userdata import templates
from precast.resources.commands import has_program


class Client(NamedTuple):
    program: str
    paths: Sequence[str]  # the first whose directory is there
    services: Sequence[str]
    package: str


CLIENTS: Mapping[str, Client] = {
    "chrony": Client("chronyd", ("/etc/chrony/chrony.conf", "/etc/chrony.conf"), ("chrony", "chronyd"), "chrony"),
    "ntp": Client("ntpd", ("/etc/ntp.conf",), ("ntp", "ntpd"), "ntp"),
    "ntpsec": Client("ntpd", ("/etc/ntpsec/ntp.conf",), ("ntpsec",), "ntpsec"),
    "openntpd": Client("ntpd", ("/etc/openntpd/ntpd.conf", "/etc/ntpd.conf"), ("openntpd",), "openntpd"),
    "systemd-timesyncd": Client(
        "/lib/systemd/systemd-timesyncd",
        ("/etc/systemd/timesyncd.conf.d/precast-boot.conf",),
        ("systemd-timesyncd",),
        "systemd-timesyncd",
    ),
}
_POOLS = ("alpine", "centos", "debian", "fedora", "opensuse", "rhel", "rocky", "ubuntu")  # who has pools of their own
_HEAD = "# Written by Precast at boot, because the key ntp asks for it.\n"
_CHRONY = "driftfile /var/lib/chrony/chrony.drift\nmakestep 1.0 3\nrtcsync\n"
_NTP = "driftfile /var/lib/ntp/ntp.drift\nrestrict default kod nomodify notrap nopeer noquery limited\nrestrict 127.0.0.1\nrestrict ::1\n"


def run(context: Context) -> Outcome:
    wanted = context.config.get("ntp") or {}
    if wanted.get("enabled") is False:
        context.outcome.not_run = "ntp.enabled is false"
        return context.outcome
    name = _client(context, wanted)
    client = CLIENTS[name]
    if context.has_programs and not has_program(client.program, context.machine.root):
        packages.need(context, client.package)
    own = wanted.get("config", {})
    path = own.get("confpath") or _path(context, client)
    if not any(wanted.get(key) for key in ("servers", "pools", "peers")):
        wanted = {**wanted, "pools": _usual_pools(context)}
    if context.write(path, _HEAD.encode() + _text(name, wanted).encode()):
        services.reload(context, *([own["service_name"]] if "service_name" in own else client.services))
    return context.outcome


def _client(context: Context, wanted: Mapping[str, Any]) -> str:
    """The client that is asked for, or the first that is there, or the first."""
    asked = wanted.get("ntp_client", "auto")
    if asked in CLIENTS:
        return str(asked)
    here = [name for name, client in CLIENTS.items() if has_program(client.program, context.machine.root)]
    return [*here, *CLIENTS][0]


def _path(context: Context, client: Client) -> str:
    """Where this system has the file; if nothing shows it yet, where distributions of its kind have it."""
    for path in client.paths:
        directory = path.rpartition("/")[0]
        if context.is_there(path) or (directory != "/etc" and context.is_there(directory)):
            return path
    is_debian = "debian" in _kinds(context) or "ubuntu" in _kinds(context)
    return client.paths[0] if is_debian else client.paths[-1]


def _kinds(context: Context) -> list[str]:
    release = os_release(context.root)
    return [release.get("ID", ""), *release.get("ID_LIKE", "").split()]


def _usual_pools(context: Context) -> list[str]:
    """Those of the distribution: a client without servers would be worse than none."""
    known = next((kind for kind in _kinds(context) if kind in _POOLS), "")
    return [f"{number}.{known}.pool.ntp.org" if known else f"{number}.pool.ntp.org" for number in range(4)]


def _text(name: str, wanted: Mapping[str, Any]) -> str:
    servers, pools = wanted.get("servers", []), wanted.get("pools", [])
    peers, allow = wanted.get("peers", []), wanted.get("allow", [])
    template = wanted.get("config", {}).get("template")
    if template:
        variables = {"servers": servers, "pools": pools, "peers": peers, "allow": allow}
        body = template.partition("\n")[2] if template.lstrip().startswith("## template:") else template
        return templates.render(body, variables, 1).text
    if name == "systemd-timesyncd":
        return f"[Time]\nNTP={' '.join([*servers, *pools])}\n"
    if name == "openntpd":
        return "".join([*(f"server {each}\n" for each in servers), *(f"servers {each}\n" for each in pools)])
    lines = [
        *(f"pool {each} iburst" for each in pools),
        *(f"server {each} iburst" for each in servers),
        *(f"peer {each}" for each in peers),
        *(f"allow {each}" for each in allow if name == "chrony"),
    ]
    return "\n".join(lines) + "\n" + (_CHRONY if name == "chrony" else _NTP)


_PACKAGES = "add the client to packages"
_CONFIG = Fields(
    {
        "confpath": Text(),
        "check_exe": Unused(_PACKAGES),
        "packages": Unused(_PACKAGES),
        "service_name": Text(),
        "template": Text(),
    }
)
MODULES = (
    Module(
        "ntp",
        run,
        {
            "ntp": Fields(
                {
                    "pools": Items(Text()),
                    "servers": Items(Text()),
                    "peers": Items(Text()),
                    "allow": Items(Text()),
                    "ntp_client": Text((*CLIENTS, "ntpdate", "auto")),
                    "enabled": Flag(),
                    "config": _CONFIG,
                }
            )
        },
        after=(*packages.AFTER, After("packages", "the client may be one of the packages")),
        locks=packages.LOCKS,
    ),
)
