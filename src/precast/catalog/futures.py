"""What a catalog promises to other nodes, and which of their values it needs: read from its resources.

The lists follow from the body alone, so they are stored with the catalog. They decide who may fulfil and who may read a key, which promises
a job waits for, and which waits the check of a job joins. Keys are known when a catalog is compiled.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from precast.catalog import unknown
from precast.catalog.body import Body

PROMISE_TYPE = "Promise"
# The scopes of a promise: its value stands in the environment for later runs too, or counts for the job only.
STANDING, RUN = "environment", "run"
# How long a resource waits for a value in a job, unless its future says so.
TIMEOUT_S = 600


class Need(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value that a resource needs: of exactly one promise, or (`many`) those of all nodes that promise the key.

    `at_least` is a number of nodes, `at_least_percent` a percentage of those that promise the key; without both all must.
    """

    key: str
    many: bool = False
    at_least: int | None = None
    at_least_percent: int | None = None
    timeout_s: int = TIMEOUT_S

    def count(self, promising: int) -> int:
        """How many values are enough, of so many nodes that promise the key. A percentage is rounded up."""
        if not self.many:
            return 1
        if self.at_least_percent is not None:
            return -(-promising * self.at_least_percent // 100)
        return promising if self.at_least is None else self.at_least


class FuturePromise(msgspec.Struct, frozen=True, omit_defaults=True):
    """A promise of a catalog: the resource, its key and its scope."""

    ref: str
    key: str
    scope: str = STANDING


class FutureNeed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A resource with one of the values that it needs."""

    ref: str
    need: Need


def list_promises(body: Body) -> list[FuturePromise]:
    """The promises that a node makes when it applies the catalog, in the order of the catalog."""
    promises = []
    for resource in body.resources:
        if resource.type == PROMISE_TYPE and not resource.virtual:
            key = resource.parameters.get("key", resource.title)
            scope = resource.parameters.get("scope", STANDING)
            promises.append(FuturePromise(resource.ref, str(key), str(scope)))
    return promises


def has_futures(body: Body) -> bool:
    """Whether a catalog promises or needs anything."""
    return any(
        resource.type == PROMISE_TYPE
        or any(
            type(value) is not str and any(True for _ in find_needs(value)) for value in resource.parameters.values()
        )
        for resource in body.resources
    )


def list_needs(body: Body) -> list[FutureNeed]:
    """The values that the resources of a catalog need, each once for a resource, in the order of the catalog."""
    needs: list[FutureNeed] = []
    for resource in body.resources:
        if not resource.virtual:
            found = dict.fromkeys(find_needs(resource.parameters))
            needs += [FutureNeed(resource.ref, need) for need in found]
    return needs


def find_needs(data: Any) -> Iterator[Need]:
    """The needs in data of a catalog, at any depth."""
    if isinstance(data, list | tuple):
        for item in data:
            yield from find_needs(item)
    elif isinstance(data, dict):
        if data.get("__ptype") in unknown.FUTURES:
            yield read_need(data)
        else:
            for item in data.values():
                yield from find_needs(item)


def read_need(data: dict[str, Any]) -> Need:
    """The need that `Precast::Future` or `Precast::Futures` stands for. Its value is a key, or a hash of a key and options."""
    many = data["__ptype"] == unknown.FUTURES[1]
    value = data["__pvalue"]
    if isinstance(value, str):
        return Need(value, many)
    return msgspec.convert({**value, "many": many}, Need)
