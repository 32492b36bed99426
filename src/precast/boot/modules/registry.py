"""Every config module, and what becomes of the keys of a configuration: run, reported, or unknown.

No key is passed over in silence. One that a module reads has its value checked against the module's shape. One that cloud-init knows and
Precast does not run is reported with the reason; any other is unknown, with the key that was perhaps meant.
"""

import functools
import importlib
from collections.abc import Mapping
from typing import Any

from precast.boot.modules.contract import Module
from precast.boot.modules.reported import READ_ELSEWHERE, REPORTED
from precast.boot.modules.shapes import WRONG, Finding, Shape, nearest

# Modules of this package; each has its declarations in MODULES.
_NAMES = (
    "network", "scripts", "user_commands", "injected_files", "write_files", "hostnames", "users", "passwords",
    "platforms", "ssh", "imported_keys", "seeds", "surroundings", "resolving", "certificates", "apt", "repositories",
    "packages", "ntp", "syslog", "links", "growing", "disks", "mounts", "snaps", "containers", "enrolling", "reporting", "ending",
    "outputs", "power", "frequencies",
)  # fmt: skip


@functools.cache
def modules() -> tuple[Module, ...]:
    """All of them, in the order in which they are listed and explained."""
    found: list[Module] = []
    for name in _NAMES:
        loaded = importlib.import_module(f"precast.boot.modules.{name}")
        found += loaded.MODULES
    return tuple(found)


@functools.cache
def shapes() -> Mapping[str, Shape]:
    """The shape of every top-level key that is read."""
    return {key: shape for module in modules() for key, shape in module.schema.items()}


def clean(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """A merged configuration as modules may rely on it, and what was wrong with it."""
    known = shapes()
    kept: dict[str, Any] = {}
    found: list[Finding] = []
    for key, value in config.items():
        if key in READ_ELSEWHERE:
            kept[key] = value
        elif key not in known:
            found.append(_unread(str(key), known))
        elif value is not None:
            cleaned = known[key].clean(value, (key,), found)
            if cleaned is not WRONG:
                kept[key] = cleaned
    return kept, found


def _unread(key: str, known: Mapping[str, Shape]) -> Finding:
    if key in REPORTED:
        return Finding((key,), "is not run", REPORTED[key], True)
    hint = nearest(key, [*known, *REPORTED]) or "the keys that are known: docs/reference/boot-keys.md"
    return Finding((key,), "is no key that is known", hint, True)
