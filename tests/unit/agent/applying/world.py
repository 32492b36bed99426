"""A node made of cells, with types that read and write them, for tests of the engine.

Each type stands for a property of real types that matters to the engine: guards, recursion, refreshes, errors that depend on the state.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, cast

from precast.agent.applying.engine import Engine
from precast.agent.applying.machine import Machine
from precast.agent.applying.options import RunOptions
from precast.agent.applying.plan import PlannedResource, make_plan
from precast.agent.applying.purge import add_purged
from precast.agent.applying.resource_memory import ResourceMemory
from precast.agent.futures.run_values import RunValues
from precast.base.clock import Clock, ManualClock
from precast.catalog.body import DEFINED, Body, Edge, ResourceData
from precast.resources import registry
from precast.resources.bridge.bridge import Bridge
from precast.resources.contract import Change, DesiredResource, Handler, Instance, ManagedNode, State
from precast.wire.reports.events import ResourceReport


class World:
    """The cells, and the operations on them in their order."""

    def __init__(self, cells: Mapping[str, str] | None = None) -> None:
        self.cells = dict(cells or {})
        self.operations: list[str] = []
        self.lock = threading.Lock()
        self.provider = threading.Lock()
        self.meeting = threading.Barrier(2)

    def do(self, operation: str) -> None:
        with self.lock:
            self.operations.append(operation)


class WorldMachine(Machine):
    def __init__(self, world: World, clock: Clock, memory: ResourceMemory, values: RunValues) -> None:
        super().__init__("", str(Path("/nowhere")), clock, memory=memory, values=values)
        self.world = world

    @property
    def bridge(self) -> Bridge:
        """The bridge of a node without a Puppet."""
        if self._bridge is None:
            self._bridge = Bridge(self.state_directory, trusts_code=True, find=lambda: None)
        return self._bridge


class WorldHandler(Handler):
    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self.world = cast(WorldMachine, node).world
        if "broken" in resource.parameters:
            from precast.resources import issues

            raise issues.BAD_VALUE.error(name="broken", value="so", wanted="it must not be", type=resource.type)

    @property
    def is_slow_to_read(self) -> bool:
        return True

    def cell(self, name: str | None = None) -> str:
        return self.world.cells.get(name or self.resource.title, "absent")


class Cell(WorldHandler):
    """A cell with a value: given, or copied from another. Reading fails while the cell named in `fails_if` is set to bad."""

    can_be_purged: ClassVar[bool] = True

    def read(self) -> State:
        self.log("debug", f"{self.resource.title} is {self.cell()}")
        if "fails_if" in self.resource.parameters and self.cell(self.resource.get("fails_if")) == "bad":
            raise OSError(5, "cannot look")
        return {"value": self.cell()}

    def _should(self) -> str:
        if self.resource.get("ensure") == "absent":
            return "absent"
        source = self.resource.get("copies")
        return self.cell(source) if source else str(self.resource.get("value", "absent"))

    def compare(self, state: State) -> Sequence[Change]:
        should = self._should()
        if state["value"] == should:
            return ()
        return (Change("value", state["value"], should, f"value changed '{state['value']}' to '{should}'"),)

    def apply(self, change: Change) -> None:
        self.world.do(f"set {self.resource.title}={change.desired}")
        if self.resource.get("breaks"):
            raise OSError(28, "no room")
        self.world.cells[self.resource.title] = change.desired

    @classmethod
    def instances(cls, node: ManagedNode) -> list[Instance]:
        return [
            Instance(name, {"value": value}) for name, value in sorted(cast(WorldMachine, node).world.cells.items())
        ]


class Command(WorldHandler):
    """Like exec: guarded by a cell, sets cells; refreshes."""

    can_refresh: ClassVar[bool] = True

    @property
    def runs_user_commands(self) -> bool:
        return "guard" in self.resource.parameters

    def read(self) -> State:
        if self.resource.get("refreshonly"):
            return {"returns": "0"}
        guard = self.resource.get("guard")
        if guard is None:
            return {"returns": "notrun"}
        self.world.do(f"guard {self.resource.title}: {guard} is {self.cell(guard)}")
        return {"returns": "notrun" if self.cell(guard) != self.resource.get("unless", "absent") else "0"}

    def compare(self, state: State) -> Sequence[Change]:
        return (Change("returns", "notrun", ["0"], "executed"),) if state["returns"] == "notrun" else ()

    def _execute(self, why: str) -> None:
        self.world.do(f"{why} {self.resource.title}")
        if self.resource.get("breaks"):
            raise OSError(1, "returned 1")
        for name, value in self.resource.get("sets", {}).items():
            self.world.cells[name] = value

    def apply(self, change: Change) -> None:
        self._execute("run")

    def refresh(self) -> None:
        self._execute("refresh")


class Tree(WorldHandler):
    """Like a directory with recurse and purge: every cell below its title that no resource names is removed."""

    def read(self) -> State:
        return {"value": self.cell()}

    def compare(self, state: State) -> Sequence[Change]:
        should = str(self.resource.get("value", state["value"]))
        return () if state["value"] == should else (Change("value", state["value"], should, "grown"),)

    def apply(self, change: Change) -> None:
        self.world.do(f"grow {self.resource.title}")
        self.world.cells[self.resource.title] = change.desired

    def expand(self, state: State) -> Sequence[Handler]:
        below = self.resource.title + "/"
        named = self.node.names("cell")
        return [
            Cell(DesiredResource("cell", name, {"value": "absent"}), self.node)
            for name, value in sorted(self.world.cells.items())
            if name.startswith(below) and name not in named and value != "absent"
        ]


class Message(WorldHandler):
    """Like notify."""

    touches_node: ClassVar[bool] = False

    def read(self) -> State:
        return {"message": "absent"}

    def compare(self, state: State) -> Sequence[Change]:
        return (Change("message", "absent", self.resource.title, "said"),)

    def apply(self, change: Change) -> None:
        self.log("notice", self.resource.title)


class Locked(Command):
    """A command whose provider can only run one operation at a time, and fails if it is called twice."""

    locks: ClassVar[tuple[str, ...]] = ("provider",)

    def apply(self, change: Change) -> None:
        if not self.world.provider.acquire(blocking=False):
            raise OSError(16, "the provider is busy")
        try:
            super().apply(change)
        finally:
            self.world.provider.release()


class Meeting(Command):
    """A command that ends only if another one runs at the same time."""

    def apply(self, change: Change) -> None:
        self.world.meeting.wait(timeout=30)
        super().apply(change)


TYPES: dict[str, type[Handler]] = {
    "cell": Cell, "command": Command, "tree": Tree, "message": Message, "locked": Locked, "meeting": Meeting,
}  # fmt: skip
_REAL = registry.find


@contextmanager
def known_types() -> Iterator[None]:
    """Register these types beside the real ones inside the block."""

    def find(name: str) -> type[Handler] | None:
        return TYPES.get(name) or _REAL(name)

    registry.find = find  # type: ignore[assignment]
    try:
        yield
    finally:
        registry.find = _REAL


def resource(kind: str, title: str, /, tags: Sequence[str] = (), **parameters: Any) -> ResourceData:
    name = "::".join(part.capitalize() for part in kind.split("::"))
    is_define = kind == "define"
    return ResourceData(name, title, parameters, (kind, *tags), kind=DEFINED if is_define else "")


def body(*resources: ResourceData, edges: Sequence[tuple[str, str]] = ()) -> Body:
    return Body(tuple(resources), tuple(Edge(*pair) for pair in edges), (), (), {})


class RunOutcome:
    """The outcome of a run."""

    def __init__(self, world: World, reports: list[ResourceReport], memory: ResourceMemory, is_complete: bool) -> None:
        self.world = world
        self.reports = reports
        self.memory = memory
        self.is_complete = is_complete

    def statuses(self) -> dict[str, str]:
        return {report.resource: report.status.value for report in self.reports}

    def messages(self, ref: str) -> list[str]:
        return [event.message for report in self.reports if report.resource == ref for event in report.events]


def run(
    catalog: Body,
    cells: Mapping[str, str] | World | None = None,
    options: RunOptions | None = None,
    *,
    memory: ResourceMemory | None = None,
    clock: Clock | None = None,
    values: RunValues | None = None,
    is_worth_ahead: Callable[[PlannedResource], bool] = lambda planned: True,
    on_engine: Callable[[Engine], None] = lambda engine: None,
) -> RunOutcome:
    """Apply a catalog to a world of cells."""
    world = cells if isinstance(cells, World) else World(cells)
    memory = memory or ResourceMemory()
    reports: list[ResourceReport] = []
    values = values or RunValues()
    machine = WorldMachine(world, clock or ManualClock(), memory, values)
    with known_types():
        plan = make_plan(add_purged(catalog, machine), None, machine)
        engine = Engine(
            plan,
            machine,
            memory,
            options or RunOptions(),
            reports.append,
            values=values,
            is_worth_ahead=is_worth_ahead,
        )
        on_engine(engine)
        is_complete = engine.run()
    return RunOutcome(world, reports, memory, is_complete)
