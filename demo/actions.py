"""Actions: for three nodes of which one is down. A cancel wins, a window holds back, and the node's return starts what waits."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from demo.presenter import DemoFailed, Presenter
from demo.runs import DEADLINE_S, daemon
from precast.wire.jobs.states import END_STATES


def show(presenter: Presenter, url: str, nodes: tuple[str, ...], down: str) -> None:
    presenter.title(f"Actions: {down} is down, and three nodes shall send their facts")
    with ExitStack() as daemons:
        for node in nodes:
            if node != down:
                daemons.enter_context(daemon(presenter, url, node))
        wait_for(lambda: presenter.ask("node", "show", down)["node"]["state"] == "away", f"{down} is away")
        waiting = create(presenter, "facts", *nodes, "--away", "wait", "--name", "inventory")
        is_partly_done = follow(presenter, waiting, {"COMPLETED": 2, "QUEUED": 1})
        presenter.claim(f"two nodes are COMPLETED, {down} is QUEUED and holds up nobody", is_partly_done)
        cancelled = cancel(presenter, down)
        hold_back(presenter, nodes[-1])
        presenter.event(f"{down} returns")
        daemons.enter_context(daemon(presenter, url, down))
        presenter.claim("its return has started what waited for it", follow(presenter, waiting, {"COMPLETED": 3}))
        presenter.claim(
            "and not what was cancelled: CANCELLED is final", counts_of(presenter, cancelled) == {"CANCELLED": 1}
        )


def cancel(presenter: Presenter, down: str) -> str:
    """Create an action for a node that is down, and cancel it; returns its id."""
    action = create(presenter, "run", down, "--away", "wait", "--name", "hasty")
    wait_for(lambda: counts_of(presenter, action) == {"QUEUED": 1}, "the hasty action is queued")
    presenter.run("action", "cancel", action, shown=f"action cancel {action[:8]}…")
    is_cancelled = follow(presenter, action, {"CANCELLED": 1})
    presenter.claim(f"the cancel has won at once, although {down} cannot hear of it", is_cancelled)
    return action


def hold_back(presenter: Presenter, node: str) -> None:
    """Hold an action back by a window that is closed, and let it go when the window is gone."""
    presenter.run("window", "create", "freeze", "--rule", "Mon 00:00 7d", "--blackout", "--why", "the year's end")
    presenter.run("window", "bind", "freeze", "--target", node, "--class", "facts")
    held = create(presenter, "facts", node, "--name", "too soon")
    wait_for(lambda: counts_of(presenter, held) == {"QUEUED": 1}, "the action has a job")
    presenter.claim(f"the window holds the action on {node} back", counts_of(presenter, held) == {"QUEUED": 1})
    presenter.run("window", "unbind", "freeze", "--target", node)
    presenter.claim("without the window it began by itself", follow(presenter, held, {"COMPLETED": 1}))


def create(presenter: Presenter, *words: str) -> str:
    """Create an action, and return its id."""
    known = {action["id"] for action in presenter.ask("action", "list")}
    presenter.run("action", "create", *words, "--detach")
    (action,) = {action["id"] for action in presenter.ask("action", "list")} - known
    return str(action)


def counts_of(presenter: Presenter, action: str) -> dict[str, int]:
    """How many nodes of an action's newest job are in each state."""
    due: list[Any] = presenter.ask("action", "show", action)["due"]
    return dict(due[0]["counts"]) if due else {}


def follow(presenter: Presenter, action: str, expected: dict[str, int]) -> bool:
    """Draw the progress of an action until its nodes are in the expected states. Raises DemoFailed at the deadline."""

    def look() -> bool:
        counts = counts_of(presenter, action)
        ended = sum(counts.get(state, 0) for state in END_STATES)
        words = ", ".join(f"{count} {state}" for state, count in counts.items())
        presenter.bar("nodes", ended, max(1, sum(counts.values())), words)
        return counts == expected

    wait_for(look, f"the states {expected}")
    presenter.end_bar()
    return True


def wait_for(is_met: Callable[[], bool], what: str) -> None:
    """Raises DemoFailed at the deadline."""
    end_s = time.monotonic() + DEADLINE_S
    while not is_met():
        if time.monotonic() > end_s:
            raise DemoFailed(f"{what}: not within {DEADLINE_S:.0f} s")
