"""Confirms orders as a node does, and waits until they are removed."""

import asyncio

from precast.services.sessions.orders import OrderService


async def confirm(orders: OrderService, node: str, through: int) -> None:
    """Remove the orders of a node through this number."""
    removed: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    orders.confirm(node, through, removed)
    await removed
