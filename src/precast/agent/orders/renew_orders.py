"""The order to renew the certificate now, and to trust the authorities that come with the new one."""

from precast.agent.orders.standing_order import StandingOrder
from precast.wire.sessions import RENEW, RenewOrder


class RenewOrders(StandingOrder[RenewOrder]):
    """Answered by the renewal itself."""

    name = RENEW
    message = RenewOrder
    chore = "certificate"
    fallback = RenewOrder()
