"""How a run over nodes is shown: a line for each node when it has ended, what commands say, and on a terminal how far it is.

Elsewhere the same lines are printed plainly, each when it is known; with --json one document at the end.
"""

import os
import sys
import time

import msgspec

from precast.base.spans import visible
from precast.cli.console.output import print_json
from precast.wire.jobs.views import OutputView, RunChanges, RunView, StepResult, StepView

# In the order in which people want to know.
ENDS = ("done", "failed", "not-run", "silent", "away", "left-out")
COLOURS = {"done": "32", "failed": "1;31", "not-run": "33", "silent": "1;31", "away": "33", "left-out": "2"}
WORDS = {"not-run": "not run", "silent": "no answer", "left-out": "left out"}
BAR_COLUMNS = 24
# Names are padded to this at least, so that most lines stand below each other though they come one by one.
NAME_COLUMNS = 12
LEAST_TOLD_S = 0.1


class Progress:
    """Prints one run."""

    def __init__(self, is_json: bool) -> None:
        self._is_json = is_json
        self.is_live = not is_json and sys.stdout is not None and sys.stdout.isatty()
        self._has_colour = self.is_live and "NO_COLOR" not in os.environ
        self._has_bar = False
        self._began_s = time.monotonic()
        self._steps: dict[str, StepView] = {}
        self._output: list[OutputView] = []
        self._columns = NAME_COLUMNS
        self._mode: str | None = None

    @property
    def has_changes(self) -> bool:
        """Whether something changed, or would have."""
        results = [one.result for one in self._steps.values() if one.result is not None]
        return any(one.changed or one.pending for one in results)

    def detached(self, run: RunView) -> None:
        """The run was begun, and is not watched."""
        if self._is_json:
            print_json(msgspec.to_builtins(run))
            return
        print(f"run {run.id}: {told(run)}")
        print(f"`precast run show {run.id}` tells how it goes")

    def begins(self, run: RunView) -> None:
        self.of(run)
        if not self._is_json:
            away = run.counts.get("away", 0)
            print(f"run {run.id}: {_nodes(run.nodes)}{f', {away} away' if away else ''}", flush=True)

    def take(self, found: RunChanges) -> None:
        """Show what has changed."""
        for change in found.changes:
            if isinstance(change, OutputView):
                self._say(change)
            else:
                self._steps[change.node] = change
                if change.ended_at is not None and not self._is_json:
                    self.line(change)
        self._bar(found.run)

    def ends(self, run: RunView) -> None:
        """The run is over, or is not watched any longer."""
        self.clear()
        if self._is_json:
            steps = [self._steps[node] for node in sorted(self._steps)]
            document = {"run": run, "steps": steps, **({"output": self._output} if run.kind == "exec" else {})}
            print_json(msgspec.to_builtins(document))
            return
        seconds = time.monotonic() - self._began_s
        end = f"in {seconds:.1f} s" if run.is_over else f"and it goes on after {seconds:.0f} s"
        print(f"{run.state}: {told(run)}, {end}", flush=True)

    def of(self, run: RunView) -> "Progress":
        """Show nodes of this run."""
        self._mode = run.mode
        return self

    def line(self, step: StepView) -> None:
        """How a node stands."""
        self.clear()
        self._columns = max(self._columns, len(step.node))
        word = f"{WORDS.get(step.state, step.state):<9}"
        print(
            f"{step.node:<{self._columns}}  {self._paint(step.state, word)}  {self._about(step)}".rstrip(), flush=True
        )

    def note(self, text: str) -> None:
        """Something about watching itself."""
        self.clear()
        print(f"precast: note: {visible(text)}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the bar away, so that something can be printed."""
        if self._has_bar:
            print("\r\033[K", end="", flush=True)
            self._has_bar = False

    def _say(self, said: OutputView) -> None:
        if self._is_json:
            self._output.append(said)
            return
        self.clear()
        self._columns = max(self._columns, len(said.node))
        for one in said.lines:
            mark = "|" if one.stream == "out" else self._paint("failed", "!")
            print(f"{said.node:<{self._columns}} {mark} {visible(one.text)}", flush=True)

    def _about(self, step: StepView) -> str:
        result = step.result
        parts = [_figures(result)] if result is not None else []
        if result is not None and result.is_noop and self._mode == "enforce" and not step.message:
            parts.append("it only looked, as its policy says")  # an agent that does not say why
        parts += [visible(step.message)] if step.message else []
        took_s = (step.ended_at - step.began_at).total_seconds() if step.began_at and step.ended_at else 0.0
        parts += [f"{took_s:.1f} s"] if took_s >= LEAST_TOLD_S else []
        if step.report is not None and step.state == "failed":
            parts.append(f"see `precast report show {step.report}`")
        return "; ".join(part for part in parts if part)

    def _bar(self, run: RunView) -> None:
        if not self.is_live:
            return
        self.clear()
        ended = sum(run.counts.get(state, 0) for state in ENDS)
        filled = BAR_COLUMNS * ended // max(run.nodes, 1)
        bar = self._paint("done", "█" * filled) + "░" * (BAR_COLUMNS - filled)
        at_it = sorted(one.node for one in self._steps.values() if one.state == "began")
        who = f"  now: {', '.join(at_it[:3])}{' …' if len(at_it) > 3 else ''}" if at_it else ""
        seconds = time.monotonic() - self._began_s
        print(f" {bar} {ended}/{run.nodes}  {told(run)}  {seconds:.0f} s{who}", end="", flush=True)
        self._has_bar = True

    def _paint(self, state: str, text: str) -> str:
        return f"\033[{COLOURS[state]}m{text}\033[0m" if self._has_colour and state in COLOURS else text


def told(run: RunView) -> str:
    """How many nodes are in which state, the ends first."""
    order = [*ENDS, "began", "ordered", "waiting"]
    parts = [f"{run.counts[state]} {WORDS.get(state, state)}" for state in order if run.counts.get(state)]
    return ", ".join(parts) or "no nodes"


def _figures(result: StepResult) -> str:
    if result.code is not None or result.signal is not None:
        return f"{result.cut_bytes} bytes of output are cut" if result.cut_bytes else ""
    counted = (
        (result.changed, "changed"),
        (result.pending, "would change"),
        (result.failed, "failed"),
        (result.skipped, "skipped"),
        (result.waiting, "waiting"),
        (result.corrective, "corrected"),
    )
    words = [f"{count} {word}" for count, word in counted if count] or ["all as wanted"]
    return f"{', '.join(words)} of {result.resources}" + (", stale" if result.is_stale else "")


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
