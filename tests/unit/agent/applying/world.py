"""A node made of cells, with types that read and write them: what the tests of the engine apply catalogs to.

Each type stands for a property of real ones that the engine must mind: guards, recursion, refreshes, errors that depend on the state.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, cast

from precast.agent.applying.binding import Binder
from precast.agent.applying.engine import Engine
from precast.agent.applying.machine import Machine
from precast.agent.applying.memory import Memory
from precast.agent.applying.options import Options
from precast.agent.applying.planning import Planned, make_plan
from precast.agent.applying.purging import with_purged
from precast.base.clock import Clock, ManualClock
from precast.catalog.body import DEFINED, Body, Edge, ResourceData
from precast.resources import registry
from precast.resources.contract import Change, Handler, Instance, Node, State, Wanted
from precast.wire.reports.events import ResourceReport


class World:
    """The cells, and what was done to them in which order."""

    def __init__(self, cells: Mapping[str, str] | None = None) -> None:
        self.cells = dict(cells or {})
        self.deeds: list[str] = []
        self.lock = threading.Lock()
        self.provider = threading.Lock()
        self.meeting = threading.Barrier(2)

    def do(self, deed: str) -> None:
        with self.lock:
            self.deeds.append(deed)


class WorldMachine(Machine):
    def __init__(self, world: World, clock: Clock, memory: Memory) -> None:
        super().__init__("", str(Path("/nowhere")), clock, memory=memory)
        self.world = world


class WorldHandler(Handler):
    def __init__(self, wanted: Wanted, node: Node) -> None:
        super().__init__(wanted, node)
        self.world = cast(WorldMachine, node).world
        if "broken" in wanted.parameters:
            from precast.resources import issues

            raise issues.BAD_VALUE.error(name="broken", value="so", wanted="it must not be", type=wanted.type)

    @property
    def is_slow_to_read(self) -> bool:
        return True

    def cell(self, name: str | None = None) -> str:
        return self.world.cells.get(name or self.wanted.title, "absent")


class Cell(WorldHandler):
    """A cell with a value: given, or copied from another. Reading fails while the cell named in `fails_if` is set to bad."""

    can_be_purged: ClassVar[bool] = True

    def read(self) -> State:
        self.say("debug", f"{self.wanted.title} is {self.cell()}")
        if "fails_if" in self.wanted.parameters and self.cell(self.wanted.get("fails_if")) == "bad":
            raise OSError(5, "cannot look")
        return {"value": self.cell()}

    def _should(self) -> str:
        if self.wanted.get("ensure") == "absent":
            return "absent"
        source = self.wanted.get("copies")
        return self.cell(source) if source else str(self.wanted.get("value", "absent"))

    def compare(self, state: State) -> Sequence[Change]:
        should = self._should()
        if state["value"] == should:
            return ()
        return (Change("value", state["value"], should, f"value changed '{state['value']}' to '{should}'"),)

    def apply(self, change: Change) -> None:
        self.world.do(f"set {self.wanted.title}={change.desired}")
        if self.wanted.get("breaks"):
            raise OSError(28, "no room")
        self.world.cells[self.wanted.title] = change.desired

    @classmethod
    def instances(cls, node: Node) -> list[Instance]:
        return [
            Instance(name, {"value": value}) for name, value in sorted(cast(WorldMachine, node).world.cells.items())
        ]


class Command(WorldHandler):
    """Like exec: guarded by a cell, sets cells; refreshes."""

    can_refresh: ClassVar[bool] = True

    @property
    def runs_user_commands(self) -> bool:
        return "guard" in self.wanted.parameters

    def read(self) -> State:
        if self.wanted.get("refreshonly"):
            return {"returns": "0"}
        guard = self.wanted.get("guard")
        if guard is None:
            return {"returns": "notrun"}
        self.world.do(f"guard {self.wanted.title}: {guard} is {self.cell(guard)}")
        return {"returns": "notrun" if self.cell(guard) != self.wanted.get("unless", "absent") else "0"}

    def compare(self, state: State) -> Sequence[Change]:
        return (Change("returns", "notrun", ["0"], "executed"),) if state["returns"] == "notrun" else ()

    def _execute(self, why: str) -> None:
        self.world.do(f"{why} {self.wanted.title}")
        if self.wanted.get("breaks"):
            raise OSError(1, "returned 1")
        for name, value in self.wanted.get("sets", {}).items():
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
        should = str(self.wanted.get("value", state["value"]))
        return () if state["value"] == should else (Change("value", state["value"], should, "grown"),)

    def apply(self, change: Change) -> None:
        self.world.do(f"grow {self.wanted.title}")
        self.world.cells[self.wanted.title] = change.desired

    def expand(self, state: State) -> Sequence[Handler]:
        below = self.wanted.title + "/"
        named = self.node.names("cell")
        return [
            Cell(Wanted("cell", name, {"value": "absent"}), self.node)
            for name, value in sorted(self.world.cells.items())
            if name.startswith(below) and name not in named and value != "absent"
        ]


class Message(WorldHandler):
    """Like notify."""

    touches_node: ClassVar[bool] = False

    def read(self) -> State:
        return {"message": "absent"}

    def compare(self, state: State) -> Sequence[Change]:
        return (Change("message", "absent", self.wanted.title, "said"),)

    def apply(self, change: Change) -> None:
        self.say("notice", self.wanted.title)


class Locked(Command):
    """A command whose provider can only do one thing at a time, and fails if it is asked to do two."""

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
    """Have the engine find these types beside the real ones."""

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


class Ran:
    """A run that has ended."""

    def __init__(self, world: World, reports: list[ResourceReport], memory: Memory, is_complete: bool) -> None:
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
    options: Options | None = None,
    *,
    memory: Memory | None = None,
    clock: Clock | None = None,
    is_worth_ahead: Callable[[Planned], bool] = lambda planned: True,
) -> Ran:
    """Apply a catalog to a world of cells."""
    world = cells if isinstance(cells, World) else World(cells)
    memory = memory or Memory()
    reports: list[ResourceReport] = []
    machine = WorldMachine(world, clock or ManualClock(), memory)
    with known_types():
        plan = make_plan(with_purged(catalog, machine), None, machine)
        engine = Engine(
            plan,
            machine,
            memory,
            options or Options(),
            reports.append,
            binder=Binder(memory),
            is_worth_ahead=is_worth_ahead,
        )
        is_complete = engine.run()
    return Ran(world, reports, memory, is_complete)
