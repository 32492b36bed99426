"""promise: a value that this node publishes for other nodes. It is published after the resources that it requires have succeeded."""

from collections.abc import Sequence
from typing import ClassVar

from precast.resources import issues
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State
from precast.resources.properties import ABSENT, make_change


class Promise(Handler):
    touches_node: ClassVar[bool] = False

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self._key = str(resource.get("key", resource.title))
        if "value" not in resource.parameters:
            raise issues.MISSING_VALUE.error(name="value", reason="a promise gives one", type="promise")
        if "value" in resource.secrets:
            raise issues.BAD_VALUE.error(
                name="value", value="a Sensitive", wanted="a promise is read by others", type="promise"
            )

    def read(self) -> State:
        return {"value": self.node.promised(self._key, ABSENT)}

    def compare(self, state: State) -> Sequence[Change]:
        value = self.resource.get("value")
        return () if state["value"] == value else (make_change("value", state["value"], value),)

    def apply(self, change: Change) -> None:
        self.node.promise(self._key, change.desired)
