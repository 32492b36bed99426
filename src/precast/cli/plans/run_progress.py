"""Prints a run of a plan: a line for each task that has ended on a node, the output of its commands, and on a terminal a progress bar.

What follows from a failure is counted beside it and has no line of its own. `--json` prints one document at the end.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from precast.base.spans import visible
from precast.cli.console.live_line import LiveLine
from precast.cli.console.output import print_json
from precast.cli.jobs.descriptions import MIN_SHOWN_S, WAITS, describe_job_state
from precast.plans.views.descriptions import count
from precast.wire.jobs import states as job_states
from precast.wire.jobs.views import OutputView
from precast.wire.plans import states
from precast.wire.plans.bodies import FailureView, InstanceView, PlanChanges, PlanRunView, TaskApprovalView

COLOURS = {
    states.SUCCESSFUL: "32",
    states.FAILED: "1;31",
    states.DEP_FAILED: "31",
    states.SKIPPED: "33",
    states.CANCELLED: "2",
    states.TESTING: "36",
    states.RUNNING: "36",
    states.VERIFYING: "36",
}
STATE_COLUMNS = 10
WAITS_SHOWN = 10
_AT_WORK = (states.TESTING, states.RUNNING, states.VERIFYING)
_FAILED_IN = {"pre-test": "its test before the task failed", "post-test": "its test after the task failed"}


class RunProgress:
    """Prints one run."""

    def __init__(self, is_json: bool, first_round: int = 1) -> None:
        """Changes of rounds before `first_round` are not printed."""
        self._is_json = is_json
        self.line = LiveLine(is_json)
        self._began_s = time.monotonic()
        self._first_round = first_round
        self._instances: dict[str, InstanceView] = {}
        self._output: list[OutputView] = []
        self._titles: dict[int, str] = {}
        self._asked: set[str] = set()
        self._is_past = False  # the run had ended before it was watched

    def show_start(self, run: PlanRunView) -> None:
        self._titles = {task.number: task.id for task in run.tasks}
        self._is_past = run.run.is_over
        if not self._is_json:
            tasks, nodes = count(sum(run.counts.values()), "task"), count(len(run.nodes), "node")
            print(f"run {run.run.id} of {run.plan}: {tasks} on {nodes}", flush=True)

    def show_changes(self, page: PlanChanges) -> None:
        for change in page.changes:
            if change.attempt < self._first_round:
                continue
            if isinstance(change, OutputView):
                self._show_output(change)
            else:
                self._show_instance(change)
        for approval in page.run.approvals:
            if approval.is_due and approval.task not in self._asked and not self._is_json:
                self._asked.add(approval.task)
                self.line.clear()
                print(f"{approval.task} waits for a person: {visible(approval.text)}", flush=True)
                print(f"  let it go: precast plan approve {page.run.run.id} {approval.task}", flush=True)
        self._show_bar(page.run)

    def show_end(self, run: PlanRunView) -> None:
        """Print the summary of a run that has ended, or is not watched any longer."""
        self.line.clear()
        if self._is_json:
            instances = [self._instances[key] for key in sorted(self._instances)]
            print_json(msgspec.to_builtins({"run": run, "instances": instances, "output": self._output}))
            return
        for failure in run.failures:
            print(self._paint(states.FAILED, describe_failure(failure)), flush=True)
        seconds = time.monotonic() - self._began_s
        end = f", in {seconds:.1f} s" if run.run.is_over else f", not ended after {seconds:.0f} s"
        counts = f"{describe_job_state(run.run.state)}: {describe_counts(run.counts)}"
        print(counts if self._is_past else counts + end, flush=True)
        if not run.run.is_over:
            print(f"`precast plan status {run.run.id}` says what it waits for", flush=True)

    def _show_instance(self, instance: InstanceView) -> None:
        known = self._instances.get(instance.key)
        if known is not None and known.attempt > instance.attempt:
            return
        self._instances[instance.key] = instance
        is_news = known is None or known.state != instance.state
        if self._is_json or not is_news or instance.state not in states.ENDS or instance.state == states.DEP_FAILED:
            return
        self.line.clear()
        word = self._paint(instance.state, f"{instance.state:<{STATE_COLUMNS}}")
        print(f"{instance.node:<12}  {word}  {describe_instance(instance)}".rstrip(), flush=True)

    def _show_output(self, output: OutputView) -> None:
        if self._is_json:
            self._output.append(output)
            return
        self.line.clear()
        title = self._titles.get(output.task, str(output.task))
        for line in output.lines:
            mark = "|" if line.stream == "out" else self._paint(states.FAILED, "!")
            print(f"{output.node:<12} {title} {mark} {visible(line.text)}", flush=True)

    def _show_bar(self, run: PlanRunView) -> None:
        total = sum(run.counts.values())
        ended = sum(run.counts.get(state, 0) for state in states.ENDS)
        bar = self.line.make_bar(ended, total, COLOURS[states.SUCCESSFUL])
        at_work = sorted(
            f"{instance.task} on {instance.node}" for instance in self._instances.values() if instance.state in _AT_WORK
        )
        names = f"  now: {', '.join(at_work[:2])}{' …' if len(at_work) > 2 else ''}" if at_work else ""
        seconds = time.monotonic() - self._began_s
        self.line.draw(f" {bar} {ended}/{total}  {seconds:.0f} s{names}")

    def _paint(self, state: str, text: str) -> str:
        return self.line.paint(COLOURS.get(state), text)


def describe_counts(counts: Mapping[str, int]) -> str:
    """How many tasks on nodes are in each state."""
    return ", ".join(f"{counts[state]} {state}" for state in states.ORDER if counts.get(state)) or "nothing to do"


def describe_instance(instance: InstanceView) -> str:
    """A task on a node besides its state: what went wrong, in which phase, and how long it took."""
    parts = [instance.task]
    if instance.state == states.FAILED and instance.reason in _FAILED_IN:
        parts.append(_FAILED_IN[instance.reason])
    elif instance.state == states.FAILED and instance.reason not in (None, "failed"):
        parts.append(str(instance.reason))
    parts += [visible(instance.message)] if instance.message else []
    parts += [f"because of {visible(instance.cause)}"] if instance.cause else []
    parts += [f"its result came after the deadline: {instance.late}"] if instance.late else []
    took_s = 0.0
    if instance.picked_up_at and instance.ended_at:
        took_s = (instance.ended_at - instance.picked_up_at).total_seconds()
    parts += [f"{took_s:.1f} s"] if took_s >= MIN_SHOWN_S else []
    parts += [f"attempt {instance.attempt}"] if instance.attempt > 1 else []
    return ", ".join(parts)


def describe_waits(instances: Iterable[InstanceView]) -> Iterator[str]:
    """Which nodes hold tasks up, and why: they are away, their windows are closed, or something else changes them."""
    waiting = Counter(
        (instance.node, instance.message or WAITS[instance.reason])
        for instance in instances
        if instance.ended_at is None and instance.reason in WAITS
    )
    for (node, why), tasks in list(waiting.items())[:WAITS_SHOWN]:
        yield f"{node}: {visible(why)} ({count(tasks, 'task')})"
    if len(waiting) > WAITS_SHOWN:
        yield f"{count(len(waiting) - WAITS_SHOWN, 'more node')} likewise"


def describe_failure(failure: FailureView) -> str:
    """A failure that is the cause of others."""
    what = _FAILED_IN.get(failure.reason, f"it is {failure.reason}")
    if failure.reason in (job_states.NOT_SUCCESSFUL, job_states.EXPIRED):
        what = "it failed"
    message = f": {visible(failure.message)}" if failure.message else ""
    followers = f"; {count(failure.followers, 'other task')} cannot begin because of it" if failure.followers else ""
    return f"{failure.task} on {failure.node}: {what}{message}{followers}"


def describe_approval(run: PlanRunView, approval: TaskApprovalView) -> str:
    """Who has let a task go, or how to."""
    if approval.by:
        return f"approved by {approval.by}"
    if approval.is_due:
        return f"waits: precast plan approve {run.run.id} {approval.task}"
    return "nobody was asked" if run.run.is_over else "what is before it has not ended"
