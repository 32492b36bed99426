"""Who promises and who needs a key, by the catalogs that nodes are served, and which open jobs are concerned: for people who ask why."""

from typing import NamedTuple

from precast.store.engine.query import Query, Transaction

NODES = Query(
    "catalogs.nodes_of_key",
    """
    SELECT named.role, served.node FROM catalog_future AS named JOIN node_release AS served ON served.skeleton = named.document
    WHERE named.key = :key AND served.environment = :environment
        AND served.number = (SELECT max(number) FROM node_release WHERE node = served.node)
    ORDER BY named.role DESC, served.node LIMIT :limit
    """,
)
JOBS = Query(
    "jobs.of_key",
    """
    SELECT id FROM job WHERE ended_at IS NULL AND (
        EXISTS (SELECT 1 FROM job_promise AS p WHERE p.job = job.id AND p.key = :key AND p.environment = :environment)
        OR environment = :environment
            AND EXISTS (SELECT 1 FROM future_wait AS w WHERE w.job = job.id AND w.key = :key)
    ) ORDER BY id DESC LIMIT :limit
    """,
)
COUNTS = Query("jobs.count_future_waits", "SELECT count(*) FROM future_wait")


class KeyUsers(NamedTuple):
    """The nodes that promise and that need a key, and the newest open jobs that are concerned."""

    promising: list[str]
    needing: list[str]
    jobs: list[str]


def find_users(environment: str, key: str, nodes: int, jobs: int) -> Transaction[KeyUsers]:
    """At most so many nodes and jobs."""
    rows = yield NODES(environment=environment, key=key, limit=nodes)
    concerned = yield JOBS(environment=environment, key=key, limit=jobs)
    return KeyUsers(
        [node for role, node in rows if role == "promise"],
        [node for role, node in rows if role == "need"],
        [job for (job,) in concerned],
    )


def count_waits() -> Transaction[int]:
    """How many resources wait now, in all jobs."""
    ((count,),) = yield COUNTS()
    return int(count)
