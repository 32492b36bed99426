"""Has orders carried out: claims those that wait when the node is free, and starts the process of the one that was granted first.

One order is carried out at a time, and none while a local run holds the node's lease. An order that a process has begun and not answered
is repeated or answered as interrupted, as its kind decides; that also applies to the orders of an earlier daemon.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from precast.agent.applying.lease import runs_blocked
from precast.agent.applying.reporting.reporter import close_open_reports
from precast.agent.chores.leased_processes import LeasedProcesses
from precast.agent.chores.schedule import CHECK_S
from precast.agent.orders.claims import GrantedOrder
from precast.agent.orders.order_queue import OrderQueue
from precast.agent.orders.registry import OrderRegistry
from precast.agent.orders.work_process import WorkProcess
from precast.agent.state.spool import Spool
from precast.agent.state.store import LocalStore

log = logging.getLogger("precast.agent")

# How soon the chore looks again whether the node is free, and how long it waits after a process that did not begin.
RETRY_S = 5.0
# So many processes are started for an order that none of them begins.
MAX_STARTS = 3


class OrderChore:
    """Claims and carries out queued orders of all kinds."""

    def __init__(
        self,
        store: LocalStore,
        spool: Spool,
        orders: OrderRegistry,
        processes: LeasedProcesses,
        on_records: Callable[[], None],
        refresh: Callable[[timedelta], Awaitable[None]],
        restart: Callable[[], None],
    ) -> None:
        """`on_records` is called when this process has written records to send. `refresh` fetches the catalog, unless the last fetch is
        younger than its argument; `restart` ends and restarts the daemon.
        """
        self._store = store
        self._spool = spool
        self._orders = orders
        self._processes = processes
        self._on_records = on_records
        self._refresh = refresh
        self._restart = restart
        self._woken = asyncio.Event()
        self._starts = ("", 0)  # the order whose processes did not begin it, and how many there were

    def wake(self) -> None:
        """Check now whether there is an order to claim, to carry out or to abort."""
        self._woken.set()

    async def run(self) -> None:
        """Carry out orders for ever. Cancelling asks a run to stop, and leaves a command alone."""
        self._orders.claims.requeue()
        while True:
            self._woken.clear()
            if is_busy := self._processes.is_busy():
                self._watch_other_work()
            elif (granted := self._next_granted()) is not None:
                await self._carry_out(granted, self._orders.queue(granted.kind))
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RETRY_S if is_busy else CHECK_S):
                    await self._woken.wait()

    def _watch_other_work(self) -> None:
        """A local run, or a process that an earlier daemon has started, holds the lease."""
        self._orders.claims.requeue_granted()
        self._stop_aborted()
        self._processes.end_late()

    def _next_granted(self) -> GrantedOrder | None:
        """Answer what has ended without an answer, claim what waits, and return the order that may begin."""
        self._recover()
        if self._orders.claims.claim_waiting():
            self._on_records()
        return self._orders.claims.next_granted()

    def _recover(self) -> None:
        has_records = close_open_reports(self._store, self._spool, self._processes.kill_reason)
        with runs_blocked(self._processes.state) as is_free:
            if is_free:
                has_records |= self._orders.resolve_begun(self._processes.kill_reason)
                self._processes.kill_reason = ""
        if has_records:
            self._on_records()

    async def _carry_out(self, granted: GrantedOrder, orders: OrderQueue[Any]) -> None:
        if orders.needs_catalog:
            # An order means the catalog that is released now, which the server may not have announced to this node yet.
            await self._refresh(timedelta(0))
        order = orders.find(granted.id)
        if order is None or not self._orders.claims.is_granted(granted.id) or self._processes.is_busy():
            return  # it was aborted meanwhile, or is claimed again, or a local run has begun
        process = orders.process(order)
        if process is None:
            await self._restart_daemon(granted.id, orders)
        else:
            await self._run(process)
            await self._note_failed_start(granted.id, orders)

    async def _run(self, process: WorkProcess) -> None:
        """Run a process to its end; it is asked to stop when its order is aborted."""
        running = asyncio.create_task(self._processes.carry_out(process))
        try:
            while not running.done():
                woken = asyncio.create_task(self._woken.wait())
                await asyncio.wait({running, woken}, return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
                self._woken.clear()
                self._stop_aborted()
        except asyncio.CancelledError:
            running.cancel()
            await asyncio.wait({running})
            raise
        if code := running.result():
            log.warning("the process of the order %s has ended with the exit code %s", process.order, code)

    def _stop_aborted(self) -> None:
        for order_id in self._orders.claims.aborted():
            self._processes.stop_order(order_id)

    async def _restart_daemon(self, order_id: str, orders: OrderQueue[Any]) -> None:
        with runs_blocked(self._processes.state) as is_free:
            if is_free:
                orders.begin(order_id)
                self._restart()
                await asyncio.Event().wait()  # until this daemon ends

    async def _note_failed_start(self, order_id: str, orders: OrderQueue[Any]) -> None:
        """Start the process of an order again a few times if it did not begin, though nothing else holds the lease."""
        if self._processes.is_busy() or not self._orders.claims.is_granted(order_id):
            return
        last, count = self._starts
        self._starts = (order_id, count + 1 if last == order_id else 1)
        if self._starts[1] >= MAX_STARTS:
            orders.give_up(order_id, f"its process was started {MAX_STARTS} times, and did not begin")
        else:
            await asyncio.sleep(RETRY_S)
