"""A site of nodes that export and collect, for tests and benchmarks: the services of one server, and what its collectors see."""

from typing import Any

import msgspec

from lab.compile_services import CompileServices
from precast.base.clock import ManualClock, SystemClock
from precast.base.ids import TimeOrderedIds
from precast.services.exports.nodes import NodeExports
from precast.services.exports.settings import ExportSettings
from precast.services.work_kinds import DECIDE
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import NodeCertificates
from precast.store.nodes.nodes import NodeClassification
from precast.wire.catalogs.bodies import ReleaseBody, RollbackBody
from precast.wire.nodes.bodies import TargetsBody

ANN = "person:ann"
EVERYONE = TargetsBody(all=True)
# Web nodes export a notify, and monitors collect all of them.
CODE = """
if $facts['role'] == 'web' {
  @@notify { "web ${facts['networking']['hostname']}": message => "at ${facts['networking']['ip']}", tag => 'web' }
}
if $facts['role'] == 'monitor' {
  Notify <<| tag == 'web' |>>
}
"""


class ExportSite(CompileServices):
    """Nodes with a role and an address. Every operation settles only when it is told to."""

    async def join(self, name: str, role: str, ip: str = "10.0.0.1", **facts: Any) -> None:
        """Create a node, or change its facts."""
        if isinstance(self.database.clock, ManualClock):
            self.database.clock.advance(60)  # facts that change at once again lead to a decision later
        await self.introduce(name)
        await self.submit(name, {"role": role, "networking": {"hostname": name, "ip": ip}, **facts}, {})

    async def release(self, *names: str) -> None:
        await self.releases.release(ReleaseBody(TargetsBody(list(names)) if names else EVERYONE), ANN)

    async def roll_back(self, *names: str) -> None:
        await self.releases.rollback(RollbackBody(TargetsBody(list(names))), ANN)

    async def move(self, name: str, environment: str) -> None:
        await self.database.write(self._classify, name, environment)

    async def set_exports(self, environment: str, exports: str) -> None:
        audit = AuditLog(self.database, TimeOrderedIds(SystemClock()))
        await ExportSettings(self.database, self.environments, self.work, audit).set(environment, exports, ANN)

    async def release_automatically(self) -> None:
        await self.database.write(self.environments.set_policy, "production", "automatic")

    async def deactivate(self, name: str) -> None:
        await self.database.write(self._deactivate, name)

    async def reactivate(self, name: str) -> None:
        await self.database.write(self._reactivate, name)

    async def collected(self, node: str, type_name: str = "Notify", parameter: str = "message") -> dict[str, Any]:
        """The resources of a type in the staged catalog of a node that it applies, each with one parameter."""
        staged = await self.staged(node)
        assert staged.skeleton is not None, "it compiles"
        body = msgspec.json.decode(await self.skeletons.fill(staged.skeleton, staged.fill))
        return {
            resource["title"]: resource["parameters"].get(parameter)
            for resource in body["resources"]
            if resource["type"] == type_name and not resource.get("virtual")
        }

    @property
    def _node_exports(self) -> NodeExports:
        return NodeExports(self.publisher, self.catalogs.released)

    def _classify(self, name: str, environment: str) -> Transaction[None]:
        yield from self.fleet.set_classification(name, NodeClassification(environment, None, True, {}, {}))
        yield from self.work.enqueue_item(DECIDE.name, name, b"")

    def _deactivate(self, name: str) -> Transaction[None]:
        yield from self.fleet.deactivate(name)
        yield from self._node_exports.withdraw(name)

    def _reactivate(self, name: str) -> Transaction[None]:
        yield from NodeCertificates(self.database).reactivate(name)
        yield from self._node_exports.restore(name)
