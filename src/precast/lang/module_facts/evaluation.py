"""Runs the facts of modules on a node, and yields what becomes of each."""

from collections.abc import Generator, Iterator, Mapping
from typing import Any, NamedTuple

from precast.lang.module_facts import facter_api, files, host, puppet_api  # noqa: F401 - they declare what facts can call
from precast.lang.module_facts.collection import FactCollection, Problem
from precast.lang.module_facts.facter_api import FACTER_VERSION
from precast.lang.module_facts.node import Node


class Given(NamedTuple):
    """The texts of the files of facts by path (`m/lib/facter/x.rb`), what is known of the machine, and facts that override theirs."""

    files: Mapping[str, str]
    machine: Mapping[str, Any]
    external: Mapping[str, Any]
    total_s: float


def evaluate(node: Node, given: Given) -> Iterator[dict[str, Any]]:
    """Yield each fact that comes from modules as `{"fact", "value"}`, and each problem with the fields of `Problem`."""
    machine = {"facterversion": FACTER_VERSION, **given.machine}
    collection = FactCollection(node, given.files, machine, given.external, given.total_s)
    told = 0
    for name, value in collection.results():
        yield {"fact": name, "value": value}
        told += yield from _problems(collection.problems[told:])
    yield from _problems(collection.problems[told:])


def _problems(problems: list[Problem]) -> Generator[dict[str, Any], None, int]:
    for problem in problems:
        yield {"problem": problem.kind, "name": problem.fact, "place": problem.place, "reason": problem.reason}
    return len(problems)
