"""Has ordered commands run, each in a process of its own, if this node's configuration allows that.

A command survives a restart of the daemon: its own process answers how it ended.
"""

import asyncio
import contextlib
import logging
from pathlib import Path

from precast.agent.chores.child_processes import ChildProcesses
from precast.agent.orders.command_lock import is_command_locked
from precast.agent.orders.exec_orders import ExecOrders
from precast.agent.settings import AgentSettings
from precast.agent.state.paths import STATE
from precast.wire.jobs.orders import SignedExecOrder

log = logging.getLogger("precast.agent")

# Commands that run at the same time; further ones wait.
AT_ONCE = 4
CHECK_S = 30.0
# Beyond a command's own timeout, for the process around it to start and to end.
GRACE_S = 60.0
NOT_ALLOWED = "this node runs no commands: allow_exec is not set in its configuration"


class ExecChore:
    """Starts a process for each ordered command."""

    def __init__(self, children: ChildProcesses, orders: ExecOrders, settings: AgentSettings, root: Path) -> None:
        self._children = children
        self._orders = orders
        self._state = root / STATE
        self._woken = asyncio.Event()
        self._running: set[str] = set()
        self.settings = settings

    def wake(self) -> None:
        """Check now whether there is a command to run."""
        self._woken.set()

    async def run(self) -> None:
        """Run commands for ever. Cancelling leaves running commands alone."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._woken.clear()
                self._orders.recover(self._is_running)
                while len(self._running) < AT_ONCE and (order := self._orders.dispatch_next()) is not None:
                    if not self.settings.allow_exec:
                        self._orders.refuse(order.order, NOT_ALLOWED)
                        continue
                    self._running.add(order.order)
                    tasks.create_task(self._carry_out(order))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(CHECK_S):
                        await self._woken.wait()

    def _is_running(self, order_id: str) -> bool:
        return order_id in self._running or is_command_locked(self._state, order_id)

    async def _carry_out(self, order: SignedExecOrder) -> None:
        try:
            process = await self._children.start("agent", "exec", "--order", order.order)
            if process is None:
                self._orders.give_up(order.order, "a process could not be started")
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(order.timeout_s + GRACE_S):
                    code = await process.wait()
                    if code:
                        log.error("an ordered command could not be run: exit code %s", code)
        finally:
            self._running.discard(order.order)
            self._woken.set()
