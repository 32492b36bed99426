"""The agent's daemon: one event loop, one connection, one local store, and child processes for all work that is large or may hang.

It runs as root on every node, so it stays small: it imports neither the language nor cryptography. Its state is in the local store, and
it can be killed at any time. When the machine is enrolled again, or its state directory is deleted, the daemon ends everything it does and
begins again with the state of the new life, in the same process.
"""

import asyncio
import contextlib
import gc
import logging
import os
import secrets
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple, Protocol

from precast import __version__
from precast.agent import issues, logs
from precast.agent.chores.apply import ApplyChore
from precast.agent.chores.certificate import CertificateChore
from precast.agent.chores.child_processes import ChildProcesses, watch_by_descriptor
from precast.agent.chores.facts import FactsChore
from precast.agent.chores.fetch import FetchChore
from precast.agent.chores.leased_processes import LeasedProcesses
from precast.agent.chores.orders import OrderChore
from precast.agent.chores.schedule import node_name
from precast.agent.connection.session import Session
from precast.agent.connection.supervisor import ConnectionSupervisor
from precast.agent.futures.subscriptions import Subscriptions
from precast.agent.identity.credentials import Credentials
from precast.agent.identity.machine import read_machine
from precast.agent.notify import Notifier
from precast.agent.orders.collect_orders import CollectOrders
from precast.agent.orders.order_kind import ChoreName
from precast.agent.orders.registry import OrderRegistry, StoredOrder
from precast.agent.orders.renew_orders import RenewOrders
from precast.agent.settings import AgentSettings
from precast.agent.state.daemon_lock import daemon_locked
from precast.agent.state.life import has_changed, read_life
from precast.agent.state.spool import Spool, SpoolLimits
from precast.agent.state.status_notes import CertificateNote, DaemonNote, FactsNote
from precast.agent.state.store import LocalStore, set_aside, store_path
from precast.agent.state.wakeup import listening
from precast.base.clock import SystemClock
from precast.base.errors import PrecastError
from precast.wire.sessions import FACTS, Released, Welcome

log = logging.getLogger("precast.agent")

# How soon the daemon notices records of another process that could not wake it.
SPOOL_CHECK_S = 2.0
RETRY_S = 30.0
# How soon the daemon notices that the machine was enrolled again.
LIFE_CHECK_S = 1.0


class DaemonOptions(NamedTuple):
    """How a daemon is started."""

    root: Path
    program: Sequence[str]  # the command that starts `precast`
    options: Sequence[str]  # for every child process
    environment: Mapping[str, str]  # the settings of this process, for every child process
    load: Callable[[], AgentSettings]  # called again at every reload


class Chore(Protocol):
    """Recurring work of the daemon."""

    async def run(self) -> None:
        """Do the work for ever."""

    def wake(self) -> None:
        """Check now whether there is work."""


class DaemonEnd(Enum):
    """Why a daemon has ended: it was asked to stop, it is to be restarted, or another life of the node has begun."""

    STOP = "stop"
    RESTART = "restart"
    OTHER_LIFE = "other life"


def serve(options: DaemonOptions) -> bool:
    """Run until SIGTERM or SIGINT, or until a server orders a restart; whether the program is to be started again.

    Raises ConflictError AGENT-014 if another daemon is running, UnavailableError AGENT-010, and what loading the settings raises.
    """
    settings = options.load()
    logs.set_up(settings.log_level, _below(options.root, settings.log_file), os.environ)
    watch_by_descriptor()
    while True:
        with daemon_locked(options.root), _opened_store(options.root) as store, asyncio.Runner() as runner:
            end = runner.run(Daemon(options, settings, store).run())
        if end is not DaemonEnd.OTHER_LIFE:
            return end is DaemonEnd.RESTART
        settings = options.load()


