"""Writes the network configuration from the kernel's command line, the image or the data source, for the network tool of the image.

The files are written once per instance, before the network comes up. Without any configuration, the first device with a carrier uses
DHCP. An invalid configuration is skipped in the same way, and the module still fails, because the network is not the configured one. The
new files are written before those of an earlier instance are removed, so a crash never leaves a machine without network files.
"""

from collections.abc import Mapping
from typing import Any

from precast.base.errors import PrecastError
from precast.boot import image
from precast.boot.capabilities import Capability
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Config, Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.network import issues, precedence
from precast.boot.network.devices import device_names, links, renames
from precast.boot.network.model import Network
from precast.boot.network.renderers import selection

_DEADLINE_S = 30.0


def configure(context: ModuleContext) -> ModuleOutcome:
    """Write the network's files, and remove those of an earlier instance. Raises PrecastError BOOTNET-*."""
    refused: list[tuple[str, PrecastError]] = []
    for candidate in precedence.list_candidates(_collect_inputs(context)):
        if candidate.read is None:
            context.outcome.not_run = candidate.origin
            return context.outcome
        try:
            network = candidate.read()
        except PrecastError as error:
            refused.append((candidate.origin, error))
            continue
        _write(context, candidate.origin, network)
        if refused:
            reason = "; ".join(error.message for _, error in refused)
            raise issues.REFUSED.error(origin=refused[0][0], reason=reason, instead=candidate.origin)
        return context.outcome
    if refused:
        raise refused[0][1]
    context.outcome.not_run = "there is no network device"
    return context.outcome


def _collect_inputs(context: ModuleContext) -> precedence.NetworkInputs:
    return precedence.NetworkInputs(
        context.root,
        context.read_text("/proc/cmdline"),
        image.read(context.root).get("network"),
        context.get_value(Capability.NETWORK_CONFIG),
        context.get_value(Capability.PLATFORM) == "oracle",
    )


def _write(context: ModuleContext, origin: str, network: Network) -> None:
    renderer = selection.choose_renderer(context.root, _read_renderer_order(context.config))
    if renderer == "eni":
        network = device_names.resolve_names(network, links.list_links(context.root), renderer)
    files, warnings = selection.RENDERERS[renderer](network)
    for warning in (*network.warnings, *warnings):
        context.warn(warning.message)
    context.log("info", f"network from {origin}, for {renderer}")
    has_changed = [context.write(f"/{file.path}", file.text.encode(), file.mode) for file in files]
    removed = [context.remove(f"/{path}") for path in selection.find_stale_files(context.root, files)]
    if any((*has_changed, *removed)):
        _activate(context, renderer, network)


def _read_renderer_order(config: Config) -> tuple[str, ...]:
    """Return `system_info: network: renderers`, the tools that the image prefers, without those that Precast does not know."""
    setting: Any = config
    for key in ("system_info", "network", "renderers"):
        setting = setting.get(key) if isinstance(setting, Mapping) else None
    names = [str(name) for name in setting] if isinstance(setting, list) else []
    return tuple(name for name in names if name in selection.RENDERERS)


def _activate(context: ModuleContext, renderer: str, network: Network) -> None:
    """Apply the files: netplan's generator ran before they were written, and existing devices need their new names."""
    if renderer == "netplan" and context.has_programs:
        result = context.run(["netplan", "generate"], deadline_s=_DEADLINE_S)
        if not result.is_success:
            context.warn(f"netplan generate failed: {' '.join(result.output.split())[-200:]}")
    if not context.machine.root and not context.is_dry_run:
        _rename_devices(context, network)


def _rename_devices(context: ModuleContext, network: Network) -> None:
    """Rename the devices that exist already: udev applies its rules only to devices that appear later."""
    matched = [device for device in network.devices if device.match and device.match.mac and device.set_name]
    names = {device.match.mac: device.set_name for device in matched if device.match}
    existing = [link for link in links.list_links(context.root) if link.is_real]
    moves = {link.name: name for link in existing if (name := names.get(link.mac)) not in (None, link.name)}
    for old, name, reason in renames.rename_devices({old: name for old, name in moves.items() if name}):
        if reason:
            context.warn(f"{old} could not be renamed to {name}: {reason}")
        else:
            context.record_change(f"{old} is renamed to {name}")


def _always(_: Config) -> bool:
    return True


MODULES = (
    Module(
        "network",
        configure,
        {},
        uses=frozenset({Capability.NETWORK_CONFIG, Capability.PLATFORM}),
        stage=Stage.LOCAL,
        after=(Predecessor("hostname", "the DHCP client sends the machine's name to the server"),),
        has_work=_always,
    ),
)
