"""The machine's network: what the kernel's command line, the image or the data source says of it, for the tool that the image has.

It is written once for an instance, before the network comes up. Nobody's word leads to DHCP on the first device with a carrier. So does one
that is refused, and the module fails all the same: it is not the network that was wanted. Files are written before those of an earlier
instance are removed, so that a crash never leaves a machine without any.
"""

from collections.abc import Mapping
from typing import Any

from precast.base.errors import PrecastError
from precast.boot import image
from precast.boot.capabilities import Capability
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Config, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.network import issues, precedence
from precast.boot.network.devices import device_names, links, renames
from precast.boot.network.model import Network
from precast.boot.network.renderers import selection

_DEADLINE_S = 30.0


def configure(context: Context) -> Outcome:
    """Write the network's files, and remove those of an earlier instance. Raises PrecastError BOOTNET-*."""
    refused: list[tuple[str, PrecastError]] = []
    for word in precedence.list_candidates(_said(context)):
        if word.read is None:
            context.outcome.not_run = word.origin
            return context.outcome
        try:
            network = word.read()
        except PrecastError as error:
            refused.append((word.origin, error))
            continue
        _write(context, word.origin, network)
        if refused:
            reason = "; ".join(error.message for _, error in refused)
            raise issues.REFUSED.error(origin=refused[0][0], reason=reason, instead=word.origin)
        return context.outcome
    if refused:
        raise refused[0][1]
    context.outcome.not_run = "there is no network device"
    return context.outcome


def _said(context: Context) -> precedence.NetworkInputs:
    return precedence.NetworkInputs(
        context.root,
        context.read_text("/proc/cmdline"),
        image.read(context.root).get("network"),
        context.value(Capability.NETWORK_CONFIG),
        context.value(Capability.PLATFORM) == "oracle",
    )


def _write(context: Context, origin: str, network: Network) -> None:
    renderer = selection.choose_renderer(context.root, _order(context.config))
    if renderer == "eni":
        network = device_names.resolve_names(network, links.list_links(context.root), renderer)
    files, warnings = selection.RENDERERS[renderer](network)
    for warning in (*network.warnings, *warnings):
        context.warn(warning.message)
    context.log("info", f"network from {origin}, for {renderer}")
    has_changed = [context.write(f"/{file.path}", file.text.encode(), file.mode) for file in files]
    removed = [context.remove(f"/{path}") for path in selection.find_stale_files(context.root, files)]
    if any((*has_changed, *removed)):
        _tell(context, renderer, network)


def _order(config: Config) -> tuple[str, ...]:
    """`system_info: network: renderers`, as images say which tool they use; names of tools that Precast does not know are passed over."""
    given: Any = config
    for key in ("system_info", "network", "renderers"):
        given = given.get(key) if isinstance(given, Mapping) else None
    words = [str(name) for name in given] if isinstance(given, list) else []
    return tuple(name for name in words if name in selection.RENDERERS)


def _tell(context: Context, renderer: str, network: Network) -> None:
    """Tell what runs already: netplan turns its file into others, which its generator did before we wrote."""
    if renderer == "netplan" and context.has_programs:
        done = context.run(["netplan", "generate"], deadline_s=_DEADLINE_S)
        if not done.is_success:
            context.warn(f"netplan generate failed: {' '.join(done.output.split())[-200:]}")
    if not context.machine.root and not context.is_dry_run:
        _rename(context, network)


def _rename(context: Context, network: Network) -> None:
    """Give devices that are there already the names they shall have: udev's rules are only for those that come."""
    wanted = {one.match.mac: one.set_name for one in network.devices if one.match and one.match.mac and one.set_name}
    there = [link for link in links.list_links(context.root) if link.is_real]
    moves = {link.name: name for link in there if (name := wanted.get(link.mac)) not in (None, link.name)}
    for old, name, reason in renames.rename_devices({old: name for old, name in moves.items() if name}):
        if reason:
            context.warn(f"{old} could not be named {name}: {reason}")
        else:
            context.changed(f"{old} is {name} now")


def _always(_: Config) -> bool:
    return True


MODULES = (
    Module(
        "network",
        configure,
        {},
        uses=frozenset({Capability.NETWORK_CONFIG, Capability.PLATFORM}),
        stage=Stage.LOCAL,
        after=(After("hostname", "DHCP tells the server the machine's name"),),
        is_wanted=_always,
    ),
)
