"""The messages and kinds of records that a session accepts. Each declares which caller it requires."""

from collections.abc import Iterator
from typing import NamedTuple, get_args

from precast.api.http.routes import Requirement
from precast.services.sessions.record_intake import RecordKind
from precast.wire.sessions import FromNode


class RecordDeclaration(NamedTuple):
    """A kind of record with the caller that it requires."""

    requires: Requirement
    kind: RecordKind


class SessionMessages:
    """All messages of a session. A message without a requirement raises TypeError, so a server that forgets one does not start."""

    def __init__(self, messages: dict[type, Requirement]) -> None:
        undeclared = [message.__name__ for message in get_args(FromNode) if not _requires_node(messages.get(message))]
        if undeclared:
            raise TypeError(f"messages that do not declare whom they require: {', '.join(undeclared)}")
        self._messages = messages
        self._records: dict[str, RecordDeclaration] = {}

    def __iter__(self) -> Iterator[tuple[str, Requirement]]:
        for message, requires in self._messages.items():
            yield message.__name__.lower(), requires
        for name, declaration in self._records.items():
            yield f"record {name}", declaration.requires

    def add(self, name: str, requires: Requirement, kind: RecordKind) -> None:
        """Accept records of this kind. Raises TypeError without a requirement, ValueError if the kind is declared twice."""
        if not _requires_node(requires):
            raise TypeError(f"records of kind {name} do not declare whom they require")
        if name in self._records:
            raise ValueError(f"records of kind {name} are declared twice")
        self._records[name] = RecordDeclaration(requires, kind)

    @property
    def kinds(self) -> dict[str, RecordKind]:
        return {name: declaration.kind for name, declaration in self._records.items()}


def _requires_node(requires: object) -> bool:
    # Only nodes have sessions: a message that requires any other caller is a mistake.
    return isinstance(requires, Requirement) and requires.kind == "node"
