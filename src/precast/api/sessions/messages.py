"""What may be said over a session, as declarations: every message and every kind of record says what it requires."""

from collections.abc import Iterator
from typing import NamedTuple, get_args

from precast.api.http.routes import Requirement
from precast.services.sessions.sessions import RecordKind
from precast.wire.sessions import FromNode


class Declared(NamedTuple):
    """A kind of record with what it requires."""

    requires: Requirement
    kind: RecordKind


class Messages:
    """All messages of a session. What does not say whom it requires cannot be added, so a server that forgets it does not start."""

    def __init__(self, messages: dict[type, Requirement]) -> None:
        silent = [one.__name__ for one in get_args(FromNode) if not _is_declared(messages.get(one))]
        if silent:
            raise TypeError(f"messages that do not say whom they require: {', '.join(silent)}")
        self._messages = messages
        self._records: dict[str, Declared] = {}

    def __iter__(self) -> Iterator[tuple[str, Requirement]]:
        for message, requires in self._messages.items():
            yield message.__name__.lower(), requires
        for name, declared in self._records.items():
            yield f"record {name}", declared.requires

    def add(self, name: str, requires: Requirement, kind: RecordKind) -> None:
        if not _is_declared(requires):
            raise TypeError(f"records of kind {name} do not say whom they require")
        if name in self._records:
            raise ValueError(f"records of kind {name} are declared twice")
        self._records[name] = Declared(requires, kind)

    @property
    def kinds(self) -> dict[str, RecordKind]:
        return {name: declared.kind for name, declared in self._records.items()}


def _is_declared(requires: object) -> bool:
    # Only nodes have sessions: a message for anyone else would be a mistake.
    return isinstance(requires, Requirement) and requires.sort == "node"
