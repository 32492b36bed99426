"""What decisions about nodes do with exports: record what was collected, publish what is staged, and hold back endless loops."""

from collections.abc import Iterable, Mapping, Sequence

from precast.services.exports.answers import ExportAnswers, ExportReads
from precast.services.exports.collecting import ExportRounds
from precast.services.exports.loops import ExportLoops
from precast.services.exports.publishing import ExportPublisher, Publication
from precast.store.catalogs.released import SERVED_LOOKUP
from precast.store.catalogs.staged import CatalogChange, StagedCatalog
from precast.store.code.environments import RELEASED, STAGED, Environments
from precast.store.engine.query import Transaction
from precast.store.exports import resources, rounds
from precast.store.exports.rounds import Cause


class DecisionExports:
    """Holds no state between calls."""

    def __init__(
        self,
        environments: Environments,
        answers: ExportAnswers,
        collecting: ExportRounds,
        loops: ExportLoops,
        publisher: ExportPublisher,
    ) -> None:
        self.answers = answers
        self._environments = environments
        self._collecting, self._loops, self._publisher = collecting, loops, publisher

    def record(self, reads: Iterable[ExportReads], nodes: Sequence[str]) -> Transaction[list[str]]:
        """Record what these nodes collect; returns those that must be decided upon again."""
        return (yield from self._collecting.record(reads, nodes))

    def follow(
        self, staged: Sequence[StagedCatalog], changes: Sequence[CatalogChange]
    ) -> Transaction[Mapping[str, Cause]]:
        """Publish staged catalogs where collectors see them before their release; returns the exports that led to changed catalogs."""
        causes = yield from self._loops.find_causes(changes)
        if changes:
            yield from rounds.resume(change.node for change in changes)
        yield from self._move(staged)
        settings = {}
        for name in sorted({catalog.environment for catalog in staged}):
            environment = yield from self._environments.find(name)
            settings[name] = environment.exports if environment is not None else RELEASED
        publications = [
            publication_of(catalog)
            if settings[catalog.environment] == STAGED
            else Publication(catalog.node, catalog.environment, None, catalog.fill)
            for catalog in staged
            if catalog.skeleton is not None
        ]
        held = yield from self._loops.hold_back(publications, causes, STAGED)
        yield from self._publisher.publish([each for each in publications if each.node not in held], STAGED, causes)
        return causes

    def _move(self, staged: Sequence[StagedCatalog]) -> Transaction[None]:
        """Move the exports of nodes that get the same catalog in another environment: it is not released again."""
        exporting = yield from resources.find_environments((catalog.node for catalog in staged), RELEASED)
        moved = [
            catalog for catalog in staged if exporting.get(catalog.node, catalog.environment) != catalog.environment
        ]
        served = (yield from SERVED_LOOKUP.find_each([catalog.node for catalog in moved])) if moved else []
        served_digests = {release.node: release.digest for release in served if release is not None}
        same = [catalog for catalog in moved if served_digests.get(catalog.node) == catalog.digest]
        yield from self._publisher.publish([publication_of(catalog) for catalog in same])

    def hold_back(self, fresh: Sequence[StagedCatalog], causes: Mapping[str, Cause]) -> Transaction[set[str]]:
        """The nodes whose catalogs are not released by themselves, because they are part of a loop of exports."""
        return (yield from self._loops.hold_back([publication_of(catalog) for catalog in fresh], causes, RELEASED))


def publication_of(catalog: StagedCatalog) -> Publication:
    """The publication of a staged catalog."""
    return Publication(catalog.node, catalog.environment, catalog.skeleton, catalog.fill)
