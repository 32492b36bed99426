"""wireguard: writes the configuration of WireGuard interfaces and brings the interfaces up."""

from precast.boot.modules import packages
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Predecessor
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Fields, Items, Text
from precast.resources.commands import has_program

_NAME = Text(pattern=r"[A-Za-z0-9_.=+-]{1,15}", description="a name of an interface")


def set_up_wireguard(context: ModuleContext) -> ModuleOutcome:
    """Write all files, then bring each interface up, now and at later boots. Raises UnavailableError BOOT-201, BOOT-203."""
    settings = context.config["wireguard"]
    interfaces = settings.get("interfaces", [])
    for interface in interfaces:
        path = interface.get("config_path", f"/etc/wireguard/{interface['name']}.conf")
        context.make_directories(path.rpartition("/")[0], 0o700)
        context.write(path, f"{interface['content'].rstrip()}\n".encode(), 0o600)
    if context.machine.root:
        context.warn("the interfaces are not brought up: only the machine itself has a network")
        return context.outcome
    if not has_program("wg-quick"):
        packages.ensure_installed(context, "wireguard-tools")
    for interface in interfaces:
        context.must_run(["systemctl", "enable", "--now", f"wg-quick@{interface['name']}.service"], deadline_s=120)
    for probe in settings.get("readinessprobe", []):
        context.must_run(probe, what="a readiness probe of wireguard", deadline_s=300)
    return context.outcome


_INTERFACE = Fields({"name": _NAME, "config_path": Text(), "content": Text(is_secret=True)}, ("name", "content"))
MODULES = (
    Module(
        "wireguard",
        set_up_wireguard,
        {"wireguard": Fields({"interfaces": Items(_INTERFACE), "readinessprobe": Items(Text())})},
        locks=packages.LOCKS,
        after=(*packages.AFTER, Predecessor("packages", "wireguard-tools may be one of the packages")),
    ),
)
