"""One run on this node from its lease to its summary: resource memory, plan, engine and report.

The parts are put together here and nowhere else, so that `precast apply` and the agent's runs are the same.
"""

import contextlib
import gc
import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from precast.agent.applying.engine import Engine, OnReport
from precast.agent.applying.lease import Lease, lease_held, lease_shared
from precast.agent.applying.machine import Contents, Machine
from precast.agent.applying.options import RunOptions
from precast.agent.applying.plan import make_plan
from precast.agent.applying.purge import add_purged
from precast.agent.applying.reporting.tally import Tally
from precast.agent.applying.resource_memory import ResourceMemory
from precast.agent.applying.value_binder import NOT_HERE, CallFunction, ValueBinder
from precast.agent.futures.run_options import FutureOptions, RunReport, open_values
from precast.agent.futures.run_values import RunValues
from precast.agent.state.status_notes import RunNote
from precast.agent.state.store import LocalStore, put_note
from precast.agent.state.wakeup import wake_daemon
from precast.base.clock import Clock, SystemClock
from precast.base.errors import PrecastError
from precast.base.home import home_directory
from precast.catalog.body import Body
from precast.catalog.futures import has_futures
from precast.catalog.source_map import SourceMap
from precast.types.ordering import NO_TYPES, Types
from precast.wire.reports.events import ResourceReport, Summary

if TYPE_CHECKING:  # a run without servers needs no reporter
    from precast.agent.applying.reporting.reporter import Reporter


OnStart = Callable[[str, int, int], None]


class RunRequest(NamedTuple):
    """What a run applies, and where."""

    body: Body
    places: SourceMap | None
    version: str = ""
    root: Path = Path("/")
    state: Path | None = None  # the root of the agent's own paths; None for the usual one
    is_chroot: bool = False
    contents: Contents | None = None
    call: CallFunction | None = None  # for Deferred values
    no_secret: str = NOT_HERE  # why a secret that the catalog still has as a reference has no value
    known: Body | None = None  # the whole catalog, if the body is a part of it: its other resources are left alone
    holder: str = ""  # named to another run that is refused because of this one
    wait_s: float = 0.0
    token: int | None = None  # of the lease that the caller holds; None to take it
    types: Types = NO_TYPES  # the types that modules declare
    begins: Callable[[LocalStore], None] | None = (
        None  # called under the lease before anything else; may refuse the run
    )
    # Called in the transaction that notes the end of the run, before its report. Returns why the run was broken off, if it was.
    ends: Callable[[LocalStore, sqlite3.Connection, Summary], str] | None = None
    life: str | None = None  # the life that the catalog was released to; None for one that a person gives
    reporter: "Reporter | None" = None  # reports to the servers; None if there are none
    futures: FutureOptions = FutureOptions()


def apply(
    request: RunRequest,
    options: RunOptions,
    on_report: OnReport,
    *,
    on_start: OnStart = lambda ref, number, count: None,
    clock: Clock | None = None,
) -> Summary:
    """Apply a catalog; `on_report` is called with the report of each resource, in order.

    Raises ConflictError APPLY-001 if another run holds the lease, InputError CATALOG-001 and CATALOG-002 for a graph that cannot be
    applied; then nothing was done.
    """
    clock = clock or SystemClock()
    started_s = clock.monotonic_s()
    store = LocalStore.open(
        request.state or state_root(request.root), lambda: os.urandom(16).hex(), clock, request.life
    )
    reporter = request.reporter

    def add_report(report: ResourceReport) -> None:
        if reporter is not None:
            reporter.add(report)
        on_report(report)

    try:
        with _lease(request, store) as lease, _reported(request, store):
            execution = _execute(request, options, store, add_report, on_start, lease)
            if not options.is_noop:
                execution.memory.save(store, lease)
            ended_s = clock.monotonic_s()
            summary = execution.tally.summary(ended_s - started_s, options.is_noop, execution.is_complete)
            if reporter is not None:
                reporter.stop()
            with store.transaction() as db:
                put_note(db, _run_note(request, summary, clock))
                why = "" if request.ends is None else request.ends(store, db, summary)
                if reporter is not None:
                    phases = {
                        "plan": execution.planned_s - started_s,
                        "apply": execution.applied_s - execution.planned_s,
                        "finish": ended_s - execution.applied_s,
                    }
                    reporter.end(store, db, "broken-off" if why else "ended", summary, phases, why)
    finally:
        store.close()
    return summary


def look(request: RunRequest, options: RunOptions, store: LocalStore, on_report: OnReport) -> Summary:
    """What a no-op run would report, without a run: it has no report, and nothing notes that it took place. The caller holds the lease.

    Raises as `apply` does.
    """
    started_s = store.clock.monotonic_s()
    execution = _execute(request, options._replace(is_noop=True), store, on_report, lambda ref, number, count: None)
    return execution.tally.summary(execution.applied_s - started_s, True, execution.is_complete)


