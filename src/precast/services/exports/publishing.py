"""Publishes what nodes export, as part of the transaction that releases, restores or stages their catalogs.

The exports of a node are those of its catalog with its own values. A change of them begins a new generation of their type and queues the
announcement to its collectors, in the same transaction: so none is lost. Catalogs that export what their nodes export already change
nothing, and a release of catalogs without exports costs two look-ups.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from precast.catalog import unknown
from precast.catalog.exports import ExportedResource
from precast.services.work_kinds import COLLECT
from precast.store.code.environments import RELEASED
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.exports import resources, rounds
from precast.store.exports.resources import ExportRow
from precast.store.exports.rounds import Cause, TypeKey
from precast.store.nodes.nodes import Fleet
from precast.store.queue.queue import WorkQueue


class ExportPauses(NamedTuple):
    """How long an announcement waits for further changes, and how far two announcements of one type are apart.

    The distance doubles, up to `longest`, as long as each announcement is of several changes: a long release of many exporters.
    """

    wait: timedelta = timedelta(milliseconds=250)
    interval: timedelta = timedelta(seconds=1)
    longest: timedelta = timedelta(seconds=16)

    def due_at(self, now: datetime, announced_at: datetime, crowding: int) -> datetime:
        """When a change that is made now is announced."""
        return max(now + self.wait, announced_at + min(self.interval * (1 << min(crowding, 16)), self.longest))


class Publication(NamedTuple):
    """The catalog of a node whose exports are published. Without a skeleton the node exports nothing."""

    node: str
    environment: str
    skeleton: str | None
    fill: str


class ExportChanges(NamedTuple):
    """What a publication would change: rows as they are and as they would be. A row that only moves or changes is in both."""

    before: list[ExportRow]
    after: list[ExportRow]

    @property
    def nodes(self) -> set[str]:
        return {row.node for row in (*self.before, *self.after)}

    def by_type(self, state: str) -> dict[TypeKey, list[ExportRow]]:
        """The changed rows of each type, in their order."""
        rows: dict[TypeKey, list[ExportRow]] = {}
        for row in sorted((*self.before, *self.after), key=lambda row: row.key):
            rows.setdefault(TypeKey(row.environment, state, row.type), []).append(row)
        return rows


class ExportPublisher:
    """Holds no state between calls."""

    def __init__(self, database: Database, fleet: Fleet, work: WorkQueue, pauses: ExportPauses | None = None) -> None:
        self._database, self._fleet, self._work = database, fleet, work
        self._pauses = pauses or ExportPauses()

    def publish(
        self, publications: Sequence[Publication], state: str = RELEASED, causes: Mapping[str, Cause] | None = None
    ) -> Transaction[None]:
        """Let these nodes export what their catalogs say. `causes` names exports of other nodes that led to a catalog.

        Callers have locked the rows of the nodes. A deactivated node exports nothing.
        """
        if not (yield from self._is_concerned(publications, state)):
            return
        yield from rounds.lock()
        active = yield from self._fleet.filter_known([each.node for each in publications], False)
        known = [each if each.node in active else each._replace(skeleton=None) for each in publications]
        yield from self._apply((yield from compare(known, state)), state, causes or {})

    def withdraw(self, nodes: Iterable[str]) -> Transaction[None]:
        """Let these nodes export nothing."""
        publications = [Publication(node, "", None, "[]") for node in nodes]
        for state in resources.STATES:
            yield from self.publish(publications, state)

    def delete_node(self, node: str) -> Transaction[None]:
        """Delete what is stored about a node that is being purged."""
        yield from self.withdraw([node])
        yield from rounds.forget_node(node)

    def _is_concerned(self, publications: Sequence[Publication], state: str) -> Transaction[bool]:
        """Whether one of these nodes exports something, or will."""
        if (yield from resources.find_of_catalogs({each.skeleton for each in publications if each.skeleton})):
            return True
        return bool((yield from resources.find_of_nodes((each.node for each in publications), state)))

    def _apply(self, changes: ExportChanges, state: str, causes: Mapping[str, Cause]) -> Transaction[None]:
        if not changes.nodes:
            return
        kept = {row.key for row in changes.after}
        yield from resources.replace(state, (row for row in changes.before if row.key not in kept), changes.after)
        for node in sorted(changes.nodes & causes.keys()):
            yield from rounds.put_cause(node, state, causes[node])
        yield from rounds.delete_causes(changes.nodes - causes.keys(), state)
        for key, rows in sorted(changes.by_type(state).items()):
            yield from self._begin_round(key, rows, causes)

    def _begin_round(self, key: TypeKey, rows: Sequence[ExportRow], causes: Mapping[str, Cause]) -> Transaction[None]:
        """Begin the next generation of a type, and queue its announcement."""
        row = max(rows, key=lambda row: causes[row.node].round if row.node in causes else 0)
        round_ = causes[row.node].round + 1 if row.node in causes else 1
        announced = yield from rounds.change(key, round_, row.node, decode_export(row.body).title)
        due_at = self._pauses.due_at(self._database.clock.now(), *announced)
        yield from self._work.enqueue_item(COLLECT.name, encode_key(key), b"", due_at=due_at)


def compare(publications: Sequence[Publication], state: str) -> Transaction[ExportChanges]:
    """What these publications would change. Changes nothing."""
    templates = yield from resources.find_of_catalogs({each.skeleton for each in publications if each.skeleton})
    stored = {row.key: row for row in (yield from resources.find_of_nodes((each.node for each in publications), state))}
    wanted = {row.key: row for each in publications for row in _fill(each, templates.get(each.skeleton or "", ()))}
    return ExportChanges(
        [row for key, row in stored.items() if wanted.get(key) != row],
        [row for key, row in wanted.items() if stored.get(key) != row],
    )


def encode_key(key: TypeKey) -> str:
    """The key of the item that announces a type: neither a type nor an environment contains a blank."""
    return " ".join(key)


def decode_key(text: str) -> TypeKey:
    return TypeKey(*text.split(" "))


def decode_export(body: bytes) -> ExportedResource:
    return _decoder.decode(body)


_decoder = msgspec.json.Decoder(ExportedResource)


def _fill(publication: Publication, templates: Sequence[ExportedResource]) -> Iterable[ExportRow]:
    """The exports of a catalog with the values of its node."""
    if not templates:
        return
    values = {tuple(hole): value for hole, value in msgspec.json.decode(publication.fill)}
    for template in templates:
        parameters: dict[str, Any] = unknown.fill(template.parameters, lambda root, path: values[root, *path])
        export = msgspec.structs.replace(template, node=publication.node, parameters=parameters)
        yield resources.make_row(publication.environment, export)
