"""Selects the tool that configures the network below a root: the first installed one, in a fixed order.

netplan, ifupdown and NetworkManager are only installed on purpose; networkd comes with systemd, so it is last.
"""

import fnmatch
from collections.abc import Sequence
from pathlib import Path

from precast.base.errors import PrecastError
from precast.boot.network import issues
from precast.boot.network.renderers import eni, keyfile, netplan, networkd
from precast.boot.network.renderers.rendering import HEADER, Render, RenderedFile
from precast.resources.files import safe_reads
from precast.resources.files.safe_paths import ParentCache

RENDERERS: dict[str, Render] = {
    "netplan": netplan.render,
    "eni": eni.render,
    "network-manager": keyfile.render,
    "networkd": networkd.render,
}
# A tool is installed if one of these files exists.
_EVIDENCE = {
    "netplan": ("usr/sbin/netplan", "sbin/netplan"),
    "eni": ("usr/sbin/ifup", "sbin/ifup"),
    "network-manager": ("usr/sbin/NetworkManager", "usr/bin/NetworkManager"),
    "networkd": ("usr/lib/systemd/systemd-networkd", "lib/systemd/systemd-networkd"),
}
# The paths of our files. Files of an earlier instance that the current network does not write are removed.
_OURS = (
    netplan.PATH,
    eni.PATH,
    eni.RULES_PATH,
    "etc/systemd/network/10-precast-*",
    "etc/NetworkManager/system-connections/precast-*.nmconnection",
)


def choose_renderer(root: Path, order: Sequence[str] = ()) -> str:
    """Return the name of the renderer. Raises NotFoundError BOOTNET-020 if none is installed, InputError BOOTNET-021."""
    for name in order:
        if name not in RENDERERS:
            raise issues.UNKNOWN_RENDERER.error(name=name, names=", ".join(RENDERERS))
    names = order or tuple(RENDERERS)
    for name in names:
        if any(safe_reads.exists(safe_reads.root_parents(str(root)), f"/{path}") for path in _EVIDENCE[name]):
            return name
    raise issues.NO_RENDERER.error(root=root, names=", ".join(names))


def find_stale_files(root: Path, files: Sequence[RenderedFile]) -> list[str]:
    """Return the paths of our files below the root that are not among `files`. A file without our header is not ours."""
    wanted = {file.path for file in files}
    parents = safe_reads.root_parents(str(root))
    paths = {
        f"{directory}/{name}"
        for directory, _, pattern in (place.rpartition("/") for place in _OURS)
        for name in safe_reads.list_names(parents, f"/{directory}")
        if fnmatch.fnmatchcase(name, pattern)
    }
    return sorted(path for path in paths - wanted if _is_ours(parents, path))


def _is_ours(parents: ParentCache, path: str) -> bool:
    try:
        with safe_reads.open_stream(parents, f"/{path}", is_followed=False) as file:
            return file.read(len(HEADER.encode())) == HEADER.encode()
    except (OSError, PrecastError):
        return False
