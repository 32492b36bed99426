"""Prints boots: event by event while they run, and as status, explanation and timeline afterwards."""

import difflib
from collections.abc import Sequence
from typing import Any

from precast.base.spans import visible
from precast.boot import events
from precast.boot.events import AnyEvent, Result
from precast.boot.history import BootHistory, SourceHistory
from precast.boot.source_choice import SourceChoice
from precast.boot.sources.contract import MachineAccess
from precast.boot.timeline import Timeline
from precast.cli import issues
from precast.cli.console.output import print_json, print_table


class Printer:
    """Prints events as they happen, or with `is_json` one document at the end. Modules without work are only counted."""

    def __init__(self, is_json: bool, is_all: bool = False) -> None:
        self._is_json = is_json
        self._is_all = is_all
        self._history = BootHistory()

    def print_event(self, event: AnyEvent) -> None:
        self._history.add(event)
        if self._is_json:
            return
        for line in () if self._is_idle(event) else _lines(event, self._history):
            print(visible(line), flush=True)

    def _is_idle(self, event: AnyEvent) -> bool:
        if self._is_all:
            return False
        match event:
            case events.SourceAnswered():
                return self._history.sources[event.source].is_idle
            case events.ModuleLeftOut() | events.ModuleEnded():
                return self._history.module_runs[event.module_run].is_idle
            case _:
                return False

    def finish(self) -> None:
        if self._is_json:
            print_json(as_json(self._history))
        else:
            print(_summary(self._history, self._is_all))
            if not self._is_all and (
                count := sum(module_run.is_idle for module_run in self._history.module_runs.values())
            ):
                print(f"{count} more had nothing to do: --all shows them")


def _lines(event: AnyEvent, history: BootHistory) -> list[str]:
    match event:
        case events.SourceAnswered():
            return [f"source {event.source}: {history.sources[event.source].words}"]
        case events.ConfigurationMade():
            return _describe_findings(event)
        case events.ModuleLeftOut():
            return [f"{event.module_run}: not run: {event.reason}"]
        case events.ModuleEnded():
            module_run = history.module_runs[event.module_run]
            changes = [f"  {change}" for change in event.changes]
            return [
                f"{event.module_run}: {module_run.words}",
                *changes,
                *(f"  warning: {text}" for text in event.warnings),
            ]
        case _:
            return []


def _describe_findings(made: events.ConfigurationMade | BootHistory) -> list[str]:
    return [
        *(f"not carried out: {text}" for text in made.rejected),
        *(f"warning: {text}" for text in made.findings),
    ]


def _summary(history: BootHistory, is_all: bool = False) -> str:
    module_runs = [module_run for module_run in history.module_runs.values() if is_all or not module_run.is_idle]
    counts = [
        f"{sum(module_run.result == Result.DONE for module_run in module_runs)} done",
        f"{sum(module_run.result == Result.FAILED for module_run in module_runs)} failed",
        f"{sum(module_run.result in (None, Result.NOT_RUN) and not module_run.is_open for module_run in module_runs)} not run",
    ]
    if cut_off := sum(module_run.result == Result.CUT_OFF for module_run in module_runs):
        counts.append(f"{cut_off} cut off")
    if is_open := sum(module_run.is_open for module_run in module_runs):
        counts.append(f"{is_open} not ended")
    subject = f"instance {visible(history.instance_id)}" if history.instance_id else "no instance"
    dry = " (dry run: nothing was changed)" if history.began is not None and history.began.is_dry_run else ""
    end = "" if history.is_finished else "; not finished"
    return f"{subject}: {', '.join(counts)} in {history.length_s:.3f} s{dry}{end}"


def print_status(history: BootHistory, is_json: bool) -> None:
    if is_json:
        print_json(as_json(history))
        return
    began = history.began
    if began is not None:
        print(f"booted {began.began_at}, stages: {', '.join(history.stages)}")
    if (identity := history.identity) is not None:
        print(f"identity: {identity.name} ({visible(identity.origin)})")
    for line in _describe_findings(history):
        print(visible(line))
    for module_run in history.notable_runs:
        print(visible(f"{module_run.name}: {module_run.words}"))
        for warning in module_run.warnings:
            print(visible(f"  warning: {warning}"))
    print(_summary(history))


def print_explanation(history: BootHistory, names: Sequence[str], is_json: bool) -> None:
    """Explain everything, or only the given names. Raises NotFoundError CLI-032 for a name that is not part of the boot."""
    everything = [*history.sources, *history.capabilities, *history.module_runs]
    for name in names:
        if not any(_is_named(known, [name]) for known in everything):
            near = difflib.get_close_matches(name, everything, n=1)
            guess = f"; did you mean {near[0]}?" if near else ""
            raise issues.NOT_DOCUMENTED.error(what="source, capability or module in this boot", name=name, guess=guess)
    if is_json:
        print_json(as_json(history))
        return
    for name in everything:
        if _is_named(name, names):
            _explain(history, name)
    for line in _describe_findings(history) if not names else ():
        print(visible(line))


