"""Shows what a node's catalog is compiled with, for a person who compiles for that node elsewhere."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from precast.services.compile.inputs import NodeInput, NodeInputs, node_data
from precast.services.facts.issues import NO_FACTS
from precast.services.issues import NO_SUCH_NODE
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.wire.catalogs.bodies import CompileInputsView
from precast.wire.identity.names import is_name


class CompileInputViews:
    """Holds no state between calls. `read_server_facts` may wait for a name to be resolved."""

    def __init__(
        self, database: Database, inputs: NodeInputs, read_server_facts: Callable[[], Mapping[str, Any]]
    ) -> None:
        self._database, self._inputs, self._read_server_facts = database, inputs, read_server_facts

    async def show(self, node: str) -> CompileInputsView:
        """The inputs of a node's next compile. Raises NotFoundError NODE-001 and FACTS-002."""
        found = await self._database.read(self._find, node) if is_name(node) else None
        if found is None:
            raise NO_SUCH_NODE.error(node=node[:80])
        if found.facts_digest is None:
            raise NO_FACTS.error(node=node)
        data = node_data(found)
        return CompileInputsView(
            node,
            found.environment,
            found.version,
            data.facts,
            data.trusted,
            data.classes,
            data.parameters,
            dict(await asyncio.to_thread(self._read_server_facts)),
        )

    def _find(self, node: str) -> Transaction[NodeInput | None]:
        node_inputs = yield from self._inputs.read([node], also_without_code=True)
        return node_inputs[0] if node_inputs else None
