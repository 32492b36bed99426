"""Which facts a trace has read: a change of any other fact leads to the same leaf.

A change names its path, down to the value that changed. It matters if the trace read that value, a value above it or a value below it;
in a hash of which only the keys were read it matters if a key was added or removed; a value that the catalog leaves open matters if it
changed.
"""

from collections.abc import Iterable
from typing import Protocol

import msgspec

from precast.lang import inputs
from precast.lang.inputs import Path, Question
from precast.lang.legacy_facts import SOURCES, find_source


class Change(Protocol):
    """How one path, a JSON pointer, changed; None if there was no value."""

    @property
    def path(self) -> str: ...

    @property
    def before(self) -> bytes | None: ...

    @property
    def after(self) -> bytes | None: ...


# The facts that functions which mix in the node's name read.
_KEYED: dict[str, Path] = {"fqdn_rand": ("networking", "fqdn"), "fqdn_rotate": ("fqdn",)}


class FactReads(msgspec.Struct, frozen=True):
    """The facts that one trace has read."""

    # Read whole, with everything below.
    whole: frozenset[Path]
    # Hashes of which only the keys were read.
    keys: frozenset[Path]
    # Everything read, and everything above it.
    above: frozenset[Path]

    def is_touched_by(self, change: Change) -> bool:
        """Whether a change may lead to another leaf."""
        path = split_pointer(change.path)
        if path in self.above or any(path[:end] in self.whole for end in range(len(path))):
            return True
        return path[:-1] in self.keys and (change.before is None or change.after is None)

    def reads(self, pointer: str) -> bool:
        """Whether the trace read a value at this path, below it or above it."""
        path = split_pointer(pointer)
        return path in self.above or any(path[:end] in self.whole for end in range(len(path)))


def read_facts(questions: Iterable[Question]) -> FactReads:
    """The facts that these questions read."""
    whole: set[Path] = set()
    keys: set[Path] = set()
    names: set[Path] = set()
    for question in questions:
        match question:
            case inputs.FactPath(path):
                whole.add(path)
            case inputs.FactKeys(path):
                keys.add(path)
            case inputs.FactKind(path):
                names.add(path)
            case inputs.FactAbsent(name):
                names.add((name,))
            case (
                inputs.DataFile(parts)
                | inputs.DataKey(parts)
                | inputs.SecretDocument(_, parts)
                | inputs.SecretValue(_, parts)
            ):
                whole.update(part[1:] for part in parts if not isinstance(part, str) and part[0] == "facts")
            case inputs.KeyedResult(function):
                # An unknown function may read all facts.
                whole.add(_KEYED.get(function, ()))
    # A flat name changes with the facts that it is derived from.
    whole.update(source for path in whole | names if path and (source := find_source(str(path[0]))) is not None)
    if () in keys:
        whole.update((source,) for source in SOURCES)
    above = {path[:end] for path in whole | keys | names for end in range(len(path) + 1)}
    return FactReads(frozenset(whole), frozenset(keys), frozenset(above))


def split_pointer(pointer: str) -> Path:
    """A JSON pointer as a path."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
