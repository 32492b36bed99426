"""What stored catalogs promise and need: it decides which node may promise and which may read a key.

The rows are written in the transaction that stores a catalog. A node names the catalog that it applies by digest, and only a catalog that
is served to it, or that a job pinned for it, counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from precast.catalog.futures import STANDING
from precast.store.engine.query import Query, Transaction, batch, insert, json_list
from precast.store.futures.job_promises import AttemptName, find_picked_up

ADD = insert(
    "catalogs.add_futures",
    "catalog_future",
    "document text, role text, key text, scope text",
    "ON CONFLICT (document, role, key) DO NOTHING",
)
OF_PINNED = batch(
    "catalogs.of_pinned",
    "node text, digest text, job text",
    """
    SELECT input.node, input.digest, named.environment, named.skeleton FROM input CROSS JOIN node_release AS named
    WHERE named.node = input.node AND named.digest = input.digest
        AND EXISTS (SELECT 1 FROM catalog_future WHERE document = named.skeleton)
    UNION
    SELECT input.node, input.digest, held.environment, held.skeleton FROM input CROSS JOIN entry_hold AS held
    WHERE held.job = input.job AND held.node = input.node AND held.digest = input.digest
        AND EXISTS (SELECT 1 FROM catalog_future WHERE document = held.skeleton)
    """,
)
HAS_ANY = Query("catalogs.has_catalogs", "SELECT 1 WHERE EXISTS (SELECT 1 FROM catalog_future)")
NEEDS = Query(
    "catalogs.needs", "SELECT key FROM catalog_future WHERE document = :digest AND role = 'need' ORDER BY key"
)
PROMISE_ACCESS = batch(
    "catalogs.promise_access",
    "place number, node text, digest text, key text, job text",
    """
    -- The catalog that the node is served promises the key, and the one that it names was released to it; or a job pinned that one.
    SELECT input.place, served.environment, promised.scope, 'catalog'
    FROM input CROSS JOIN node_release AS served JOIN catalog_future AS promised
        ON promised.document = served.skeleton AND promised.role = 'promise' AND promised.key = input.key
    WHERE served.node = input.node AND served.number = (SELECT max(number) FROM node_release WHERE node = input.node)
        AND EXISTS (SELECT 1 FROM node_release AS named WHERE named.node = input.node AND named.digest = input.digest)
    UNION ALL
    SELECT input.place, held.environment, promised.scope, 'entry'
    FROM input CROSS JOIN entry_hold AS held JOIN catalog_future AS promised
        ON promised.document = held.skeleton AND promised.role = 'promise' AND promised.key = input.key
    WHERE held.job = input.job AND held.node = input.node AND held.digest = input.digest
    """,
)
NEED_ACCESS = batch(
    "catalogs.need_access",
    "place number, node text, digest text, job text, picked_at int",
    """
    -- The catalog is served to the node, or was when the node began an attempt; or the job of the attempt pinned it.
    SELECT input.place, released.skeleton, released.environment FROM input CROSS JOIN node_release AS released
    WHERE released.node = input.node AND released.digest = input.digest AND NOT EXISTS (
        SELECT 1 FROM node_release AS later WHERE later.node = released.node AND later.number > released.number
            AND (input.picked_at IS NULL OR later.released_at < input.picked_at)
    )
    UNION ALL
    SELECT input.place, held.skeleton, held.environment FROM input CROSS JOIN entry_hold AS held
    WHERE held.job = input.job AND held.node = input.node AND held.digest = input.digest
    """,
)
STILL_PROMISED = batch(
    "catalogs.still_promised",
    "environment text, key text, node text",
    """
    SELECT input.environment, input.key, input.node FROM input CROSS JOIN node_release AS served
    JOIN catalog_future AS promised ON promised.document = served.skeleton AND promised.role = 'promise'
        AND promised.scope = 'environment' AND promised.key = input.key
    WHERE served.node = input.node AND served.environment = input.environment
        AND served.number = (SELECT max(number) FROM node_release WHERE node = input.node)
    """,
)
OF_SERVED = Query(
    "catalogs.of_served",
    """
    SELECT released.node, released.environment, released.skeleton FROM node_release AS released
    WHERE released.node IN (SELECT value FROM json_each(:nodes))
        AND released.number = (SELECT max(number) FROM node_release WHERE node = released.node)
        AND EXISTS (SELECT 1 FROM catalog_future WHERE document = released.skeleton)
    """,
    postgresql="""
    SELECT released.node, released.environment, released.skeleton FROM node_release AS released
    WHERE released.node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
        AND released.number = (SELECT max(number) FROM node_release WHERE node = released.node)
        AND EXISTS (SELECT 1 FROM catalog_future WHERE document = released.skeleton)
    """,
)
OF_STAGED = Query(
    "catalogs.of_staged",
    """
    SELECT staged.node, staged.environment, staged.skeleton FROM node_catalog AS staged
    WHERE staged.node IN (SELECT value FROM json_each(:nodes))
        AND EXISTS (SELECT 1 FROM catalog_future WHERE document = staged.skeleton)
    """,
    postgresql="""
    SELECT staged.node, staged.environment, staged.skeleton FROM node_catalog AS staged
    WHERE staged.node = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:nodes AS JSONB))))
        AND EXISTS (SELECT 1 FROM catalog_future WHERE document = staged.skeleton)
    """,
)
PROMISES = Query(
    "catalogs.promises_of",
    """
    SELECT document, key FROM catalog_future
    WHERE role = 'promise' AND document IN (SELECT value FROM json_each(:documents)) ORDER BY document, key
    """,
    postgresql="""
    SELECT document, key FROM catalog_future
    WHERE role = 'promise' AND document = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:documents AS JSONB))))
    ORDER BY document, key
    """,
)


KEYS = Query(
    "catalogs.keys",
    """
    SELECT document, role, key FROM catalog_future
    WHERE document IN (SELECT value FROM json_each(:documents)) ORDER BY document, role, key
    """,
    postgresql="""
    SELECT document, role, key FROM catalog_future
    WHERE document = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:documents AS JSONB)))) ORDER BY document, role, key
    """,
)


class PromiseClaim(NamedTuple):
    """A node says that a catalog has it promise a key, as part of a job if that is not empty."""

    node: str
    digest: str
    key: str
    job: str


class PromiseRight(NamedTuple):
    """The right to promise a key: in which environment, with which scope, by a released catalog or one of an entry point."""

    environment: str
    scope: str
    source: str

    @property
    def is_standing(self) -> bool:
        return self.scope == STANDING


class NeedClaim(NamedTuple):
    """A node says that it has, or applies as part of an attempt, this catalog. Outside of jobs the job is empty."""

    node: str
    digest: str
    job: str = ""
    task: int = 0
    n: int = 0


class NeedRight(NamedTuple):
    """The right to read the keys that a stored catalog needs."""

    document: str
    environment: str


class NodeCatalog(NamedTuple):
    """The catalog with futures that a node will apply."""

    node: str
    environment: str
    document: str


def add_catalog_futures(document: str, promises: Mapping[str, str], needs: Iterable[str]) -> Transaction[None]:
    """Store what a stored catalog promises, keys with their scopes, and needs."""
    rows = [(document, "promise", key, scope) for key, scope in sorted(promises.items())]
    rows += [(document, "need", key, "") for key in sorted(set(needs))]
    if rows:
        yield ADD.many_tuples(rows)


def list_needs(document: str) -> Transaction[list[str]]:
    """The keys that a stored catalog needs."""
    return [key for (key,) in (yield NEEDS(digest=document))]


def find_promise_rights(claims: Sequence[PromiseClaim]) -> Transaction[list[PromiseRight | None]]:
    """The right of each claim; None if there is none. A catalog that a job pinned goes before a released one."""
    rights: list[PromiseRight | None] = [None] * len(claims)
    for place, *right in (yield PROMISE_ACCESS.many_tuples([(place, *claim) for place, claim in enumerate(claims)])):
        if rights[place] is None or right[-1] == "entry":
            rights[place] = PromiseRight(*right)
    return rights


def find_need_rights(claims: Sequence[NeedClaim]) -> Transaction[list[NeedRight | None]]:
    """The right of each claim; None if there is none."""
    rights: list[NeedRight | None] = [None] * len(claims)
    names = {AttemptName(claim.job, claim.task, claim.node, claim.n) for claim in claims if claim.job}
    picked = (yield from find_picked_up(names)) if names else {}
    rows: list[tuple[object, ...]] = []
    for place, claim in enumerate(claims):
        name = AttemptName(claim.job, claim.task, claim.node, claim.n)
        if not claim.job or name in picked:
            rows.append((place, claim.node, claim.digest, claim.job, picked.get(name)))
    for place, *right in (yield NEED_ACCESS.many_tuples(rows)) if rows else ():
        rights[place] = NeedRight(*right)
    return rights


def filter_promised(values: Sequence[tuple[str, str, str]]) -> Transaction[set[tuple[str, str, str]]]:
    """Those of the values, by environment, key and node, that the catalog promises which the node is served in that environment."""
    return {tuple(row) for row in (yield STILL_PROMISED.many_tuples(values))} if values else set()


def list_catalogs(nodes: Sequence[str], *, staged: bool = False) -> Transaction[list[NodeCatalog]]:
    """The served catalogs of these nodes, or the staged ones, that promise or need something."""
    if not (yield HAS_ANY()):
        return []
    query = OF_STAGED if staged else OF_SERVED
    return [NodeCatalog(*row) for row in (yield query(nodes=json_list(nodes)))]


def list_pinned(job: str, catalogs: Sequence[tuple[str, str]]) -> Transaction[dict[tuple[str, str], NodeCatalog]]:
    """Those of the catalogs, by node and digest, that promise or need something: released ones, and those that a job pins."""
    if not catalogs or not (yield HAS_ANY()):
        return {}
    rows = yield OF_PINNED.many_tuples([(node, digest, job) for node, digest in sorted(set(catalogs))])
    return {(node, digest): NodeCatalog(node, environment, document) for node, digest, environment, document in rows}


def list_promises(documents: Iterable[str]) -> Transaction[dict[str, list[str]]]:
    """The keys that stored catalogs promise, by document."""
    found: dict[str, list[str]] = {}
    for document, key in (yield PROMISES(documents=json_list(sorted(set(documents))))):
        found.setdefault(document, []).append(key)
    return found


class CatalogKeys(NamedTuple):
    """The keys that a stored catalog promises and needs."""

    promises: list[str]
    needs: list[str]


def find_keys(documents: Iterable[str]) -> Transaction[dict[str, CatalogKeys]]:
    """The keys of stored catalogs, by document; those without any are left out."""
    found: dict[str, CatalogKeys] = {}
    for document, role, key in (yield KEYS(documents=json_list(sorted(set(documents))))):
        keys = found.setdefault(document, CatalogKeys([], []))
        (keys.promises if role == "promise" else keys.needs).append(key)
    return found
