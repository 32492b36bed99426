"""What a resource needs, seen without touching anything; and checks made ahead of their turn.

A check made ahead is worth something as long as nothing on the node has changed since: then a sequential run would have seen the
same. With the first change all of them, errors included, are thrown away, and what follows is checked in its turn. Only what waits
for something is worth a thread: small files are read faster one after the other.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from precast.agent.applying.planning import Planned
from precast.resources.contract import Change, Handler, State

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

THREADS = 8


class Check(NamedTuple):
    """The present state of a resource, what differs, and the same of what follows from it."""

    state: State
    changes: Sequence[Change]
    children: "Sequence[tuple[Handler, Check]]" = ()
    error: Exception | None = None

    @property
    def is_quiet(self) -> bool:
        """Whether all is as wanted, and nothing follows from it."""
        return not self.changes and not self.children and self.error is None


def check(handler: Handler) -> Check:
    """Look at a resource and, if it is itself as wanted, at what follows from it. What goes wrong is part of the answer."""
    try:
        state = handler.read()
        changes = handler.compare(state)
        if changes:
            return Check(state, changes)
        children = handler.expand(state)
        return Check(state, (), tuple([(child, check(child)) for child in children]) if children else ())
    except Exception as error:  # noqa: BLE001 - the boundary to a handler: whatever it raises fails its resource alone
        return Check({}, (), error=error)


def may_go_ahead(handler: Handler) -> bool:
    """Whether a check may be made before its turn: not if it runs what a user wrote."""
    return handler.touches_node and not handler.runs_user_commands


def is_worth_a_thread(planned: Planned) -> bool:
    return planned.handler is not None and planned.handler.is_slow_to_read


class Ahead:
    """Checks made on threads while the run goes on in front of them."""

    def __init__(self, planned: Iterable[Planned], is_worth: Callable[[Planned], bool] = is_worth_a_thread) -> None:
        wanted = [
            (each.ref, each.handler)
            for each in planned
            if each.handler and may_go_ahead(each.handler) and is_worth(each)
        ]
        self._checks: dict[str, tuple[Handler, Future[Check]]] = {}
        self._pool: ThreadPoolExecutor | None = None
        if wanted:
            from concurrent import futures  # large, and most runs need none

            self._pool = futures.ThreadPoolExecutor(THREADS, "check")
            for ref, handler in wanted:
                self._checks[ref] = handler, self._pool.submit(check, handler)

    def take(self, ref: str) -> Check | None:
        """The check of a resource whose turn has come; None if there is none that still holds."""
        made = self._checks.pop(ref, None)
        return made[1].result() if made is not None else None

    def discard(self) -> None:
        """Something is about to change: throw all away, and let those under way end first."""
        if self._pool is not None:
            from concurrent.futures import wait

            self._pool.shutdown(wait=False, cancel_futures=True)
            wait([made for _, made in self._checks.values() if not made.cancelled()])
            self._pool = None
        for handler, _ in self._checks.values():
            handler.said()
        self._checks.clear()
