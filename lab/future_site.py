"""A server's job engine with futures, nodes whose released catalogs promise and need keys, and a recorder of what nodes are sent."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from lab.compile_services import KeyInMemory
from lab.future_catalogs import release_body
from lab.job_engine import JobEngine
from precast.base import canonical
from precast.base.ids import TimeOrderedIds
from precast.catalog.body import Body, ResourceData
from precast.services.futures.records import FutureRecord, FutureRecords, prepare_promised
from precast.services.futures.sealing import FutureSeals
from precast.services.futures.service import FutureService
from precast.services.futures.subscriptions import FutureHub
from precast.services.identity.signer.client import SignerClient
from precast.services.secrets.keyring import Keyring
from precast.store.engine.database import Database
from precast.store.identity.audit import AuditLog
from precast.store.secrets.keys import SecretKeys
from precast.wire.futures import Promised
from precast.wire.jobs.order_ids import make_order_id
from precast.wire.sessions import KeyValue, Message, Subscribe, Values

REPORT = "r1"
_NO_REPORT = "00000000-0000-0000-0000-000000000001"


def make_body(promises: Mapping[str, str], needs: Sequence[str]) -> Body:
    """A catalog with these promises, keys with their scopes, and these needs."""
    resources = [
        ResourceData("Promise", key, {"value": "x", "scope": scope}, ()) for key, scope in sorted(promises.items())
    ]
    resources += [
        ResourceData("Notify", key, {"message": {"__ptype": "Precast::Future", "__pvalue": key}}, ())
        for key in sorted(needs)
    ]
    return Body(tuple(resources), (), (), (), {})


class Recorder:
    """The connection of a node, as far as values are concerned."""

    def __init__(self, name: str) -> None:
        self.name, self.messages = name, list[Values]()
        self.reads = asyncio.Event()
        self.reads.set()
        self.arrived = asyncio.Event()

    def send_now(self, message: Message) -> bool:
        if not self.reads.is_set():
            return False
        assert isinstance(message, Values)
        self.messages.append(message)
        self.arrived.set()
        return True

    async def send(self, message: Message) -> None:
        await self.reads.wait()
        self.send_now(message)

    @property
    def values(self) -> dict[tuple[str, str], KeyValue]:
        """The newest state of each key and node, as the node keeps it."""
        found: dict[tuple[str, str], KeyValue] = {}
        for message in self.messages:
            for value in message.values:
                known = found.get((value.key, value.node))
                if known is None or known.number < value.number:
                    found[value.key, value.node] = value
        return found

    def shown(self) -> dict[str, Any]:
        """The values by `key@node`; for what has none its state and reason."""
        return {f"{key}@{node}": show(value) for (key, node), value in sorted(self.values.items())}

    async def until(self, expected: Mapping[str, Any], seconds: float = 10.0) -> None:
        """Wait until the node has been sent this."""
        async with asyncio.timeout(seconds):
            while self.shown() != expected:
                self.arrived.clear()
                await self.arrived.wait()


def show(value: KeyValue) -> Any:
    if value.state != "fulfilled":
        return value.state if not value.reason else f"{value.state}: {value.reason}"
    return None if value.value is msgspec.UNSET else msgspec.json.decode(value.value)


class FutureSite(JobEngine):
    """One server with futures. `hub.run` is started by the test that needs it."""

    def __init__(self, database: Database, signer: SignerClient, name: str = "s1", **more: Any) -> None:
        super().__init__(database, signer, name, **more)
        self.keyring = Keyring(database, SecretKeys(database), KeyInMemory())
        self.seals = FutureSeals(self.keyring)
        self.hub = FutureHub(database, self.seals)
        audit = AuditLog(database, TimeOrderedIds(database.clock))
        self.futures = FutureRecords(database.clock, self.seals, audit, self.attempts)
        self.values = FutureService(database, self.seals, audit)
        self.digests: dict[str, str] = {}

    async def open(self) -> None:
        await self.keyring.open()

    async def release(
        self,
        node: str,
        promises: Mapping[str, str] | Sequence[str] = (),
        needs: Sequence[str] = (),
        environment: str = "production",
    ) -> str:
        """Release a catalog to a node; returns its digest."""
        scopes = dict(promises) if isinstance(promises, Mapping) else dict.fromkeys(promises, "environment")
        return await self.release_body(node, make_body(scopes, needs), environment)

    async def release_body(self, node: str, body: Body, environment: str = "production") -> str:
        """Release this catalog to a node; returns its digest."""
        self.digests[node] = await self.database.write(release_body, self.database, node, body, environment)
        return self.digests[node]

    async def say(self, *records: tuple[str, FutureRecord]) -> None:
        """Nodes send records, which are stored together."""
        await self.database.write(self.futures.store, records)

    async def promise(self, node: str, key: str, value: Any, **more: Any) -> None:
        await self.say((node, self.promised(node, key, value, **more)))

    def promised(
        self,
        node: str,
        key: str,
        value: Any,
        *,
        job: str = "",
        n: int = 1,
        fence: int = 1,
        instance: str = "store",
        catalog: str = "",
        is_sensitive: bool = False,
        ttl_s: float | None = None,
    ) -> FutureRecord:
        order = make_order_id(job, 1, n) if job else ""
        said = Promised(
            *(_NO_REPORT, catalog or self.digests[node], key, msgspec.Raw(canonical.encode(value)), fence),
            *(self.database.clock.now(), instance, order, is_sensitive, ttl_s),
        )
        return prepare_promised(node, said)

    async def subscribe(self, node: str, job: str = "", n: int = 1, catalog: str = "") -> Recorder:
        recorder = Recorder(node)
        order = make_order_id(job, 1, n) if job else ""
        await self.hub.subscribe(recorder, Subscribe(catalog or self.digests[node], order))
        return recorder

    async def standing(self, environment: str = "production") -> dict[str, Any]:
        """The standing values by `key@node`."""
        return {f"{row.key}@{row.node}": row.value for row in await self.values.list_page(environment, ("", ""))}

    async def refusals(self) -> list[str]:
        """Why nodes were refused, the newest first."""
        return [entry.detail["why"] for entry in await self.audit.read_latest() if entry.action == "future.refuse"]
