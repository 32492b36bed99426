"""Prints the progress of a job: a line for each node that has ended, the output of commands, and on a terminal a progress bar.

Elsewhere the same lines are printed without a bar, each as soon as it is known; --json prints one document at the end.
"""

import time

import msgspec

from precast.base.spans import visible
from precast.cli.console.live_line import LiveLine
from precast.cli.console.output import print_json
from precast.cli.jobs.descriptions import (
    describe_counts,
    describe_job_state,
    describe_nodes,
    describe_state,
    describe_step,
    format_state,
)
from precast.wire.jobs import states
from precast.wire.jobs.views import JobChanges, JobView, OutputView, StepView

COLOURS = {
    states.COMPLETED: "32",
    states.FAILED: "1;31",
    states.EXPIRED: "1;31",
    states.SKIPPED: "33",
    states.CANCELLED: "2",
}
# Names and states are padded to at least these widths, so that most lines align although they are printed one by one.
NAME_COLUMNS = 12
STATE_COLUMNS = 13


class Progress:
    """Prints one job."""

    def __init__(self, is_json: bool, mode: str | None = None, first_round: int = 1) -> None:
        """Changes of rounds before `first_round` are not printed."""
        self._is_json = is_json
        self.line = LiveLine(is_json)
        self._began_s = time.monotonic()
        self._steps: dict[str, StepView] = {}
        self._output: list[OutputView] = []
        self._columns = NAME_COLUMNS
        self._mode = mode
        self._first_round = first_round

    @property
    def away(self) -> int:
        """How many nodes were away, and were not waited for any longer."""
        return sum(step.state == states.EXPIRED and step.ordered_at is None for step in self._steps.values())

    @property
    def has_changes(self) -> bool:
        """Whether some node has a change, made or pending."""
        results = [step.result for step in self._steps.values() if step.result is not None]
        return any(result.changed or result.pending for result in results)

    def show_detached(self, job: JobView) -> None:
        """Print a job that was started and is not watched."""
        if self._is_json:
            print_json(msgspec.to_builtins(job))
            return
        print(f"run {job.id}: {describe_counts(job)}")
        print(f"`precast {'exec' if job.argv else 'run'} watch {job.id}` follows it")

    def show_start(self, job: JobView) -> None:
        self._mode = job.mode
        if not self._is_json:
            away = job.reasons.get(format_state(states.SKIPPED, states.AWAY), 0)
            print(f"run {job.id}: {describe_nodes(job.nodes)}{f', {away} away' if away else ''}", flush=True)

    def show_changes(self, page: JobChanges) -> None:
        """Print the changes of one page, and the bar."""
        for change in page.changes:
            if change.attempt < self._first_round:
                continue
            if isinstance(change, OutputView):
                self._show_output(change)
            else:
                known = self._steps.get(change.node)
                if known is None or known.attempt <= change.attempt:
                    self._steps[change.node] = change
                if change.ended_at is not None and not self._is_json:
                    self.show_step(change)
        self._show_bar(page.run)

    def show_end(self, job: JobView) -> None:
        """Print the summary of a job that has ended, or is not watched any longer."""
        self.line.clear()
        if self._is_json:
            steps = [self._steps[node] for node in sorted(self._steps)]
            document = {"run": job, "steps": steps, **({"output": self._output} if job.kind == "exec" else {})}
            print_json(msgspec.to_builtins(document))
            return
        seconds = time.monotonic() - self._began_s
        end = f"in {seconds:.1f} s" if job.is_over else f"not ended after {seconds:.0f} s"
        print(f"{describe_job_state(job.state)}: {describe_counts(job)}, {end}", flush=True)
        if not job.is_over and not job.argv:
            print(f"`precast run show {job.id}` says what its nodes wait for", flush=True)

    def show_step(self, step: StepView) -> None:
        """Print the line of one node."""
        self.line.clear()
        self._columns = max(self._columns, len(step.node))
        word = self._paint(step.state, f"{describe_state(step):<{STATE_COLUMNS}}")
        print(f"{step.node:<{self._columns}}  {word}  {describe_step(step, self._mode)}".rstrip(), flush=True)

    def _show_output(self, output: OutputView) -> None:
        if self._is_json:
            self._output.append(output)
            return
        self.line.clear()
        self._columns = max(self._columns, len(output.node))
        for line in output.lines:
            mark = "|" if line.stream == "out" else self._paint(states.FAILED, "!")
            print(f"{output.node:<{self._columns}} {mark} {visible(line.text)}", flush=True)

    def _show_bar(self, job: JobView) -> None:
        ended = sum(job.counts.get(state, 0) for state in states.END_STATES)
        bar = self.line.make_bar(ended, job.nodes, COLOURS[states.COMPLETED])
        running = sorted(step.node for step in self._steps.values() if step.state == states.PICKED_UP)
        names = f"  now: {', '.join(running[:3])}{' …' if len(running) > 3 else ''}" if running else ""
        seconds = time.monotonic() - self._began_s
        self.line.draw(f" {bar} {ended}/{job.nodes}  {describe_counts(job)}  {seconds:.0f} s{names}")

    def _paint(self, state: str, text: str) -> str:
        return self.line.paint(COLOURS.get(state), text)
