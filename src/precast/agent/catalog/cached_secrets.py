"""The values of the secrets that a cached catalog names: one file beside the catalog, which only root can read.

A value is in the file before the catalog that names it is put in place, and leaves it after that catalog has been replaced: whenever the
machine stops, the file has every value of the catalog that is there. The file is always written under the same second name first, so that
no other copy of a value is left behind. What a damaged file has lost is missing, and is fetched again. A process that has values in its
memory leaves no core dump.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from precast.agent.state.paths import NEXT_SECRETS, SECRETS
from precast.base.files import flush_directory, rename_flushed
from precast.catalog.secret_values import is_value_of
from precast.wire.secrets.delivery import SecretValue, SecretValues

Values = dict[str, SecretValue]


def read_values(directory: Path) -> Values:
    """The values beside a catalog, by reference. A value that its reference does not name is left out."""
    try:
        data = (directory / SECRETS).read_bytes()
        values = msgspec.json.decode(data, type=SecretValues).values
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    if values:
        forbid_core_dumps()
    return {given.ref: given for given in values if is_value_of(given.ref, given.salt, given.value)}


def forbid_core_dumps() -> None:
    """Keep what this process has in memory out of core dumps, and from other processes of its user. Programs it starts are not bound."""
    from precast.base.confinement import kernel  # catalogs without secrets need not load it

    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)


def add_values(directory: Path, values: Iterable[SecretValue]) -> None:
    """Add values to those that are there. Raises OSError."""
    _write(directory, read_values(directory) | {value.ref: value for value in values})


def keep_only(directory: Path, refs: frozenset[str]) -> None:
    """Delete the values of all other references, and what an interrupted write has left. Raises OSError."""
    (directory / NEXT_SECRETS).unlink(missing_ok=True)
    _write(directory, {ref: value for ref, value in read_values(directory).items() if ref in refs})


def _write(directory: Path, values: Values) -> None:
    path, new = directory / SECRETS, directory / NEXT_SECRETS
    if not values:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
            flush_directory(directory)
        return
    data = msgspec.json.encode(SecretValues([values[ref] for ref in sorted(values)]))
    if _is_private(path) and path.read_bytes() == data:
        return
    new.unlink(missing_ok=True)  # so that it is surely a new file with this mode
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(data)
    rename_flushed(new, path)


def _is_private(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and not path.stat().st_mode & 0o077
