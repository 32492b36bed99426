"""Which facts a trace has read: what else changes of a node's facts leads to the same leaf.

A change is told by its path, down to the value that became another. It matters if the trace read that value, something above it or
something below it; of a hash whose keys alone were read, if a key came or went; of a value left open, if it is another one.
"""

from collections.abc import Iterable
from typing import Protocol

import msgspec

from precast.lang import inputs
from precast.lang.inputs import Path, Question


class Change(Protocol):
    """How one path changed: a JSON pointer; None where there is nothing."""

    @property
    def path(self) -> str: ...

    @property
    def before(self) -> bytes | None: ...

    @property
    def after(self) -> bytes | None: ...


# What functions that mix in the node's name read of it.
_KEYED: dict[str, Path] = {"fqdn_rand": ("networking", "fqdn"), "fqdn_rotate": ("fqdn",)}


class FactReads(msgspec.Struct, frozen=True):
    """The facts that one trace has read."""

    # Read whole, with everything below.
    whole: frozenset[Path]
    # Hashes of which only the keys were read.
    keys: frozenset[Path]
    # Everything read, and everything above it.
    above: frozenset[Path]

    def touched(self, change: Change) -> bool:
        """Whether a change may lead elsewhere."""
        path = steps(change.path)
        if path in self.above or any(path[:end] in self.whole for end in range(len(path))):
            return True
        return path[:-1] in self.keys and (change.before is None or change.after is None)

    def reads(self, pointer: str) -> bool:
        """Whether a value at this path, or below it or above it, was read."""
        path = steps(pointer)
        return path in self.above or any(path[:end] in self.whole for end in range(len(path)))


def read_facts(questions: Iterable[Question]) -> FactReads:
    """What these questions ask of the facts."""
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
            case inputs.DataFile(parts) | inputs.DataKey(parts):
                whole.update(part[1:] for part in parts if not isinstance(part, str) and part[0] == "facts")
            case inputs.KeyedResult(function):
                # Of a function that is not known, everything.
                whole.add(_KEYED.get(function, ()))
    above = {path[:end] for path in whole | keys | names for end in range(len(path) + 1)}
    return FactReads(frozenset(whole), frozenset(keys), frozenset(above))


def steps(pointer: str) -> Path:
    """A JSON pointer as a path."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
