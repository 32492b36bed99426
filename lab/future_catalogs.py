"""Catalogs that promise and need keys, released to nodes without a compile."""

from collections.abc import Sequence

from precast.catalog.body import Body, ResourceData
from precast.catalog.futures import list_needs, list_promises
from precast.store.catalogs.catalogs import Catalogs
from precast.store.catalogs.release_log import NewLogEntry
from precast.store.catalogs.released import Release
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.futures.catalog_futures import add_catalog_futures
from precast.store.futures.standing_values import delete_unpromised


def wait_then_promise(needed: str, promised: str, tags: Sequence[str] = ()) -> Body:
    """A catalog that promises one key after it has got another."""
    future = {"__ptype": "Precast::Future", "__pvalue": needed}
    waiting = ResourceData("Notify", "waiting", {"message": future}, tuple(tags))
    promise = ResourceData("Promise", promised, {"value": "x", "require": "Notify[waiting]"}, tuple(tags))
    return Body((waiting, promise), (), (), (), {})


def release_body(database: Database, node: str, body: Body, environment: str = "production") -> Transaction[str]:
    """Release a catalog to a node; returns its digest."""
    catalogs, digest = Catalogs(database), body.digest()
    yield from catalogs.documents.store([(digest, body.encoded())])
    yield from add_catalog_futures(
        digest, {each.key: each.scope for each in list_promises(body)}, [each.need.key for each in list_needs(body)]
    )
    number = yield from catalogs.log.add(NewLogEntry("release", "person:ann", ""))
    now = database.clock.now()
    release = Release(node, 0, digest, digest, "{}", environment, "v1", now, "person:ann", number)
    yield from catalogs.released.release([release])
    yield from delete_unpromised([node])
    return digest