class _Execution(NamedTuple):
    """A plan that was executed: what it leaves to be stored."""

    tally: Tally
    memory: ResourceMemory
    is_complete: bool
    planned_s: float
    applied_s: float


def _execute(
    request: RunRequest,
    options: RunOptions,
    store: LocalStore,
    on_report: OnReport,
    on_start: OnStart,
    lease: Lease | None = None,
) -> _Execution:
    """Plan a catalog and apply each of its resources."""
    memory, values = ResourceMemory.load(store), _values(request, options, store, lease)
    machine = Machine(
        str(request.root),
        str(store.path.parent),
        store.clock,
        request.contents,
        request.is_chroot,
        memory,
        values,
        is_noop=options.is_noop,
        trusts_code=not options.is_look_only,
        bridged_types=options.bridged_types,
    )
    with contextlib.closing(machine):
        return _execute_on(machine, request, options, (memory, values), store, on_report, on_start)


def _execute_on(
    machine: Machine,
    request: RunRequest,
    options: RunOptions,
    remembered: tuple[ResourceMemory, RunValues],
    store: LocalStore,
    on_report: OnReport,
    on_start: OnStart,
) -> _Execution:
    (memory, values), clock, tally = remembered, store.clock, Tally()
    body = add_purged(request.body, machine, request.known, is_look_only=options.is_look_only)
    plan = make_plan(body, request.places, machine, request.types, request.known)
    planned_s = clock.monotonic_s()

    def add_report(report: ResourceReport) -> None:
        tally.add(report)
        on_report(report)

    gc.freeze()  # the plan lives to the end; only what applying resources allocates need be collected
    gc.enable()
    engine = Engine(
        plan,
        machine,
        memory,
        options,
        add_report,
        values=values,
        binder=ValueBinder(values, None if options.is_look_only else request.call, request.no_secret),
        on_start=_with_count(on_start, len(plan.sequence)),
    )
    with _stoppable(engine.stop):
        is_complete = engine.run()
    applied_s = clock.monotonic_s()
    machine.finish()
    return _Execution(tally, memory, is_complete, planned_s, applied_s)


def _values(request: RunRequest, options: RunOptions, store: LocalStore, lease: Lease | None) -> RunValues:
    """The values of the run; without a lease nothing is told to servers."""
    if not has_futures(request.known or request.body):
        return RunValues()
    path, life, reporter = request.state or state_root(request.root), request.life, request.reporter
    report = None if reporter is None or lease is None else RunReport(reporter.report, lease.token, reporter.limits)
    return open_values(
        request.futures,
        store,
        lambda: LocalStore.open(path, lambda: os.urandom(16).hex(), store.clock, life),
        request.version,
        report,
        is_noop=options.is_noop,
    )


def _lease(request: RunRequest, store: LocalStore) -> AbstractContextManager[Lease]:
    """The lease of a run, in whose first transaction its report is opened."""
    on_lease = None if request.reporter is None else partial(request.reporter.begin, store)
    if request.token is not None:
        return lease_shared(store, request.token, on_lease)
    return lease_held(store, request.holder or describe_holder(store.clock), request.wait_s, on_lease)


@contextmanager
def _reported(request: RunRequest, store: LocalStore) -> Iterator[None]:
    """Report the run inside the block. A refused run is not reported; a run that fails as a whole is reported with the reason."""
    reporter = request.reporter
    try:
        if request.begins is not None:
            request.begins(store)
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
        wake_daemon(store.path.parent)


def _run_note(request: RunRequest, summary: Summary, clock: Clock) -> RunNote:
    return RunNote(
        ended_at=clock.now(),
        catalog=request.version,
        is_noop=summary.is_noop,
        changed=summary.changed,
        failed=summary.failed,
        skipped=summary.skipped,
        waiting=summary.waiting,
        resources=summary.resources,
        seconds=summary.seconds,
    )


def state_root(root: Path) -> Path:
    """The root of the agent's own state: the given root, or for a user other than root a directory of that user."""
    if os.geteuid() == 0 or root.resolve() != Path("/"):
        return root
    base = os.environ.get("XDG_STATE_HOME") or home_directory() / ".local/state"
    return Path(base) / "precast"


def describe_holder(clock: Clock) -> str:
    """Describe this process for a run that is refused because this one holds the lease."""
    return f"process {os.getpid()} since {clock.now():%Y-%m-%d %H:%M:%SZ}"


def _with_count(on_start: OnStart, count: int) -> Callable[[str], None]:
    number = 0

    def count_start(ref: str) -> None:
        nonlocal number
        number += 1
        on_start(ref, number, count)

    return count_start


@contextmanager
def _stoppable(stop: threading.Event) -> Iterator[None]:
    """Handle signals inside the block: the first lets the run finish the current resource, the second ends it at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle_signal(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, handle_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
