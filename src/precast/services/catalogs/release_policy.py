"""Releases catalogs by themselves where an environment's policy is automatic: a catalog that was compiled without error is served from
the transaction on that stages it.

The policy releases only a catalog that the decision has changed, none that replaces a catalog whose environment needs approvals, and none
that the node was rolled back from. So a rollback stays until there is a new catalog, also if facts or an error in the code lead to
the same catalog again, and turning the policy on releases nothing that an operator has held back. A catalog is stored
together with its references to the content it names, which keep that content from being deleted: no catalog can be staged, and so none
released, whose content is missing.
"""

from collections.abc import Mapping, Sequence

from precast.services.catalogs.release_guards import find_guards
from precast.services.catalogs.release_lines import is_rolled_back
from precast.services.catalogs.releases import ReleaseCause, Releases
from precast.services.catalogs.staged_selection import read_served
from precast.services.exports.decisions import DecisionExports
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.staged import StagedCatalog
from precast.store.code.environments import Environments
from precast.store.engine.query import Transaction
from precast.store.exports.rounds import Cause

AUTOMATIC = "automatic"
# Releases of a node that are searched for the one that was rolled back.
HISTORY = 1000


class ReleasePolicy:
    """Holds no state between calls."""

    def __init__(
        self, environments: Environments, catalogs: Catalogs, releases: Releases, exports: DecisionExports
    ) -> None:
        self._environments, self._catalogs = environments, catalogs
        self._releases, self._exports = releases, exports

    def follow(
        self, before: Mapping[str, StagedCatalog], staged: Sequence[StagedCatalog], causes: Mapping[str, Cause]
    ) -> Transaction[None]:
        """Release the catalogs that these decisions changed, as part of the transaction that stages them.

        `causes` names exports of other nodes that led to a catalog. One that is part of a loop of exports is held back in the end.
        """
        for name in sorted({catalog.environment for catalog in staged}):
            changed = [
                catalog
                for catalog in staged
                if catalog.environment == name and _is_changed(before.get(catalog.node), catalog)
            ]
            environment = (yield from self._environments.find(name)) if changed else None
            if environment is not None and environment.policy == AUTOMATIC:
                yield from self._release(name, changed, causes)

    def _release(
        self, environment: str, changed: Sequence[StagedCatalog], causes: Mapping[str, Cause]
    ) -> Transaction[None]:
        served = yield from read_served([catalog.node for catalog in changed])
        guards = yield from find_guards(self._environments, changed, served)
        fresh = [
            catalog
            for catalog in changed
            if catalog.node not in guards
            and (catalog.node not in served or served[catalog.node].digest != catalog.digest)
        ]
        held = yield from self._find_rolled_back(fresh)
        held |= yield from self._exports.hold_back(fresh, causes)
        cause = ReleaseCause(f"policy:{environment}", f"the policy of {environment} is automatic")
        released = yield from self._releases.release_staged(
            [catalog for catalog in fresh if catalog.node not in held], cause, causes
        )
        yield from self._releases.finish(released.number)

    def _find_rolled_back(self, fresh: Sequence[StagedCatalog]) -> Transaction[set[str]]:
        """The nodes that were rolled back from exactly this catalog."""
        digests = {catalog.node: catalog.digest or "" for catalog in fresh}
        known = (yield from self._catalogs.released.filter_released(digests.items())) if digests else set()
        held = set()
        for node in sorted(known):
            history = yield from self._catalogs.released.list_history(node, HISTORY)
            if is_rolled_back(history, digests[node]):
                held.add(node)
        return held


def _is_changed(before: StagedCatalog | None, now: StagedCatalog) -> bool:
    return now.digest is not None and (before is None or before.digest != now.digest)
