"""The order to collect facts now and send them."""

from precast.agent.orders.standing_order import StandingOrder
from precast.wire.sessions import COLLECT, CollectOrder


class CollectOrders(StandingOrder[CollectOrder]):
    """Answered by the facts that are sent."""

    name = COLLECT
    message = CollectOrder
    chore = "facts"
    fallback = CollectOrder()
