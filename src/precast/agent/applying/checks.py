"""Checks which changes a resource needs, without changing anything, and makes such checks ahead of time on threads.

A check made ahead is valid as long as nothing on the node has changed since: then a sequential run would have seen the same. With the
first change all of them are discarded, errors included, and later resources are checked when they are applied. Only resources that
wait for something while they are read are worth a thread: small files are read faster one after the other.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from precast.agent.applying.plan import PlannedResource
from precast.resources.contract import Change, Handler, State

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

THREADS = 8


class Check(NamedTuple):
    """The current state of a resource, the changes it needs, and the same for the resources that its handler generates."""

    state: State
    changes: Sequence[Change]
    children: "Sequence[tuple[Handler, Check]]" = ()
    error: Exception | None = None

    @property
    def is_in_sync(self) -> bool:
        """Whether the resource needs no change and its handler generates no resources."""
        return not self.changes and not self.children and self.error is None


def check(handler: Handler) -> Check:
    """Check a resource and, if it is in sync itself, the resources that its handler generates. An error is part of the result."""
    try:
        state = handler.read()
        changes = handler.compare(state)
        if changes:
            return Check(state, changes)
        children = handler.expand(state)
        return Check(state, (), tuple([(child, check(child)) for child in children]) if children else ())
    except Exception as error:  # noqa: BLE001 - the boundary to a handler: whatever it raises fails its resource alone
        return Check({}, (), error=error)


def may_check_ahead(handler: Handler) -> bool:
    """Whether a check may be made ahead: not if it runs a command of the user."""
    return handler.touches_node and not handler.runs_user_commands


def is_worth_a_thread(planned: PlannedResource) -> bool:
    return planned.handler is not None and planned.handler.is_slow_to_read


class ChecksAhead:
    """Checks made on threads for resources that the run has not reached yet."""

    def __init__(
        self, planned: Iterable[PlannedResource], is_worth: Callable[[PlannedResource], bool] = is_worth_a_thread
    ) -> None:
        chosen = [
            (resource.ref, resource.handler)
            for resource in planned
            if resource.handler and may_check_ahead(resource.handler) and is_worth(resource)
        ]
        self._checks: dict[str, tuple[Handler, Future[Check]]] = {}
        self._pool: ThreadPoolExecutor | None = None
        if chosen:
            from concurrent import futures  # a large import that most runs do not need

            self._pool = futures.ThreadPoolExecutor(THREADS, "check")
            for ref, handler in chosen:
                self._checks[ref] = handler, self._pool.submit(check, handler)

    def pop(self, ref: str) -> Check | None:
        """Return the check of a resource that is to be applied now; None if there is no valid one."""
        entry = self._checks.pop(ref, None)
        return entry[1].result() if entry is not None else None

    def discard(self) -> None:
        """Discard all checks before something on the node is changed, and wait for those that are under way."""
        if self._pool is not None:
            from concurrent.futures import wait

            self._pool.shutdown(wait=False, cancel_futures=True)
            wait([future for _, future in self._checks.values() if not future.cancelled()])
            self._pool = None
        for handler, _ in self._checks.values():
            handler.take_logs()
        self._checks.clear()
