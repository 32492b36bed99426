"""Releases the staged catalogs of nodes at their turn, for jobs that release and run.

The release is part of the transaction that gives the turn, so a node that gets its order is served the catalog that it means. A canary
therefore limits what is released, too. A node whose catalog cannot be released gets no turn.
"""

from collections.abc import Sequence

from precast.services.catalogs.release_guards import find_guards
from precast.services.catalogs.releases import ReleaseCause, Releases
from precast.services.catalogs.staged_selection import select_staged
from precast.services.jobs.requests import decode_request, explain
from precast.store.catalogs.catalogs import Catalogs
from precast.store.code.environments import Environments
from precast.store.engine.query import Transaction
from precast.store.jobs.jobs import JobRow


class JobReleases:
    """Holds no state between calls."""

    def __init__(self, catalogs: Catalogs, environments: Environments, releases: Releases) -> None:
        self._catalogs, self._environments, self._releases = catalogs, environments, releases

    def release(self, job: JobRow, nodes: Sequence[str]) -> Transaction[dict[str, str]]:
        """Release what is staged for nodes. Returns the nodes that cannot be released, with the reason."""
        yield from self._catalogs.staged.lock_chains(nodes)
        selection = yield from select_staged(self._catalogs, nodes, None)
        guards = yield from find_guards(self._environments, selection.fresh, selection.served)
        cause = ReleaseCause(job.made_by, explain(decode_request(job), job.made_by), point=f"job {job.id}")
        released = yield from self._releases.release_staged(
            [catalog for catalog in selection.fresh if catalog.node not in guards], cause
        )
        yield from self._releases.finish(released.number)
        guarded = {
            node: f"releases of {guard.environment} need the approval of {guard.needed} other people"
            for node, guard in guards.items()
        }
        return selection.left_out | guarded
