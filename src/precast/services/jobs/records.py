"""Stores what nodes report about orders as records of their sessions: claims, orders they did not follow, and the output of commands."""

from collections.abc import Sequence

from precast.services.jobs.results import AttemptResults, OrderReport
from precast.store.engine.lockstep import in_lockstep
from precast.store.engine.query import Transaction
from precast.wire.jobs import orders
from precast.wire.jobs.orders import Claim, ExecBegan, ExecEnded, ExecOutput, NotRun, OrderEnded, TaskEnded, TaskPhase
from precast.wire.sessions import FactsWanted

# The body of each kind of record. One handler stores all of them in order, because output counts only before the end of its command.
BODIES: dict[str, type[OrderReport]] = {
    orders.CLAIM: Claim,
    orders.NOT_RUN: NotRun,
    orders.EXEC_BEGAN: ExecBegan,
    orders.EXEC_OUTPUT: ExecOutput,
    orders.EXEC_ENDED: ExecEnded,
    orders.ORDER_ENDED: OrderEnded,
    orders.TASK_PHASE: TaskPhase,
    orders.TASK_ENDED: TaskEnded,
}
# Order records are stored after reports: a run that is given up has reported what it did.
RANK = 1


class OrderRecords:
    """Updates the attempts of jobs by the records of nodes."""

    def __init__(self, results: AttemptResults) -> None:
        self._results = results

    def store(self, reports: Sequence[tuple[str, OrderReport]]) -> Transaction[Sequence[FactsWanted | None]]:
        """Follow a batch of reports, each with its node: those of one node in order, and the nodes side by side."""
        by_node: dict[str, list[OrderReport]] = {}
        for node, report in reports:
            by_node.setdefault(node, []).append(report)
        # In the order of nodes, as every transaction locks attempts, so that two of them cannot deadlock.
        yield from in_lockstep(self._follow(node, by_node[node]) for node in sorted(by_node))
        return [None] * len(reports)

    def _follow(self, node: str, reports: Sequence[OrderReport]) -> Transaction[None]:
        for report in reports:
            yield from self._results.update_from_order(node, report)
