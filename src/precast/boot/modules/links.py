"""What users want of the network beyond its configuration: WireGuard interfaces, and no way to the metadata service."""

from precast.boot.modules import packages
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Frequency, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Fields, Flag, Items, Text
from precast.resources.commands import has_program

_METADATA, _METADATA_6 = "169.254.169.254", "fd00:ec2::254"
_IPV6 = "/proc/net/if_inet6"  # not there where the kernel has no IPv6
_NAME = Text(pattern=r"[A-Za-z0-9_.=+-]{1,15}", called="a name of an interface")


def set_up_wireguard(context: Context) -> Outcome:
    """Files first; then each interface is brought up, now and at later boots. Raises UnavailableError BOOT-201, BOOT-203."""
    given = context.config["wireguard"]
    interfaces = given.get("interfaces", [])
    for each in interfaces:
        path = each.get("config_path", f"/etc/wireguard/{each['name']}.conf")
        context.make_directories(path.rpartition("/")[0], 0o700)
        context.write(path, f"{each['content'].rstrip()}\n".encode(), 0o600)
    if context.machine.root:
        context.warn("the interfaces are not brought up: only the machine itself has a network")
        return context.outcome
    if not has_program("wg-quick"):
        packages.need(context, "wireguard-tools")
    for each in interfaces:
        context.must_run(["systemctl", "enable", "--now", f"wg-quick@{each['name']}.service"], deadline_s=120)
    for probe in given.get("readinessprobe", []):
        context.must_run(probe, what="a readiness probe of wireguard", deadline_s=300)
    return context.outcome


def close_metadata(context: Context) -> Outcome:
    """From here on nothing on the machine reaches the service; the next boot does, until it comes here."""
    if not context.config["disable_ec2_metadata"]:
        context.outcome.not_run = "disable_ec2_metadata is false"
    elif context.machine.root:
        context.outcome.not_run = "only the machine itself has routes, not a root"
    else:
        context.must_run(["ip", "route", "replace", "prohibit", _METADATA], deadline_s=30)
        if context.is_there(_IPV6):
            context.must_run(["ip", "-6", "route", "replace", "prohibit", _METADATA_6], deadline_s=30)
    return context.outcome


_INTERFACE = Fields({"name": _NAME, "config_path": Text(), "content": Text(is_secret=True)}, ("name", "content"))
MODULES = (
    Module(
        "wireguard",
        set_up_wireguard,
        {"wireguard": Fields({"interfaces": Items(_INTERFACE), "readinessprobe": Items(Text())})},
        locks=packages.LOCKS,
        after=(*packages.AFTER, After("packages", "wireguard-tools may be one of the packages")),
    ),
    Module(
        "disable_ec2_metadata",
        close_metadata,
        {"disable_ec2_metadata": Flag()},
        stage=Stage.FINAL,  # sources are asked in each stage
        frequency=Frequency.BOOT,
        after=tuple(
            After(name, "it speaks with the platform")
            for name in ("post_password", "platform_certificates", "report_ready")
        ),
    ),
)
