"""What facts come from: something with a name, a deadline, and an answer."""

from collections.abc import Callable
from typing import NamedTuple

from precast.agent.facts.machine import Facts
from precast.base.errors import PrecastError


class Found(NamedTuple):
    """What a source answers: facts, warnings about what is missing from them, and sources that it led to."""

    facts: Facts
    warnings: list[PrecastError]
    more: "list[Source]"


class Source(NamedTuple):
    """Asked with the seconds it may take. It may raise: PrecastError and TimeoutError become warnings, others are bugs and say so.

    One that keeps its deadline itself is asked in the thread of who collects, so that an interrupt also ends what it has started.
    """

    name: str
    deadline_s: float
    ask: Callable[[float], Found]
    keeps_deadline: bool = False


def nothing_but(*warnings: PrecastError) -> Found:
    return Found({}, list(warnings), [])


def only(facts: Facts) -> Found:
    return Found(facts, [], [])
