"""Briefs of facts: all small facts of a node, and the paths of the facts that were left out.

A node's facts are tens of kilobytes, mostly lists of packages, interfaces and disks; queries read its system, its kernel, a custom fact of
the site. A brief is made when a query first needs it and stored with the digest of the facts it was made from: so the intake of facts costs
nothing more, and a brief of older facts is never used. The brief names the paths it left out: a query that needs one reads all facts.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

# A top-level fact up to this size is in the brief; of a larger one its small members are, if together they are not larger than that.
MAX_FACT_BYTES = 1024
MAX_MEMBER_BYTES = 200
MAX_MEMBERS = 50
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


class StoredBrief(msgspec.Struct, frozen=True):
    """A brief as it is stored: the small facts as JSON, and the paths of the others."""

    facts: msgspec.Raw
    left: list[str]

    def has_all(self, paths: Iterable[str]) -> bool:
        """Whether the brief has all facts at these paths: none at, below or above them was left out."""
        return not any(
            f"{path}.".startswith(f"{left}.") or left.startswith(f"{path}.") for path in paths for left in self.left
        )


class Brief(msgspec.Struct, frozen=True):
    """A brief before it is encoded."""

    facts: dict[str, Any]
    left: list[str]


def make_brief(stable: bytes) -> Brief:
    """The brief of a node's stable facts, which are canonical JSON."""
    facts: dict[str, Any] = {}
    left: list[str] = []
    for name, value in _members.decode(stable).items():
        if _size(value) <= MAX_FACT_BYTES:
            facts[name] = value
            continue
        members = _members.decode(value) if bytes(value).startswith(b"{") else {}
        # A fact with very many members is a list of things: no query looks for a small member of it.
        small = {
            key: member
            for key, member in members.items()
            if _size(member) <= MAX_MEMBER_BYTES and len(members) <= MAX_MEMBERS
        }
        if not small or sum(map(_size, small.values())) > MAX_FACT_BYTES:
            left.append(name)
            continue
        facts[name] = small
        left += [f"{name}.{key}" for key in members.keys() - small.keys()]
    return Brief(facts, sorted(left))


def select_facts(facts: bytes, paths: Iterable[str]) -> bytes:
    """The top-level facts that these paths are in, as JSON; the other facts are not decoded."""
    return msgspec.json.encode(
        {
            name: value
            for name, value in _members.decode(facts).items()
            if any(f"{path}.".startswith(f"{name}.") for path in paths)
        }
    )


def _size(value: msgspec.Raw) -> int:
    return memoryview(value).nbytes