class Daemon:
    """Connects the parts of the agent: it starts the chores, and wakes them for what the session receives."""

    def __init__(self, options: DaemonOptions, settings: AgentSettings, store: LocalStore) -> None:
        self._options = options
        self._store = store
        self._store_inode = store.path.stat().st_ino
        self._notifier = Notifier(os.environ)
        self._spool = Spool(store, _spool_limits(settings))
        orders = OrderRegistry(store, self._spool)
        horizon_s = settings.ack_horizon.total_seconds()
        subscriptions = Subscriptions(store, lambda: self._apply.wake())
        machine = read_machine(options.root)
        self._session = Session(
            store, self._spool, orders, self, _new_id, machine, horizon_s, subscriptions=subscriptions
        )
        children = ChildProcesses(options.program, options.options, options.environment)
        credentials = Credentials(options.root)
        self._facts = FactsChore(children, store, orders.find(CollectOrders), settings, self._session.has_records.set)
        self._certificate = CertificateChore(children, store, orders.find(RenewOrders), credentials, self._on_renewed)
        self._fetch = FetchChore(children, store, credentials, settings, lambda: self._apply.wake())
        processes = LeasedProcesses(children, store, options.root, self._on_process_ended)
        self._apply = ApplyChore(store, orders.claims, processes, settings, self._fetch.refresh)
        self._must_restart = asyncio.Event()
        has_records, restart = self._session.has_records.set, self._must_restart.set
        self._orders = OrderChore(store, self._spool, orders, processes, has_records, self._fetch.refresh, restart)
        self._chores: dict[ChoreName, Chore] = {
            "facts": self._facts,
            "certificate": self._certificate,
            "fetch": self._fetch,
            "apply": self._apply,
            "orders": self._orders,
        }
        connector = children.connector(credentials.certificate.exists, store.write_note)
        self._supervisor = ConnectionSupervisor(
            self._session, store, connector, settings.urls, node_name(store), self._certificate.wake
        )

    async def run(self) -> DaemonEnd:
        """Run until a signal asks the daemon to stop, a server to restart, or another life of the node begins. It then ends within
        seconds, and nothing is lost."""
        self._store.write_note(DaemonNote(os.getpid(), __version__, self._store.clock.now()))
        log.info("precast agent %s starts", __version__)
        async with _signals(self._reload) as stopped:
            work = asyncio.create_task(self._work(), name="precast-agent")
            other_life = asyncio.create_task(self._await_other_life())
            self._notifier.notify(READY="1", STATUS="started")
            # The modules that are loaded now stay loaded: later collections need not traverse their objects.
            gc.collect()
            gc.freeze()
            stop = asyncio.create_task(stopped.wait())
            restart = asyncio.create_task(self._must_restart.wait())
            await asyncio.wait([work, stop, restart, other_life], return_when=asyncio.FIRST_COMPLETED)
            is_other_life = other_life.done() and not stopped.is_set()
            is_restart = self._must_restart.is_set() and not stopped.is_set()
            if not is_other_life and not is_restart:
                self._notifier.notify(STOPPING="1")
            for task in (stop, restart, other_life, work):
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await _unless_other_life(work)
            if is_other_life or self._has_other_life():
                log.warning("this machine was enrolled again, or its state was deleted: the agent begins again")
                return DaemonEnd.STOP if stopped.is_set() else DaemonEnd.OTHER_LIFE
        log.info("precast agent %s", "restarts" if is_restart else "stops")
        return DaemonEnd.RESTART if is_restart else DaemonEnd.STOP

    async def _await_other_life(self) -> None:
        """Return when the machine has been enrolled again, or when the files of the store are no longer those that are open."""
        while True:
            if self._has_other_life():
                return
            await asyncio.sleep(LIFE_CHECK_S)

    def _has_other_life(self) -> bool:
        try:
            is_deleted = self._store.path.stat().st_ino != self._store_inode
            return is_deleted or has_changed(self._store.life, read_life(self._options.root))
        except FileNotFoundError:
            return True
        except (OSError, PrecastError):
            return False  # the disk has a problem, which is reported elsewhere

    async def _work(self) -> None:
        failure: PrecastError | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                for work in (self._supervisor.run, self._watch_spool, *(chore.run for chore in self._chores.values())):
                    tasks.create_task(_retry_failures(work))
                tasks.create_task(self._feed_watchdog())
        except* PrecastError as group:
            failure = _first(group)  # raised below: here Python before 3.11.4 would wrap it into another group
        except* Exception:
            log.critical("the agent has failed because of a bug", exc_info=True)
            raise
        if failure is not None:
            raise failure

    def on_welcome(self, url: str, welcome: Welcome) -> None:
        self._supervisor.note_welcome(url, welcome)
        self._notifier.notify(STATUS=f"connected to {url}")
        if self._store.read_note(CertificateNote) is None:
            self._certificate.wake()
        facts = self._store.read_note(FactsNote)
        is_sending = self._spool.has_unacknowledged(FACTS)
        if facts is not None and facts.digest != welcome.facts_digest and not is_sending:
            self._facts.wake()
        self._fetch.compare_released(welcome.catalog_digest, welcome.policy)
        self._orders.wake()

    def on_released(self, released: Released) -> None:
        log.info("the server has another catalog or another policy for this node")
        self._fetch.compare_released(released.digest, released.policy, released.spread_s)

    def on_order(self, order: StoredOrder) -> None:
        what = f"a {order.kind} of the order {order.about}" if order.about else f"an order: {order.kind}"
        log.info("received %s%s", what, f" ({order.why})" if order.why else "")
        self._chores[order.chore].wake()

    def on_facts_wanted(self) -> None:
        self._facts.wake()

    def _on_process_ended(self) -> None:
        self._apply.wake()
        self._orders.wake()

    def _on_renewed(self) -> None:
        self._supervisor.reconnect()
        # The renewal may have added authorities, and with these a policy may be valid that was refused before.
        self._fetch.wake()

    def _reload(self) -> None:
        """Load the settings again. If they are invalid, the error is logged and the old settings stay."""
        try:
            settings = self._options.load()
            logs.set_up(settings.log_level, _below(self._options.root, settings.log_file), os.environ)
        except PrecastError as error:
            log.error("the settings are not reloaded: %s [%s]", error.message, error.code)
            return
        self._spool.limits = _spool_limits(settings)
        for chore in (self._facts, self._fetch, self._apply):
            chore.settings = settings
        self._session.least_horizon_s = settings.ack_horizon.total_seconds()
        self._supervisor.reconnect(settings.urls)
        log.info("the settings are reloaded")

    async def _watch_spool(self) -> None:
        """Notice records that other processes put into the spool: by the wake-up pipe, or by the version of the store's file."""
        last_version = None
        with listening(self._store.path.parent, self._session.has_records.set):
            while True:
                version = self._store.read("PRAGMA data_version")
                if version != last_version:
                    self._session.has_records.set()
                last_version = version
                await asyncio.sleep(SPOOL_CHECK_S)

    async def _feed_watchdog(self) -> None:
        while self._notifier.watchdog_s is not None:
            self._notifier.notify(WATCHDOG="1")
            await asyncio.sleep(self._notifier.watchdog_s)


