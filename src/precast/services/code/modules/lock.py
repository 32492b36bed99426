"""Puppetfile.lock: what the lines of a Puppetfile were resolved to, and the digest of the files that were put in place.

It belongs into version control beside the Puppetfile: with it, an installation on another day gives the same files.
"""

import json
from pathlib import Path
from typing import Any

import msgspec

from precast.base.files import write_public
from precast.lang.ruby.code.puppetfile import ModuleSource
from precast.services.code.modules import issues as issues

NAME = "Puppetfile.lock"
_FORMAT = 1


class Locked(msgspec.Struct, frozen=True):
    """A module in place: the line it came from, the commit or version that line meant, the digest of its files."""

    source: ModuleSource
    resolved: str
    files: str


class _Document(msgspec.Struct, frozen=True):
    format: int
    modules: dict[str, Locked]


def read_lock(environment: Path) -> dict[str, Locked]:
    """The modules by name; none if there is no such file. Raises InputError MODULE-031."""
    path = environment / NAME
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_Document)
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise issues.BAD_LOCK.error(path=str(path), reason=str(error)) from None
    if found.format != _FORMAT:
        raise issues.BAD_LOCK.error(path=str(path), reason=f"format {found.format}, not {_FORMAT}")
    return found.modules


def write_lock(environment: Path, modules: dict[str, Locked]) -> None:
    """Replaces the file whole, in an order that makes small differences."""
    data: Any = {
        "format": _FORMAT,
        "modules": {name: msgspec.to_builtins(modules[name]) for name in sorted(modules)},
    }
    write_public(environment / NAME, (json.dumps(data, indent=2, sort_keys=True) + "\n").encode())
