"""Adds many actions that wait for their time: copies of one that was created by a command, written beside the running server."""

import asyncio

import msgspec

from precast.base.ids import TimeOrderedIds
from precast.store.actions.actions import ActionRow, Actions
from precast.store.engine import location
from precast.store.engine.connect import connect
from precast.store.engine.query import Transaction

AT_ONCE = 500


def copy_action(database: str, action: str, count: int) -> None:
    """Add `count` copies of an action, each with an id of its own."""
    asyncio.run(_copy_action(database, action, count))


async def _copy_action(database: str, action: str, count: int) -> None:
    opened = await connect(location.parse(database))
    try:
        actions, ids = Actions(opened), TimeOrderedIds(opened.clock)
        original = await opened.read(actions.find, action)
        assert original is not None, f"the action {action} exists"
        nodes = await opened.read(actions.list_nodes, action)

        def add(copies: list[ActionRow]) -> Transaction[None]:
            for copy in copies:
                yield from actions.add(copy, nodes.items())

        for at in range(0, count, AT_ONCE):
            size = min(AT_ONCE, count - at)
            await opened.write(add, [msgspec.structs.replace(original, id=ids.new()) for _ in range(size)])
    finally:
        await opened.close()
