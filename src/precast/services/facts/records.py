"""Stores the fact uploads that nodes send as records of their sessions."""

from collections.abc import Sequence

from precast.base.errors import PrecastError
from precast.services.facts.service import FactService
from precast.store.engine.query import Transaction
from precast.store.facts.facts import ReceivedFacts
from precast.wire.sessions import FactsWanted


class FactRecords:
    """Passes fact records to the fact service, and asks a node for its stable part where the server lacks it."""

    def __init__(self, facts: FactService) -> None:
        self._facts = facts
        # The service's own method: this is called for every record of every node.
        self.prepare = facts.prepare

    def store(
        self, received: Sequence[tuple[str, ReceivedFacts]]
    ) -> Transaction[Sequence[FactsWanted | PrecastError | None]]:
        """Store a batch of fact sets. For each: the part that the node must send, the reason for a refusal, or None."""
        answers = yield from self._facts.take(received)
        return [
            answer if isinstance(answer, PrecastError) else FactsWanted(facts.digest) if answer.wants_stable else None
            for (_, facts), answer in zip(received, answers, strict=True)
        ]
