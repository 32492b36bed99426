"""The agent's daemon: one loop, one connection, one local store, and children for everything that is large or can hang.

It runs as root on every node, so it stays small: it knows neither the language nor keys. What it knows is in the local store, and
it can be killed at any moment.
"""

import asyncio
import contextlib
import gc
import logging
import os
import secrets
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from precast import __version__
from precast.agent import issues, logs
from precast.agent.chores.apply import ApplyChore
from precast.agent.chores.children import Children, watch_by_descriptor
from precast.agent.chores.chores import CertificateChore, FactsChore, name_of
from precast.agent.chores.commands import ExecChore
from precast.agent.chores.fetch import FetchChore
from precast.agent.connection.link import Link
from precast.agent.connection.session import Session
from precast.agent.identity.credentials import Credentials
from precast.agent.notify import Notifier
from precast.agent.orders.commands import ExecOrders
from precast.agent.orders.runs import Orders
from precast.agent.settings import AgentSettings
from precast.agent.state.lock import only_one
from precast.agent.state.notes import CertificateNote, DaemonNote, FactsNote
from precast.agent.state.spool import Limits, Spool
from precast.agent.state.store import LocalStore, place, set_aside
from precast.agent.state.wake import listening
from precast.base.clock import SystemClock
from precast.base.errors import PrecastError
from precast.wire.jobs.orders import EXEC, RUN
from precast.wire.sessions import COLLECT, FACTS, RENEW, Released, Welcome

log = logging.getLogger("precast.agent")

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# How soon it is noticed that another process has put something into the spool, if that does not knock.
LOOK_S = 2.0
RETRY_S = 30.0


class Start(NamedTuple):
    """What a daemon is started with."""

    root: Path
    program: Sequence[str]  # how to start `precast`
    options: Sequence[str]  # for every child
    environment: Mapping[str, str]  # the same settings for them
    load: Callable[[], AgentSettings]  # again at every reload


def serve(start: Start) -> None:
    """Run until SIGTERM or SIGINT.

    Raises ConflictError AGENT-014 if one runs already, UnavailableError AGENT-010, and what loading the settings raises.
    """
    settings = start.load()
    logs.set_up(settings.log_level, _below(start.root, settings.log_file), os.environ)
    with only_one(start.root), _opened(start.root) as store:
        watch_by_descriptor()
        with asyncio.Runner() as runner:
            runner.run(Daemon(start, settings, store).run())


