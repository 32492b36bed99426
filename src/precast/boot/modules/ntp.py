"""ntp: configures the time servers for the time client that is installed."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from precast.base.errors import PrecastError
from precast.boot.modules import image_templates, packages, services
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Predecessor
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Fields, Flag, Items, Text, Unsupported
from precast.boot.userdata import templates
from precast.resources.commands import has_program


class TimeClient(NamedTuple):
    """A program that synchronises the clock, and where it reads its configuration."""

    program: str
    paths: Sequence[str]  # the first path whose directory exists is used
    services: Sequence[str]
    package: str
    template: str  # the image's own template for the configuration


CLIENTS: Mapping[str, TimeClient] = {
    "chrony": TimeClient(
        "chronyd",
        ("/etc/chrony/chrony.conf", "/etc/chrony.conf"),
        ("chrony", "chronyd"),
        "chrony",
        "chrony.conf.{distro}",
    ),
    "ntp": TimeClient("ntpd", ("/etc/ntp.conf",), ("ntp", "ntpd"), "ntp", "ntp.conf.{distro}"),
    "ntpsec": TimeClient("ntpd", ("/etc/ntpsec/ntp.conf",), ("ntpsec",), "ntpsec", ""),
    "openntpd": TimeClient(
        "ntpd", ("/etc/openntpd/ntpd.conf", "/etc/ntpd.conf"), ("openntpd",), "openntpd", "ntpd.conf.{distro}"
    ),
    "systemd-timesyncd": TimeClient(
        "/lib/systemd/systemd-timesyncd",
        ("/etc/systemd/timesyncd.conf.d/cloud-init.conf",),
        ("systemd-timesyncd",),
        "systemd-timesyncd",
        "timesyncd.conf",
    ),
}
_POOLS = (
    "alpine",
    "centos",
    "debian",
    "fedora",
    "opensuse",
    "rhel",
    "rocky",
    "ubuntu",
)  # distributions with their own pools
_HEAD = "# Written by Precast at boot, because the key ntp asks for it.\n"
_CHRONY = "driftfile /var/lib/chrony/chrony.drift\nmakestep 1.0 3\nrtcsync\n"
_NTP = "driftfile /var/lib/ntp/ntp.drift\nrestrict default kod nomodify notrap nopeer noquery limited\nrestrict 127.0.0.1\nrestrict ::1\n"


def run(context: ModuleContext) -> ModuleOutcome:
    settings = context.config.get("ntp") or {}
    if settings.get("enabled") is False:
        context.outcome.not_run = "ntp.enabled is false"
        return context.outcome
    name = _choose_client(context, settings)
    client = CLIENTS[name]
    failure = _install_client(context, client)
    custom = settings.get("config", {})
    path = custom.get("confpath") or _choose_path(context, client)
    if not any(settings.get(key) for key in ("servers", "pools", "peers")):
        settings = {**settings, "pools": _list_default_pools(context)}
    if context.write(path, _render(context, name, settings).encode()):
        services.reload(context, *([custom["service_name"]] if "service_name" in custom else client.services))
    if failure is not None:
        raise failure
    return context.outcome


def _install_client(context: ModuleContext, client: TimeClient) -> PrecastError | None:
    """Install the client if it is missing. Returns the failure: the configuration is written all the same, for a later installation."""
    if context.has_programs and not has_program(client.program, context.machine.root):
        try:
            packages.ensure_installed(context, client.package)
        except PrecastError as error:
            return error
    return None


def _choose_client(context: ModuleContext, settings: Mapping[str, Any]) -> str:
    """Return the requested client, else the first installed one, else the first of CLIENTS."""
    requested = settings.get("ntp_client", "auto")
    if requested in CLIENTS:
        return str(requested)
    installed = [name for name, client in CLIENTS.items() if has_program(client.program, context.machine.root)]
    return [*installed, *CLIENTS][0]


def _choose_path(context: ModuleContext, client: TimeClient) -> str:
    """Return the path that exists on this system; if none exists yet, the usual path of its distribution family."""
    for path in client.paths:
        directory = path.rpartition("/")[0]
        if context.exists(path) or (directory != "/etc" and context.exists(directory)):
            return path
    is_debian = bool({"debian", "ubuntu"} & set(image_templates.list_distributions(context)))
    return client.paths[0] if is_debian else client.paths[-1]


def _list_default_pools(context: ModuleContext) -> list[str]:
    """Return the distribution's pools: a client without servers would never set the clock."""
    vendor = next((name for name in image_templates.list_distributions(context) if name in _POOLS), "")
    return [f"{number}.{vendor}.pool.ntp.org" if vendor else f"{number}.pool.ntp.org" for number in range(4)]


def _render(context: ModuleContext, name: str, settings: Mapping[str, Any]) -> str:
    """Return the configuration of a client: by the user's template, by the image's, or by our own text."""
    variables = {key: settings.get(key, []) for key in ("servers", "pools", "peers", "allow")}
    if template := settings.get("config", {}).get("template"):
        body = template.partition("\n")[2] if template.lstrip().startswith("## template:") else template
        return templates.render(body, variables, 1).text
    if CLIENTS[name].template:
        distributions = image_templates.list_distributions(context)
        names = [CLIENTS[name].template.format(distro=distribution) for distribution in distributions]
        rendered = image_templates.render(context, names, variables)
        if rendered is not None:
            return rendered
    return _HEAD + _render_default(name, settings)


def _render_default(name: str, settings: Mapping[str, Any]) -> str:
    servers, pools = settings.get("servers", []), settings.get("pools", [])
    peers, allow = settings.get("peers", []), settings.get("allow", [])
    if name == "systemd-timesyncd":
        return f"[Time]\nNTP={' '.join([*servers, *pools])}\n"
    if name == "openntpd":
        return "".join([*(f"server {server}\n" for server in servers), *(f"servers {pool}\n" for pool in pools)])
    lines = [
        *(f"pool {pool} iburst" for pool in pools),
        *(f"server {server} iburst" for server in servers),
        *(f"peer {peer}" for peer in peers),
        *(f"allow {subnet}" for subnet in allow if name == "chrony"),
    ]
    return "\n".join(lines) + "\n" + (_CHRONY if name == "chrony" else _NTP)


_PACKAGES = "add the client to packages"
_CONFIG = Fields(
    {
        "confpath": Text(),
        "check_exe": Unsupported(_PACKAGES),
        "packages": Unsupported(_PACKAGES),
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
                },
                null={},  # the default client with the default servers, as in cloud-init
            )
        },
        after=(*packages.AFTER, Predecessor("packages", "the client may be one of the packages")),
        locks=packages.LOCKS,
    ),
)
