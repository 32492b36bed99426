"""Prints the progress of a job: a line for each node that has ended, the output of commands, and on a terminal a progress bar.

Elsewhere the same lines are printed without a bar, each as soon as it is known; --json prints one document at the end.
"""

import os
import sys
import time

import msgspec

from precast.base.spans import visible
from precast.cli.console.output import print_json
from precast.wire.jobs.views import JobChanges, JobView, OutputView, StepResult, StepView

# The final states of a step, in the order in which counts are printed.
FINAL_STATES = ("done", "failed", "not-run", "silent", "away", "left-out")
COLOURS = {"done": "32", "failed": "1;31", "not-run": "33", "silent": "1;31", "away": "33", "left-out": "2"}
# The words for states of steps and jobs whose stored value is not printed as it is.
STATE_WORDS = {
    "not-run": "did not run",
    "silent": "no answer",
    "left-out": "skipped",
    "began": "running",
    "going": "running",
}
STATE_COLUMNS = max(map(len, STATE_WORDS.values()))
BAR_COLUMNS = 24
# Names are padded to at least this width, so that most lines align although they are printed one by one.
NAME_COLUMNS = 12
# A shorter duration is not printed.
MIN_SHOWN_S = 0.1


class Progress:
    """Prints one job."""

    def __init__(self, is_json: bool, mode: str | None = None) -> None:
        self._is_json = is_json
        self.is_live = not is_json and sys.stdout is not None and sys.stdout.isatty()
        self._has_colour = self.is_live and "NO_COLOR" not in os.environ
        self._has_bar = False
        self._began_s = time.monotonic()
        self._steps: dict[str, StepView] = {}
        self._output: list[OutputView] = []
        self._columns = NAME_COLUMNS
        self._mode = mode

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
        print(f"`precast run show {job.id}` shows its progress")

    def show_start(self, job: JobView) -> None:
        self._mode = job.mode
        if not self._is_json:
            away = job.counts.get("away", 0)
            print(f"run {job.id}: {_nodes(job.nodes)}{f', {away} away' if away else ''}", flush=True)

    def show_changes(self, page: JobChanges) -> None:
        """Print the changes of one page, and the bar."""
        for change in page.changes:
            if isinstance(change, OutputView):
                self._show_output(change)
            else:
                self._steps[change.node] = change
                if change.ended_at is not None and not self._is_json:
                    self.show_step(change)
        self._show_bar(page.run)

    def show_end(self, job: JobView) -> None:
        """Print the summary of a job that has ended, or is not watched any longer."""
        self.clear_bar()
        if self._is_json:
            steps = [self._steps[node] for node in sorted(self._steps)]
            document = {"run": job, "steps": steps, **({"output": self._output} if job.kind == "exec" else {})}
            print_json(msgspec.to_builtins(document))
            return
        seconds = time.monotonic() - self._began_s
        end = f"in {seconds:.1f} s" if job.is_over else f"not ended after {seconds:.0f} s"
        print(f"{describe_state(job.state)}: {describe_counts(job)}, {end}", flush=True)

    def show_step(self, step: StepView) -> None:
        """Print the line of one node."""
        self.clear_bar()
        self._columns = max(self._columns, len(step.node))
        word = self._paint(step.state, f"{describe_state(step.state):<{STATE_COLUMNS}}")
        print(f"{step.node:<{self._columns}}  {word}  {self._describe_step(step)}".rstrip(), flush=True)

    def show_note(self, text: str) -> None:
        """Print a note to standard error, such as that the server is not reachable at present."""
        self.clear_bar()
        print(f"precast: note: {visible(text)}", file=sys.stderr, flush=True)

    def clear_bar(self) -> None:
        """Remove the bar, so that a line can be printed in its place."""
        if self._has_bar:
            print("\r\033[K", end="", flush=True)
            self._has_bar = False

    def _show_output(self, output: OutputView) -> None:
        if self._is_json:
            self._output.append(output)
            return
        self.clear_bar()
        self._columns = max(self._columns, len(output.node))
        for line in output.lines:
            mark = "|" if line.stream == "out" else self._paint("failed", "!")
            print(f"{output.node:<{self._columns}} {mark} {visible(line.text)}", flush=True)

    def _describe_step(self, step: StepView) -> str:
        result = step.result
        parts = [_describe_result(result)] if result is not None else []
        if result is not None and result.is_noop and self._mode == "enforce" and not step.message:
            parts.append("no-op, because of its policy")  # the agent gave no reason
        parts += [visible(step.message)] if step.message else []
        took_s = (step.ended_at - step.began_at).total_seconds() if step.began_at and step.ended_at else 0.0
        parts += [f"{took_s:.1f} s"] if took_s >= MIN_SHOWN_S else []
        if step.report is not None and step.state == "failed":
            parts.append(f"see `precast report show {step.report}`")
        return "; ".join(part for part in parts if part)

    def _show_bar(self, job: JobView) -> None:
        if not self.is_live:
            return
        self.clear_bar()
        ended = sum(job.counts.get(state, 0) for state in FINAL_STATES)
        filled = BAR_COLUMNS * ended // max(job.nodes, 1)
        bar = self._paint("done", "█" * filled) + "░" * (BAR_COLUMNS - filled)
        running = sorted(step.node for step in self._steps.values() if step.state == "began")
        names = f"  now: {', '.join(running[:3])}{' …' if len(running) > 3 else ''}" if running else ""
        seconds = time.monotonic() - self._began_s
        print(f" {bar} {ended}/{job.nodes}  {describe_counts(job)}  {seconds:.0f} s{names}", end="", flush=True)
        self._has_bar = True

    def _paint(self, state: str, text: str) -> str:
        return f"\033[{COLOURS[state]}m{text}\033[0m" if self._has_colour and state in COLOURS else text


def describe_state(state: str) -> str:
    """The printed word for the stored state of a step or job."""
    return STATE_WORDS.get(state, state)


def describe_counts(job: JobView) -> str:
    """How many nodes are in each state, final states first."""
    order = [*FINAL_STATES, "began", "ordered", "waiting"]
    parts = [f"{job.counts[state]} {describe_state(state)}" for state in order if job.counts.get(state)]
    return ", ".join(parts) or "no nodes"


def _describe_result(result: StepResult) -> str:
    if result.code is not None or result.signal is not None:
        return f"{result.cut_bytes} bytes of output are cut" if result.cut_bytes else ""
    counts = (
        (result.changed, "changed"),
        (result.pending, "pending"),
        (result.failed, "failed"),
        (result.skipped, "skipped"),
        (result.waiting, "waiting"),
        (result.corrective, "corrective"),
    )
    words = [f"{count} {word}" for count, word in counts if count]
    text = f"{', '.join(words)} of {result.resources}" if words else f"{result.resources} in sync"
    return text + (", stale" if result.is_stale else "")


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
