"""The programs of a run: what each node does for each task, each different program once with its nodes."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from precast.base.errors import PrecastError
from precast.plans.expressions import fill_in
from precast.plans.model import InstanceKey, Plan, PlanNode, PlanProblem, PlanTask
from precast.plans.programs import build_collect_program, build_program, describe_noop, find_program_problems
from precast.plans.values.works import TaskFile
from precast.services.plans import issues
from precast.services.plans.order_sizes import MAX_PROGRAM_BYTES, measure_program
from precast.services.plans.pinned import SkippedTask
from precast.services.plans.preparing.values import EvaluatedPlan
from precast.store.plans.runs import ProgramRow
from precast.wire.jobs import states
from precast.wire.jobs.orders import Mode
from precast.wire.jobs.programs import ExecutableWork, NoWork, TaskProgram, program_text

# After so many errors no further programs are built.
MAX_ERRORS = 100
# Of all different programs of a run: they are in memory at its start, and stored in one transaction.
MAX_RUN_BYTES = 128 * 1024 * 1024


class RunValues(NamedTuple):
    """What programs need besides their tasks (`plans.values.works.PlanValues`)."""

    mode: Mode
    parameters: Mapping[str, Any]
    tasks: Mapping[str, TaskFile]
    givers: Collection[str] = ()

    def find_task(self, name: str) -> TaskFile | None:
        return self.tasks.get(name)


class BuiltPrograms(NamedTuple):
    """The programs of a run."""

    programs: list[ProgramRow]
    commands: list[ProgramRow]
    skipped: list[SkippedTask]  # tasks on nodes that have nothing to do
    errors: list[PlanProblem]
    warnings: list[PlanProblem]
    executables: list[str]
    sending: list[int]


def build_programs(
    plan: Plan,
    nodes: Sequence[PlanNode],
    placed: Sequence[tuple[int, Sequence[str]]],
    evaluated: EvaluatedPlan,
    left_out: AbstractSet[InstanceKey],
    values: RunValues,
) -> BuiltPrograms:
    """Build the programs of all instances that run."""
    by_name = {node.name: node for node in nodes}
    skipped = left_out | {InstanceKey(row.task, node) for row in evaluated.skipped for node in row.nodes}
    builder = _ProgramBuilder(plan, by_name, evaluated, skipped, values)
    for number, names in placed:
        builder.add_task(number, names)
    return builder.finish()


class _ProgramBuilder:
    """Collects the programs of one run."""

    def __init__(
        self,
        plan: Plan,
        nodes: Mapping[str, PlanNode],
        evaluated: EvaluatedPlan,
        skipped: AbstractSet[InstanceKey],
        values: RunValues,
    ) -> None:
        self._plan, self._nodes, self._evaluated = plan, nodes, evaluated
        self._skipped, self._values = skipped, values
        self._numbers = {task.id: number for number, task in enumerate(plan.tasks, start=1)}
        self._programs: list[ProgramRow] = []
        self._commands: list[ProgramRow] = []
        self._idle: list[SkippedTask] = []
        self._errors: list[PlanProblem] = []
        self._warnings: list[PlanProblem] = []
        self._executables: set[str] = set()
        self._sending: list[int] = []
        self._bytes = 0  # of all different programs

    def add_task(self, number: int, names: Sequence[str]) -> None:
        """Add the programs of a task on these nodes."""
        task = self._plan.tasks[number - 1]
        self._warnings += find_program_problems(task)
        if self._values.mode == "noop" and (note := describe_noop(task)):
            self._warnings.append(PlanProblem(task.at, "PLAN-119", f"task {task.id} does nothing: {note}"))
        by_text: dict[str, list[str]] = defaultdict(list)
        found: dict[str, TaskProgram] = {}
        idle = []
        for name in names:
            if InstanceKey(number, name) in self._skipped or len(self._errors) >= MAX_ERRORS:
                continue
            program = self._build(number, task, name)
            if program is None:
                continue
            if isinstance(program.work, NoWork) and not program.before and not program.after:
                idle.append(name)
                continue
            text = program_text(program)
            if text not in by_text and not self._has_room(text, task, name):
                continue
            by_text[text].append(name)
            found[text] = program
        if idle:
            self._idle.append(SkippedTask(number, states.NO_WORK, idle))
        for text, members in by_text.items():
            self._add(ProgramRow(number, text, members), found[text])

    def finish(self) -> BuiltPrograms:
        return BuiltPrograms(
            self._programs,
            self._commands,
            self._idle,
            self._errors,
            self._warnings,
            sorted(self._executables),
            self._sending,
        )

    def _has_room(self, text: str, task: PlanTask, name: str) -> bool:
        """Whether a program fits in an order, and beside the others in the run."""
        self._bytes += len(text)
        if (size := measure_program(text)) > MAX_PROGRAM_BYTES:
            error = issues.PROGRAM_TOO_LARGE.error(task=task.id, node=name, size=size, limit=MAX_PROGRAM_BYTES)
        elif self._bytes > MAX_RUN_BYTES:
            error = issues.RUN_TOO_LARGE.error(task=task.id, node=name, mib=MAX_RUN_BYTES // 2**20)
        else:
            return True
        self._errors.append(PlanProblem(task.at, error.code, error.message, error.hint))
        return False

    def _add(self, row: ProgramRow, program: TaskProgram) -> None:
        self._programs.append(row)
        if program.needs_command_right:
            self._commands.append(row)
        if isinstance(program.work, ExecutableWork):
            self._executables.add(program.work.content)
        if program.sends_content:
            self._sending.append(row.task)

    def _build(self, number: int, task: PlanTask, name: str) -> TaskProgram | None:
        """The program of an instance; None if it is wrong."""
        node = self._nodes[name]
        try:
            if task.collects_for and self._values.mode == "enforce":
                return self._build_collection(task, node)
            return build_program(fill_in(task, self._evaluated.values.get((number, name), {})), node, self._values)
        except PrecastError as error:
            self._errors.append(PlanProblem(task.at, error.code, error.message, error.hint))
            return None

    def _build_collection(self, task: PlanTask, master: PlanNode) -> TaskProgram:
        """What the master sends: the files of all nodes that get copies, which expressions may have named."""
        copies = self._numbers[task.collects_for]
        values = self._evaluated.values
        forms = [fill_in(task, values[number, node]) for number, node in sorted(values) if number == copies]
        return build_collect_program(task, forms or [task], master)
