"""A whole run on this node: the lease, the memory, the plan, the engine, the sums.

Everything is joined here and nowhere else, so that `precast apply` and the agent's runs are the same run.
"""

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from precast.agent.applying.binding import Binder, CallFunction
from precast.agent.applying.engine import Engine, Tell
from precast.agent.applying.lease import held
from precast.agent.applying.machine import Contents, Machine
from precast.agent.applying.memory import Memory
from precast.agent.applying.options import Options
from precast.agent.applying.planning import make_plan
from precast.agent.applying.purging import with_purged
from precast.agent.applying.reporting.counts import Tally
from precast.agent.state.notes import RunNote
from precast.agent.state.store import LocalStore, noting
from precast.base.clock import Clock, SystemClock
from precast.base.errors import PrecastError
from precast.catalog.body import Body
from precast.catalog.source_map import SourceMap
from precast.types.ordering import NO_TYPES, Types
from precast.wire.reports.events import ResourceReport, Summary

if TYPE_CHECKING:  # most runs tell nobody, and need none of it
    from precast.agent.applying.reporting.stream import Reporter


class Job(NamedTuple):
    """What is to be applied, and where."""

    body: Body
    places: SourceMap | None
    version: str = ""
    root: Path = Path("/")
    state: Path | None = None  # what the agent's own paths are below; None: the usual place
    is_chroot: bool = False
    contents: Contents | None = None
    call: CallFunction | None = None  # for Deferred values
    holder: str = ""  # told to whoever wants to run at the same time
    wait_s: float = 0.0
    types: Types = NO_TYPES  # that modules declare
    begins: Callable[[LocalStore], None] | None = None  # told under the lease, before anything is done; may refuse
    reporter: "Reporter | None" = None  # tells the servers; None where there are none


def apply(
    job: Job,
    options: Options,
    tell: Tell,
    *,
    starts: Callable[[str, int, int], None] = lambda ref, number, count: None,
    clock: Clock | None = None,
) -> Summary:
    """Run a catalog to its end; `tell` hears of each resource in order.

    Raises ConflictError APPLY-001 if another run holds the node, InputError CATALOG-001 and CATALOG-002 for a graph that cannot be
    applied; then nothing was done.
    """
    clock = clock or SystemClock()
    started_s = clock.monotonic_s()
    store = LocalStore.open(job.state or state_root(job.root), lambda: os.urandom(16).hex(), clock)
    try:
        reporter = job.reporter
        opens = None if reporter is None else partial(reporter.begin, store)
        with held(store, job.holder or holder(clock), job.wait_s, opens) as lease, _reported(job, store):
            memory = Memory.load(store)
            machine = Machine(str(job.root), str(store.path.parent), clock, job.contents, job.is_chroot, memory)
            plan = make_plan(with_purged(job.body, machine), job.places, machine, job.types)
            tally = Tally()
            planned_s = clock.monotonic_s()

            def told(report: ResourceReport) -> None:
                tally.add(report)
                if reporter is not None:
                    reporter.add(report)
                tell(report)

            gc.freeze()  # the plan lives to the end; what turns make is garbage like any other
            gc.enable()
            engine = Engine(
                plan,
                machine,
                memory,
                options,
                told,
                binder=Binder(memory, job.call),
                starts=_counted(starts, len(plan.sequence)),
            )
            with _stoppable(engine.stop):
                is_complete = engine.run()
            applied_s = clock.monotonic_s()
            machine.finish()
            if not options.is_noop:
                memory.save(store, lease, clock.now())
            ended_s = clock.monotonic_s()
            summary = tally.summary(ended_s - started_s, options.is_noop, is_complete)
            if reporter is not None:
                reporter.stop()
            with store.writing() as db:
                noting(db, _note(job, summary, clock))
                if reporter is not None:
                    phases = {
                        "plan": planned_s - started_s,
                        "apply": applied_s - planned_s,
                        "finish": ended_s - applied_s,
                    }
                    reporter.end(store, db, "ended", summary, phases)
    finally:
        store.close()
    return summary


@contextmanager
def _reported(job: Job, store: LocalStore) -> Iterator[None]:
    """A run that is refused is not told; one that fails as a whole is, with the reason."""
    reporter = job.reporter
    try:
        if job.begins is not None:
            job.begins(store)
    except PrecastError:
        if reporter is not None:
            reporter.withdraw(store)
        raise
    if reporter is None:
        yield
        return
    reporter.start()
    try:
        yield
    except PrecastError as error:
        reporter.give_up(store, f"{error.message} [{error.code}]")
        raise
    finally:
        reporter.stop()
        reporter.knock(store)


def _note(job: Job, summary: Summary, clock: Clock) -> RunNote:
    return RunNote(
        ended_at=clock.now(),
        catalog=job.version,
        is_noop=summary.is_noop,
        changed=summary.changed,
        failed=summary.failed,
        skipped=summary.skipped,
        waiting=summary.waiting,
        resources=summary.resources,
        seconds=summary.seconds,
    )


def state_root(root: Path) -> Path:
    """Where the agent's own state lies: below the root, or for somebody who is not root, in their own directory."""
    if os.geteuid() == 0 or root.resolve() != Path("/"):
        return root
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(base) / "precast"


def holder(clock: Clock) -> str:
    """This process, for whoever finds the node held."""
    return f"process {os.getpid()} since {clock.now():%Y-%m-%d %H:%M:%SZ}"


def _counted(starts: Callable[[str, int, int], None], count: int) -> Callable[[str], None]:
    number = 0

    def started(ref: str) -> None:
        nonlocal number
        number += 1
        starts(ref, number, count)

    return started


@contextmanager
def _stoppable(stop: threading.Event) -> Iterator[None]:
    """The first request to end lets the resource whose turn it is finish; the second ends at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def wind_up(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, wind_up) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
