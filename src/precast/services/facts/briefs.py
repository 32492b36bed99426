"""Facts in short: everything small that a node has said, and the paths of what was left out.

A node's facts are tens of kilobytes, most of it lists of packages, interfaces and disks; queries ask for its system, its kernel, a fact of
the site's own. A brief is made when a query first needs it and kept with the digest of what it was made from, so taking facts in costs
nothing more, and a brief of other facts is never believed. What it left out is known by path: who asks for that is given the whole.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

# A top-level fact up to this size is kept whole; of a larger one the small members are, if they are no more together.
MAX_FACT_BYTES = 1024
MAX_MEMBER_BYTES = 200
MAX_MEMBERS = 50
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


class KeptBrief(msgspec.Struct, frozen=True):
    """As it is stored: the small facts as JSON, and the paths of the others."""

    facts: msgspec.Raw
    left: list[str]

    def answers(self, paths: Iterable[str]) -> bool:
        """Whether it has all there is to know of these paths: nothing at, below or above them was left out."""
        return not any(
            f"{path}.".startswith(f"{left}.") or left.startswith(f"{path}.") for path in paths for left in self.left
        )


class Brief(msgspec.Struct, frozen=True):
    """The same when it is made."""

    facts: dict[str, Any]
    left: list[str]


def make_brief(stable: bytes) -> Brief:
    """From the canonical JSON of a node's stable facts."""
    facts: dict[str, Any] = {}
    left: list[str] = []
    for name, value in _members.decode(stable).items():
        if _size(value) <= MAX_FACT_BYTES:
            facts[name] = value
            continue
        members = _members.decode(value) if bytes(value).startswith(b"{") else {}
        # One with very many members is a list of something: nobody looks for what is small in it.
        small = {
            key: one for key, one in members.items() if _size(one) <= MAX_MEMBER_BYTES and len(members) <= MAX_MEMBERS
        }
        if not small or sum(map(_size, small.values())) > MAX_FACT_BYTES:
            left.append(name)
            continue
        facts[name] = small
        left += [f"{name}.{key}" for key in members.keys() - small.keys()]
    return Brief(facts, sorted(left))


def asked_for(facts: bytes, paths: Iterable[str]) -> bytes:
    """Of facts in JSON those that are needed to look these paths up, by their first names; the rest is not even read."""
    return msgspec.json.encode(
        {
            name: value
            for name, value in _members.decode(facts).items()
            if any(f"{path}.".startswith(f"{name}.") for path in paths)
        }
    )


def _size(value: msgspec.Raw) -> int:
    return memoryview(value).nbytes
