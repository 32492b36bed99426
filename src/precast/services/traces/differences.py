"""Where two ways through a tree part: the read whose answer became another. All reads before it were answered alike."""

from collections.abc import Sequence
from typing import Any

import msgspec

from precast.base import canonical
from precast.services.traces.chains import Link

# An answer that is longer is told by its digest.
MAX_ANSWER_BYTES = 1_000


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question as it is stored, with what was answered before and what is now; no answer means absent."""

    question: Any
    before: Any = msgspec.UNSET
    after: Any = msgspec.UNSET


def part_ways(before: Sequence[Link], after: Sequence[Link]) -> tuple[Link, Link] | None:
    """The first read that was answered otherwise, as it was and as it is; None if none was."""
    for old, new in zip(before, after, strict=False):
        if old.key != new.key:
            return old, new
    return None


def tell(old: Link, new: Link) -> Told:
    return Told(msgspec.to_builtins(new.question), shortened(old), shortened(new))


def shortened(link: Link) -> Any:
    """An answer, or what it is known by if it is long."""
    if link.answer is msgspec.UNSET or len(canonical.encode(link.answer)) <= MAX_ANSWER_BYTES:
        return link.answer
    return f"a long value, {link.key[:12]}"