async def _retry_failures(work: Callable[[], Awaitable[None]]) -> None:
    """Start the work again when the store fails for a while, as it does on a full disk.

    Raises AGENT-011 for a damaged store, which the next start of the daemon sets aside, and AGENT-023 if another life has begun.
    """
    while True:
        try:
            await work()
        except PrecastError as error:
            if issues.DAMAGED_STORE.matches(error) or issues.OTHER_LIFE.matches(error):
                raise
            log.error("%s [%s]", error.message, error.code)
            await asyncio.sleep(RETRY_S)


async def _unless_other_life(work: Awaitable[None]) -> None:
    """Await the work. That another life has begun is no failure of it."""
    try:
        await work
    except PrecastError as error:
        if not issues.OTHER_LIFE.matches(error):
            raise


@contextlib.contextmanager
def _opened_store(root: Path) -> Iterator[LocalStore]:
    """Open the store. A damaged one is set aside and replaced; the log says that its unsent records are lost."""
    try:
        store = _open_checked(root)
    except PrecastError as error:
        if not issues.DAMAGED_STORE.matches(error):
            raise
        damaged = set_aside(store_path(root), SystemClock().now())
        log.error(
            "%s; it is kept as %s, and its unsent records are lost. A new store is created", error.message, damaged
        )
        store = _open_checked(root)
    if store.dropped is not None:
        log.warning(
            "the state of this machine's earlier enrolment is deleted: policy, catalog, and %d records that were not sent",
            store.dropped,
        )
    try:
        yield store
    finally:
        store.close()


def _open_checked(root: Path) -> LocalStore:
    store = LocalStore.open(root, _new_id)
    try:
        store.check()
    except BaseException:
        store.close()
        raise
    return store


@contextlib.asynccontextmanager
async def _signals(reload: Callable[[], None]) -> AsyncIterator[asyncio.Event]:
    """Install the signal handlers. Yields an event that is set when the daemon is to stop."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    loop.add_signal_handler(signal.SIGHUP, reload)
    yield stopped


def _new_id() -> str:
    return secrets.token_hex(16)


def _spool_limits(settings: AgentSettings) -> SpoolLimits:
    return SpoolLimits(settings.spool_records, settings.spool_bytes)


def _below(root: Path, path: Path | None) -> Path | None:
    return None if path is None else root / path.relative_to("/") if path.is_absolute() else path


def _first(group: BaseExceptionGroup[PrecastError]) -> PrecastError:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
