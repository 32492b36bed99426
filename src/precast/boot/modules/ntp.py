"""ntp: which time servers to ask, for whichever of the usual clients there is."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from precast.boot.modules import services
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Fields, Flag, Items, Text, Unused
from precast.boot.userdata import templates
from precast.resources.commands import is_there


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
_HEAD = "# Written by Precast at boot, because the key ntp asks for it.\n"
_CHRONY = "driftfile /var/lib/chrony/chrony.drift\nmakestep 1.0 3\nrtcsync\n"
_NTP = "driftfile /var/lib/ntp/ntp.drift\nrestrict default kod nomodify notrap nopeer noquery limited\nrestrict 127.0.0.1\nrestrict ::1\n"


def run(context: Context) -> Outcome:
    wanted = context.config.get("ntp") or {}
    if wanted.get("enabled") is False:
        context.outcome.not_run = "ntp.enabled is false"
        return context.outcome
    name = _client(context, wanted)
    if name is None:
        context.warn("ntp: there is no client for time here; add one to packages and name it in ntp.ntp_client")
        return context.outcome
    client = CLIENTS[name]
    own = wanted.get("config", {})
    path = own.get("confpath") or next(
        (each for each in client.paths if context.is_there(each.rpartition("/")[0])), client.paths[0]
    )
    if context.write(path, _HEAD.encode() + _text(name, wanted).encode()):
        services.reload(context, *([own["service_name"]] if "service_name" in own else client.services))
    return context.outcome


def _client(context: Context, wanted: Mapping[str, Any]) -> str | None:
    """The client that is asked for, or the first that is there. None of them is installed here: packages does that."""
    asked = wanted.get("ntp_client", "auto")
    if asked in CLIENTS:
        return str(asked)
    return next((name for name, client in CLIENTS.items() if is_there(client.program, context.machine.root)), None)


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
        after=(
            After("bootcmd", "bootcmd comes before everything that configures"),
            After("packages", "the client may be one of the packages"),
        ),
    ),
)
