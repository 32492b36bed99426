"""Wake-ups about values. Each names the value that has changed, so a server reads only those for which it has subscribers."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from precast.store.engine.query import Transaction, Wake

VALUE_PREFIX = "future."
# More changes of one owner in a transaction wake everybody who waits for any of its values.
MANY = 200
# Who owns a value.
ENVIRONMENT, JOB = "e", "j"


class ValueKey(NamedTuple):
    """Names a value: its owner is an environment or a job. An empty key means all values of the owner."""

    kind: str
    owner: str
    key: str
    node: str


_decoder = msgspec.json.Decoder(tuple[str, str, str, str])


def wake_values(values: Iterable[ValueKey]) -> Transaction[None]:
    """Wake the servers with subscribers of these values at the commit."""
    by_owner: dict[tuple[str, str], list[ValueKey]] = {}
    for value in values:
        by_owner.setdefault(value[:2], []).append(value)
    for (kind, owner), changed in by_owner.items():
        for value in changed if len(changed) <= MANY else [ValueKey(kind, owner, "", "")]:
            yield Wake(VALUE_PREFIX + msgspec.json.encode(value).decode())


def parse_value(text: str) -> ValueKey | None:
    """The value that a topic names, without its prefix; None if it is no such topic."""
    try:
        return ValueKey(*_decoder.decode(text))
    except msgspec.MsgspecError:
        return None
