"""What a server answers to a query over the fleet: the rows in their order, or why there are none."""

from typing import Any, Protocol

import msgspec

from precast.base import canonical, digests
from precast.lang.issues import puppetdb as issues


class FleetAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The rows of a result; an error if it exceeds a limit."""

    rows: list[dict[str, Any]] = []
    error: str = ""


class EncodedAnswer(msgspec.Struct, frozen=True):
    """An answer in canonical JSON, with the digest that answers the question."""

    digest: digests.Digest
    data: bytes


class Fleet(Protocol):
    """What is known of all nodes of an environment."""

    def find(self, node: str, query: str) -> EncodedAnswer:
        """Answer a query of a node. Within one compile, equal queries get equal answers."""


class NoFleet:
    """What a command on one machine knows of the fleet."""

    def find(self, node: str, query: str) -> EncodedAnswer:
        """Raises LANG-785."""
        raise issues.NO_FLEET.error()


def encode_answer(answer: FleetAnswer) -> EncodedAnswer:
    data = canonical.encode(answer)
    return EncodedAnswer(digests.of_bytes(data), data)


def decode_answer(data: bytes) -> FleetAnswer:
    """Raises ValueError."""
    return _decoder.decode(data)


_decoder = msgspec.json.Decoder(FleetAnswer)
