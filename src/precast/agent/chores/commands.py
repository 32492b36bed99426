"""Has ordered commands run, each in a process of its own, where this node's own configuration allows that.

A command outlives a daemon that is started anew: it tells how it ended all the same.
"""

import asyncio
import contextlib
import logging
from pathlib import Path

from precast.agent.chores.children import Children
from precast.agent.orders.commands import ExecOrders, is_held
from precast.agent.settings import AgentSettings
from precast.agent.state.places import STATE
from precast.wire.jobs.orders import ExecOrder

log = logging.getLogger("precast.agent")

# Commands that run at the same time; others wait for their turn.
AT_ONCE = 4
LOOK_S = 30.0
# Beyond a command's own time, for the process around it to begin and to end.
GRACE_S = 60.0
NOT_ALLOWED = "this node runs no commands: allow_exec is not set in its configuration"


class ExecChore:
    """Starts commands when they come."""

    def __init__(self, children: Children, orders: ExecOrders, settings: AgentSettings, root: Path) -> None:
        self._children = children
        self._orders = orders
        self._state = root / STATE
        self._woken = asyncio.Event()
        self._at_it: set[str] = set()
        self.settings = settings

    def look(self) -> None:
        """Look now whether there is a command to run."""
        self._woken.set()

    async def run(self) -> None:
        """Run commands for ever. Cancelling leaves those under way alone."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._woken.clear()
                self._orders.settle(self._is_running)
                while len(self._at_it) < AT_ONCE and (order := self._orders.next()) is not None:
                    if not self.settings.allow_exec:
                        self._orders.refuse(order.order, NOT_ALLOWED)
                        continue
                    self._at_it.add(order.order)
                    tasks.create_task(self._follow(order))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await self._woken.wait()

    def _is_running(self, order_id: str) -> bool:
        return order_id in self._at_it or is_held(self._state, order_id)

    async def _follow(self, order: ExecOrder) -> None:
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
            self._at_it.discard(order.order)
            self._woken.set()
