"""sysctl_runtime: the value that a kernel parameter has now, read and set with the system's own program."""

from collections.abc import Sequence
from typing import Any, ClassVar

from precast.resources import issues, issues_modules, issues_system, properties
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State


class SysctlRuntime(Handler):
    locks: ClassVar[tuple[str, ...]] = ("sysctl",)
    invalidates: ClassVar[tuple[str, ...] | None] = ()

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        if node.root:
            raise issues.NOT_UNDER_ROOT.error(type="sysctl_runtime", root=node.root)
        self.name = str(resource.get("name", resource.title))
        properties.refuse_option(resource, self.name)
        value: Any = resource.get("val")
        self._desired = None if value is None else str(value)

    @property
    def is_slow_to_read(self) -> bool:
        return True

    def read(self) -> State:
        result = self.node.run(["sysctl", "-n", self.name], is_split=True)
        if not result.is_success:
            raise issues_modules.NO_KERNEL_PARAMETER.error(name=self.name)
        return {"val": result.output.split("\n")[0]}

    def compare(self, state: State) -> Sequence[Change]:
        if self._desired is None or state["val"] == self._desired:
            return ()
        return (properties.make_change("val", state["val"], self._desired),)

    def apply(self, change: Change) -> None:
        argv = ["sysctl", f"{self.name}={self._desired}"]
        result = self.node.run(argv)
        if not result.is_success:
            output = "[output redacted]" if self.hidden_properties else " ".join(result.output.split())
            raise issues_system.COMMAND_FAILED.error(
                command=f"sysctl {self.name}=…", code=result.exit_code, output=output
            )
