"""promise: a value that this node gives to others. It is published in its turn, so once what it requires has succeeded."""

from collections.abc import Sequence
from typing import ClassVar

from precast.resources import issues
from precast.resources.contract import Change, Handler, Node, State, Wanted
from precast.resources.properties import ABSENT, changed


class Promise(Handler):
    touches_node: ClassVar[bool] = False

    def __init__(self, wanted: Wanted, node: Node) -> None:
        super().__init__(wanted, node)
        self._key = str(wanted.get("key", wanted.title))
        if "value" not in wanted.parameters:
            raise issues.MISSING_VALUE.error(name="value", reason="a promise gives one", type="promise")
        if "value" in wanted.secrets:
            raise issues.BAD_VALUE.error(
                name="value", value="a Sensitive", wanted="a promise is read by others", type="promise"
            )

    def read(self) -> State:
        return {"value": self.node.promised(self._key, ABSENT)}

    def compare(self, state: State) -> Sequence[Change]:
        value = self.wanted.get("value")
        return () if state["value"] == value else (changed("value", state["value"], value),)

    def apply(self, change: Change) -> None:
        self.node.promise(self._key, change.desired)
