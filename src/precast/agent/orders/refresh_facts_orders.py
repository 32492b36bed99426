"""The order to collect facts now and to send them, as a step of a job. The facts are in the spool before the answer."""

from datetime import timedelta

from precast.agent.orders.plain_orders import PlainOrders
from precast.agent.orders.work_process import WAIT_S, WorkProcess
from precast.wire.jobs.orders import REFRESH_FACTS, PlainOrder

_LIMIT = timedelta(seconds=WAIT_S + 90)


class RefreshFactsOrders(PlainOrders):
    """Carried out again if its process dies."""

    name = REFRESH_FACTS
    noun = "collection of facts"
    is_idempotent = True

    def process(self, order: PlainOrder) -> WorkProcess:
        return WorkProcess(["agent", "facts", "--spool", "--order", order.order], order.order, _LIMIT)
