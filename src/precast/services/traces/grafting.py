"""Grows the trace tree: where a finished trace leaves the chains that are known. There the rest of it is hung as a chain of its own."""

from collections.abc import Sequence

from precast.services import issues
from precast.services.traces.chains import Chain, Link, Place, same_question


def part(trace: Sequence[Link], at: int, chain: Chain) -> tuple[Place | None, int]:
    """Follow a chain with the reads from `at` on: the place where the trace leaves it, and how many of its reads are used up.

    No place means that trace and chain end together. Raises InternalError TRACE-001 if another question is asked after the same answers.
    """
    for position, known in enumerate(chain.links):
        if at == len(trace) or not same_question(trace[at].question, known.question):
            raise issues.NOT_DETERMINISTIC.error(chain=chain.id, position=position)
        came = trace[at]
        at += 1
        if came.key != known.key:
            return Place(chain.id, position, came.key), at
    if at != len(trace):
        raise issues.NOT_DETERMINISTIC.error(chain=chain.id, position=len(chain.links))
    return None, at
