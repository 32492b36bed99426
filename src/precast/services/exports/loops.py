"""Finds loops of exports: nodes that release each other's changes by themselves, over and over.

A round of a loop is one way around it. A change that follows from the node's own change, through the exports of other nodes, belongs to
the next round of the same loop; after `MAX_ROUNDS` it is held back, and stays staged until something else changes. A chain of nodes that
collect from each other without a loop ends by itself, however long it is.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from precast.services.exports.publishing import Publication, compare
from precast.services.exports.scopes import find_scope, find_seen
from precast.store.catalogs.staged import CatalogChange
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.exports import rounds
from precast.store.exports.rounds import Cause, LoopMember

MAX_ROUNDS = 5
# Nodes of a loop that are searched.
MAX_MEMBERS = 100


class ExportLoops:
    """Holds no state between calls."""

    def __init__(self, database: Database, environments: Environments) -> None:
        self._database, self._environments = database, environments

    def find_causes(self, changes: Iterable[CatalogChange]) -> Transaction[dict[str, Cause]]:
        """The exports that led to these changed catalogs; absent where something else did."""
        by_read: dict[tuple[str, str], list[str]] = {}
        for change in changes:
            if type_name := _collected_type(change):
                by_read.setdefault((change.environment, type_name), []).append(change.node)
        causes: dict[str, Cause] = {}
        for (environment, type_name), nodes in sorted(by_read.items()):
            scope = yield from find_scope(self._environments, environment)
            seen = yield from find_seen(scope._replace(type=type_name))
            if seen:
                newest = max(seen.values(), key=lambda round_: (round_.round, round_.key))
                causes |= dict.fromkeys(nodes, Cause(newest.round, newest.cause_node, type_name, newest.cause_title))
        return causes

    def hold_back(
        self, publications: Sequence[Publication], causes: Mapping[str, Cause], state: str
    ) -> Transaction[set[str]]:
        """The nodes whose change is part of a loop that has gone on for too long; it is recorded why each of them is held back."""
        late = [each for each in publications if each.node in causes and causes[each.node].round > MAX_ROUNDS]
        if not late:
            return set()
        held = set()
        for node in sorted((yield from compare(late, state)).nodes):
            members = yield from _find_loop(node, causes[node], state)
            if members and causes[node].round > MAX_ROUNDS * len(members):
                yield from rounds.put_cause(node, state, causes[node])
                yield from rounds.stop(node, state, members, self._database.clock.now())
                held.add(node)
        return held


def _collected_type(change: CatalogChange) -> str:
    """The type whose exports a catalog differs by; empty if it differs by something else."""
    question = msgspec.json.decode(change.differing_read)["question"]
    return str(question["type_name"]) if question["ask"] == "exported" else ""


def _find_loop(node: str, cause: Cause, state: str) -> Transaction[list[LoopMember]]:
    """The members of the loop that leads from a node back to it, against the direction of the exports; empty if there is none."""
    members: list[LoopMember] = []
    round_ = cause.round + 1
    while cause.round < round_ and len(members) < MAX_MEMBERS:
        members.append(LoopMember(cause.node, cause.type, cause.title))
        if cause.node == node:
            return members
        found = (yield from rounds.find_causes([cause.node], state)).get(cause.node)
        if found is None:
            return []
        round_, cause = cause.round, found
    return []
