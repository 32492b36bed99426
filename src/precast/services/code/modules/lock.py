"""Puppetfile.lock: the commit or version that each line of a Puppetfile was resolved to, and the digest of the installed files.

It belongs in version control with the Puppetfile: with it, a later installation gives the same files.
"""

import json
from pathlib import Path
from typing import Any

import msgspec

from precast.base.files import write_public
from precast.lang.ruby.declarations.puppetfile import ModuleSource
from precast.services.code.modules import issues

NAME = "Puppetfile.lock"
_FORMAT = 1


class LockedModule(msgspec.Struct, frozen=True):
    """An installed module: its line in the Puppetfile, the commit or version that the line was resolved to, the digest of its files."""

    source: ModuleSource
    resolved: str
    files: str


class _Document(msgspec.Struct, frozen=True):
    format: int
    modules: dict[str, LockedModule]


def read_lock(environment: Path) -> dict[str, LockedModule]:
    """Read the modules by name; empty if there is no lock file. Raises InputError MODULE-031."""
    path = environment / NAME
    try:
        document = msgspec.json.decode(path.read_bytes(), type=_Document)
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise issues.BAD_LOCK.error(path=str(path), reason=str(error)) from None
    if document.format != _FORMAT:
        raise issues.BAD_LOCK.error(path=str(path), reason=f"format {document.format}, not {_FORMAT}")
    return document.modules


def write_lock(environment: Path, modules: dict[str, LockedModule]) -> None:
    """Replace the lock file, sorted so that version control shows small differences."""
    data: Any = {
        "format": _FORMAT,
        "modules": {name: msgspec.to_builtins(modules[name]) for name in sorted(modules)},
    }
    write_public(environment / NAME, (json.dumps(data, indent=2, sort_keys=True) + "\n").encode())