def _is_named(name: str, names: Sequence[str]) -> bool:
    """Whether a name was requested: itself, the module that it is a part of, or the capability whatever its purpose."""
    return not names or any(name == given or name.startswith((f"{given}/", f"{given}, ")) for given in names)


def _explain(history: BootHistory, name: str) -> None:
    if name in history.sources:
        _explain_source(history.sources[name])
    if name in history.capabilities:
        capability = history.capabilities[name]
        print(visible(f"{capability.name}: {capability.words}"))
        for at_s, module, reason in capability.holds:
            print(visible(f"  held back at {at_s:.3f} s by {module}: {reason}"))
    if name in history.module_runs:
        _explain_module_run(history, name)


def _explain_source(source: SourceHistory) -> None:
    print(visible(f"source {source.name}: {source.words}"))
    if source.asked_s is not None:
        sure = "confirmed" if source.is_confirmed else "possible"
        print(visible(f"  rank {source.rank}, {sure}: {source.likelihood}"))
    if source.offers:
        print(f"  offers {', '.join(source.offers)}")


def _explain_module_run(history: BootHistory, name: str) -> None:
    module_run = history.module_runs[name]
    print(visible(f"module {module_run.name}: {module_run.words}"))
    for wait in module_run.waits:
        print(visible(f"  waits for {wait}"))
    if module_run.started_s is not None and module_run.planned_s is not None:
        delay_s = module_run.started_s - module_run.planned_s
        print(f"  started {module_run.started_s:.3f} s after the beginning, {delay_s:.3f} s after it was planned")
    for text in (*module_run.changes, *(f"warning: {warning}" for warning in module_run.warnings)):
        print(visible(f"  {text}"))


def print_timeline(timeline: Timeline, is_json: bool) -> None:
    if is_json:
        rows = [row._asdict() for row in timeline.rows]
        print_json({"length_s": timeline.length_s, "rows": rows, "critical": timeline.critical})
        return
    size = max((len(visible(row.name)) for row in timeline.rows), default=0)
    for row in timeline.rows:
        mark = "*" if row.name in timeline.critical else " "
        print(
            f"{mark}{visible(row.name).ljust(size)} |{timeline.draw_bar(row)}| {row.start_s:8.3f} + {row.end_s - row.start_s:.3f} s"
        )
    print(f"{timeline.length_s:.3f} s; critical path (*): {' → '.join(map(visible, timeline.critical)) or 'nothing'}")


async def print_sources(choice: SourceChoice, access: MachineAccess, is_serial: bool, is_json: bool) -> None:
    """Probe the sources, and print each as soon as it answers."""
    from precast.boot.strategies.parallel import Parallel
    from precast.boot.strategies.serial import Serial

    strategy = Serial() if is_serial else Parallel()
    rows: dict[str, dict[str, Any]] = {}
    async for source, answer in strategy.search(choice.sources, access):
        here = answer.detected
        row = {"is_here": here is not None, "reason": answer.reason}
        if here is not None:
            offers = sorted(capability.value for capability in here.capabilities)
            row |= {"origin": here.origin, "instance_id": here.instance_id, "offers": offers}
        rows[source.name] = row
        if not is_json:
            words = answer.reason if here is None else f"here: {here.origin}, instance {here.instance_id}"
            print(visible(f"{source.name}: {words}"), flush=True)
    if is_json:
        print_json({"sources": rows, "ruled_out": dict(choice.ruled_out)})
        return
    print_table(["not probed", "why"], choice.ruled_out)


def as_json(history: BootHistory) -> dict[str, Any]:
    """The whole history as data."""
    import dataclasses

    began = history.began
    identity = history.identity
    return {
        "boot_id": began.boot_id if began is not None else "",
        "began": began.began_at if began is not None else None,
        "stages": history.stages,
        "instance_id": history.instance_id,
        "identity": identity.name if identity is not None else None,
        "complete": history.is_complete,
        "seconds": history.length_s,
        "sources": [dataclasses.asdict(source) for source in history.sources.values()],
        "capabilities": [dataclasses.asdict(capability) for capability in history.capabilities.values()],
        "modules": [
            {
                **dataclasses.asdict(module_run),
                "result": _name_result(module_run.result),
                "earlier_result": _name_result(module_run.earlier_result),
            }
            for module_run in history.module_runs.values()
        ],
        "findings": list(history.findings),
        "rejected": list(history.rejected),
    }


def _name_result(result: Result | None) -> str | None:
    return result.value if result is not None else None
