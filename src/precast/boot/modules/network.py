"""The machine's network: what the kernel's command line, the image or the data source says of it, for the tool that the image has.

It is written once for an instance, before the network comes up. Nobody's word leads to DHCP on the first device with a carrier. Files
are written before those of an earlier instance are removed, so that a crash never leaves a machine without any.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from precast.boot import image
from precast.boot.capabilities import Capability
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Config, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.network import choosing, issues, links, naming, reading, renaming
from precast.boot.network.model import Network

_WORD = "network-config="
_DEADLINE_S = 30.0


def configure(context: Context) -> Outcome:
    """Write the network's files, and remove those of an earlier instance. Raises PrecastError BOOTNET-*."""
    origin, document = _document(context)
    if document is None:
        context.outcome.not_run = origin
        return context.outcome
    network = (
        reading.read_value(origin, document) if isinstance(document, Mapping) else reading.read_text(origin, document)
    )
    renderer = choosing.choose(context.root, _order(context.config))
    if renderer == "eni":
        network = naming.with_names(network, links.present(context.root), renderer)
    files, warnings = choosing.RENDERERS[renderer](network)
    for warning in (*network.warnings, *warnings):
        context.warn(warning.message)
    context.log("info", f"network from {origin}, for {renderer}")
    has_changed = [context.write(f"/{file.path}", file.text.encode(), file.mode) for file in files]
    removed = [context.remove(f"/{path}") for path in choosing.left_over(context.root, files)]
    if any((*has_changed, *removed)):
        _tell(context, renderer, network)
    return context.outcome


def _document(context: Context) -> tuple[str, Mapping[str, Any] | str | None]:
    """Who says how the network shall be, and what; without a document the reason. The one closest to the machine wins."""
    word = _command_line(context)
    if word is not None:
        if word == "disabled":
            return "the kernel's command line says network-config=disabled", None
        return "the kernel's command line", _decoded(word)
    given = image.read(context.root).get(
        "network"
    )  # not the user's: whoever writes user data does not know the devices
    if isinstance(given, Mapping):
        if given.get("config") == "disabled":
            return "the image's configuration says network: {config: disabled}", None
        return "the image's configuration", given
    given = context.value(Capability.NETWORK_CONFIG)
    if given:
        return "the data source", given
    found = links.fallback(links.present(context.root))
    return ("the first device with a carrier", found) if found else ("there is no network device", None)


def _command_line(context: Context) -> str | None:
    words = context.read_text("/proc/cmdline").split()
    return next((word.removeprefix(_WORD) for word in words if word.startswith(_WORD)), None)


def _decoded(word: str) -> str:
    try:
        return base64.b64decode(word, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise issues.BAD_VALUE.error(
            path="network-config",
            value=word[:20],
            wanted="base64 of a network configuration",
            advice="encode the file with `base64 -w0 FILE`",
        ) from None


def _order(config: Config) -> tuple[str, ...]:
    """`system_info: network: renderers`, as images say which tool they use; names of tools that Precast does not know are passed over."""
    given: Any = config
    for key in ("system_info", "network", "renderers"):
        given = given.get(key) if isinstance(given, Mapping) else None
    words = [str(name) for name in given] if isinstance(given, list) else []
    return tuple(name for name in words if name in choosing.RENDERERS)


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
    there = [link for link in links.present(context.root) if link.is_real]
    moves = {link.name: name for link in there if (name := wanted.get(link.mac)) not in (None, link.name)}
    for old, name, reason in renaming.rename({old: name for old, name in moves.items() if name}):
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
        uses=frozenset({Capability.NETWORK_CONFIG}),
        stage=Stage.LOCAL,
        after=(After("hostname", "DHCP tells the server the machine's name"),),
        is_wanted=_always,
    ),
)
