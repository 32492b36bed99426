"""Tells which nodes a release would let decide again, because they collect what its nodes export: for previews."""

from collections.abc import Sequence

from precast.services.exports.publishing import Publication, compare
from precast.store.code.environments import RELEASED
from precast.store.engine.query import Transaction
from precast.store.exports import rounds
from precast.store.exports.rounds import TypeKey
from precast.wire.exports import CollectorsView

NAMES_SHOWN = 20


class FollowingRound:
    """The types whose exports the releases of some pages of nodes would change."""

    def __init__(self) -> None:
        self._changed: set[TypeKey] = set()

    def add(self, publications: Sequence[Publication]) -> Transaction[None]:
        """Add a page of nodes. Changes nothing in the database."""
        changes = yield from compare(publications, RELEASED)
        self._changed.update(changes.by_type(RELEASED))

    def view(self) -> Transaction[list[CollectorsView]]:
        """Who collects these types, the type with the most collectors first."""
        if not self._changed:
            return []
        counts = yield from rounds.count_collectors()
        views = []
        for key in sorted(self._changed):
            count = counts.get(key, 0) + counts.get(key._replace(environment=""), 0)
            nodes = yield from rounds.list_collectors(key, "", NAMES_SHOWN)
            if count:
                views.append(CollectorsView(key.type, key.environment, count, nodes))
        return sorted(views, key=lambda view: -view.count)
