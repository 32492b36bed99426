"""Which environments the nodes of a job are in now: they may have moved since the job was created.

A token for some environments repeats nothing on nodes of others.
"""

from collections.abc import Sequence

from precast.services.jobs import issues
from precast.services.query.targets import TargetService
from precast.wire.nodes.bodies import TargetsBody

NAMES_AT_ONCE = 100


async def require_environments(targets: TargetService, nodes: Sequence[str], environments: Sequence[str]) -> None:
    """Raises DeniedError RUN-006 if a node is in none of these environments; without any, all are allowed."""
    for start in range(0, len(nodes) if environments else 0, NAMES_AT_ONCE):
        named = TargetsBody([",".join(nodes[start : start + NAMES_AT_ONCE])])
        page = await targets.resolve_page(named, may_be_gone=True)
        if any(row.environment not in environments for row in page.nodes):
            raise issues.OTHER_ENVIRONMENT.error()