class Daemon:
    """Joins the parts, and hands what happens in one to the others."""

    def __init__(self, start: Start, settings: AgentSettings, store: LocalStore) -> None:
        self._start = start
        self._store = store
        self._notifier = Notifier(os.environ)
        self._spool = Spool(store, _limits(settings))
        self._session = Session(store, self._spool, self, _new_id, _boot_id(), settings.ack_horizon.total_seconds())
        children = Children(start.program, start.options, start.environment)
        self._facts = FactsChore(children, store, settings, self._session.has_records.set)
        credentials = Credentials(start.root)
        self._certificate = CertificateChore(children, store, credentials, self._on_renewed)
        self._fetch = FetchChore(children, store, credentials, settings, lambda: self._apply.look())
        orders = Orders(store, self._spool)
        self._apply = ApplyChore(children, store, orders, settings, start.root, self._fetch.freshen)
        self._exec = ExecChore(children, ExecOrders(store, self._spool), settings, start.root)
        self._link = Link(self._session, store, credentials, settings.urls, name_of(store), self._certificate.look)

    async def run(self) -> None:
        """Run until told to stop; then everything is ended within seconds, and nothing is lost by it."""
        self._store.note(DaemonNote(os.getpid(), __version__, self._store.clock.now()))
        log.info("precast agent %s begins", __version__)
        async with _signals(self._reload) as stopped:
            tasks = asyncio.create_task(self._work(), name="precast-agent")
            self._notifier.tell(READY="1", STATUS="begun")
            # What is loaded by now stays: it need not be looked at again and again.
            gc.collect()
            gc.freeze()
            ending = asyncio.create_task(stopped.wait())
            await asyncio.wait([tasks, ending], return_when=asyncio.FIRST_COMPLETED)
            self._notifier.tell(STOPPING="1")
            ending.cancel()
            tasks.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await tasks
        log.info("precast agent ends")

    async def _work(self) -> None:
        failed: PrecastError | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                for work in (
                    self._link.run,
                    self._facts.run,
                    self._certificate.run,
                    self._fetch.run,
                    self._apply.run,
                    self._exec.run,
                    self._look_into_spool,
                ):
                    tasks.create_task(_steadily(work))
                tasks.create_task(self._feed_watchdog())
        except* PrecastError as group:
            failed = _first(group)  # raised below: here Python before 3.11.4 would put it into a group again
        except* Exception:
            log.critical("the agent fails, which is a bug", exc_info=True)
            raise
        if failed is not None:
            raise failed

    def on_welcome(self, url: str, welcome: Welcome) -> None:
        self._link.welcomed(url, welcome)
        self._notifier.tell(STATUS=f"connected to {url}")
        if self._store.noted(CertificateNote) is None:
            self._certificate.look()
        known = self._store.noted(FactsNote)
        if known is not None and known.digest != welcome.facts_digest and not self._spool.has(FACTS):
            self._facts.want()
        self._fetch.hear(welcome.catalog_digest, welcome.policy)

    def on_released(self, released: Released) -> None:
        log.info("a server says that something else counts for this node")
        self._fetch.hear(released.digest, released.policy, released.spread_s)

    def on_order(self, kind: str, why: str) -> None:
        log.info("a server ordered: %s%s", kind, f" ({why})" if why else "")
        if kind == COLLECT:
            self._facts.want()
        elif kind == RENEW:
            self._certificate.look()
        elif kind == RUN:
            self._apply.look()
        elif kind == EXEC:
            self._exec.look()

    def on_want(self) -> None:
        self._facts.want()

    def _on_renewed(self) -> None:
        self._link.renew()
        # Other authorities may have come with it, whose policy we could not check before.
        self._fetch.want()

    def _reload(self) -> None:
        """Take new settings; what is wrong with them is told, and the old ones stay."""
        try:
            settings = self._start.load()
            logs.set_up(settings.log_level, _below(self._start.root, settings.log_file), os.environ)
        except PrecastError as error:
            log.error("the settings are not reloaded: %s [%s]", error.message, error.code)
            return
        self._spool.limits = _limits(settings)
        self._facts.settings = self._fetch.settings = self._apply.settings = self._exec.settings = settings
        self._session.least_horizon_s = settings.ack_horizon.total_seconds()
        self._link.renew(settings.urls)
        log.info("the settings are reloaded")

    async def _look_into_spool(self) -> None:
        """Others put records there too. They knock; whoever does not is seen by the file that was changed."""
        seen = None
        with listening(self._store.path.parent, self._session.has_records.set):
            while True:
                now = self._store.read("PRAGMA data_version")
                if now != seen:
                    self._session.has_records.set()
                seen = now
                await asyncio.sleep(LOOK_S)

    async def _feed_watchdog(self) -> None:
        while self._notifier.watchdog_s is not None:
            self._notifier.tell(WATCHDOG="1")
            await asyncio.sleep(self._notifier.watchdog_s)


async def _steadily(work: Callable[[], Awaitable[None]]) -> None:
    """Go on when the store fails for a while, as it does on a full disk. Raises AGENT-011: a new start sets a damaged one aside."""
    while True:
        try:
            await work()
        except PrecastError as error:
            if issues.DAMAGED_STORE.matches(error):
                raise
            log.error("%s [%s]", error.message, error.code)
            await asyncio.sleep(RETRY_S)


@contextlib.contextmanager
def _opened(root: Path) -> Iterator[LocalStore]:
    """The store, whole; one that is damaged is set aside, and what was not sent is lost with it, which is said."""
    try:
        store = _checked(root)
    except PrecastError as error:
        if not issues.DAMAGED_STORE.matches(error):
            raise
        kept = set_aside(place(root), SystemClock().now())
        log.error("%s; it is kept as %s, and what was not sent is lost. A new one is begun", error.message, kept)
        store = _checked(root)
    try:
        yield store
    finally:
        store.close()


def _checked(root: Path) -> LocalStore:
    store = LocalStore.open(root, _new_id)
    try:
        store.check()
    except BaseException:
        store.close()
        raise
    return store


@contextlib.asynccontextmanager
async def _signals(reload: Callable[[], None]) -> AsyncIterator[asyncio.Event]:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    loop.add_signal_handler(signal.SIGHUP, reload)
    yield stopped


def _new_id() -> str:
    return secrets.token_hex(16)


def _boot_id() -> str:
    try:
        return BOOT_ID.read_text(encoding="ascii").strip() or "unknown"
    except OSError:
        return "unknown"


def _limits(settings: AgentSettings) -> Limits:
    return Limits(settings.spool_records, settings.spool_bytes)


def _below(root: Path, path: Path | None) -> Path | None:
    return None if path is None else root / path.relative_to("/") if path.is_absolute() else path


def _first(group: BaseExceptionGroup[PrecastError]) -> PrecastError:
    found = group.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found
