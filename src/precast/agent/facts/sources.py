"""A source of facts: it has a name and a deadline, and returns facts, warnings and further sources."""

from collections.abc import Callable
from typing import NamedTuple

from precast.agent.facts.machine import Facts
from precast.base.errors import PrecastError


class SourceResult(NamedTuple):
    """The result of a source: facts, warnings about facts that are missing, and further sources that it has found."""

    facts: Facts
    warnings: list[PrecastError]
    more: "list[Source]"


class Source(NamedTuple):
    """`ask` is called with the seconds it may take. PrecastError and TimeoutError become warnings; other exceptions are reported as bugs.

    A source that keeps its deadline itself is called in the collector's thread, so that an interrupt also ends the program it has started.
    `is_added` says that people or modules add its facts; the others describe the machine.
    """

    name: str
    deadline_s: float
    ask: Callable[[float], SourceResult]
    keeps_deadline: bool = False
    is_added: bool = False


class KnownFacts(NamedTuple):
    """The facts that were collected so far: those of the machine, and those that people and plug-ins added."""

    machine: Facts
    added: Facts


class DependentSource(NamedTuple):
    """A source that depends on the facts that are known when its turn comes. Then it may take `total_s`, whatever others took."""

    name: str
    total_s: float
    make: Callable[[KnownFacts], Source]


def only_warnings(*warnings: PrecastError) -> SourceResult:
    return SourceResult({}, list(warnings), [])


def only_facts(facts: Facts) -> SourceResult:
    return SourceResult(facts, [], [])
