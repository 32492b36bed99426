"""Where two paths through a trace tree diverge: the first read with another answer. All reads before it have the same answers."""

from collections.abc import Sequence
from typing import Any

import msgspec

from precast.base import canonical
from precast.services.traces import issues
from precast.services.traces.chains import BranchPoint, Chain, Link, is_same_question

# A longer answer is replaced by its digest.
MAX_ANSWER_BYTES = 1_000


class Divergence(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question in its stored form, with the answer before and the answer now; no answer means absent."""

    question: Any
    before: Any = msgspec.UNSET
    after: Any = msgspec.UNSET


def find_divergence(before: Sequence[Link], after: Sequence[Link]) -> tuple[Link, Link] | None:
    """The first read with another answer, on the old path and on the new one; None if all answers are the same."""
    for old, new in zip(before, after, strict=False):
        if old.key != new.key:
            return old, new
    return None


def follow_chain(trace: Sequence[Link], at: int, chain: Chain) -> tuple[BranchPoint | None, int]:
    """Follow a chain with the reads of a trace from `at` on: the branch point where the trace leaves it, and how many reads are used up.

    No branch point means that trace and chain end together. Raises InternalError TRACE-001 if the trace has another question after the
    same answers.
    """
    for position, known in enumerate(chain.links):
        if at == len(trace) or not is_same_question(trace[at].question, known.question):
            raise issues.NOT_DETERMINISTIC.error(chain=chain.id, position=position)
        link = trace[at]
        at += 1
        if link.key != known.key:
            return BranchPoint(chain.id, position, link.key), at
    if at != len(trace):
        raise issues.NOT_DETERMINISTIC.error(chain=chain.id, position=len(chain.links))
    return None, at


def describe_divergence(old: Link, new: Link) -> Divergence:
    return Divergence(msgspec.to_builtins(new.question), shorten_answer(old), shorten_answer(new))


def shorten_answer(link: Link) -> Any:
    """The answer of a link; the beginning of its digest if the answer is long."""
    if link.answer is msgspec.UNSET or len(canonical.encode(link.answer)) <= MAX_ANSWER_BYTES:
        return link.answer
    return f"a long value, {link.key[:12]}"
