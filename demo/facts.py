"""Facts: three connected agents send facts without a run, send only changes, and the server decides whether to compile."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from demo.presenter import PRECAST, DemoFailed, Presenter

DEADLINE_S = 30.0


def show(presenter: Presenter, url: str, nodes: tuple[str, ...]) -> None:
    presenter.title("Facts: sent by three agents without a run, one decision for each change")
    first, stolen = nodes[0], nodes[1]
    with ExitStack() as agents:
        for node in nodes:
            furnish(presenter, node, "gold")
            agents.enter_context(agent(presenter, url, node))
        for number, node in enumerate(nodes, 1):
            wait_until_decided(presenter, node, "gold")
            presenter.bar("facts received", number, len(nodes), node)
        presenter.run("agent", "status", "--root", first)
        presenter.run("facts", "show", first, "os.name", "networking.hostname", "tier")
        change(presenter, first)
        collect_again(presenter, first)
        revoke(presenter, url, stolen)


def change(presenter: Presenter, node: str) -> None:
    """Change a fact of a node, collect its facts, and show the decision."""
    furnish(presenter, node, "silver")
    presenter.run("facts", "collect", node)
    view = wait_until_decided(presenter, node, "silver")
    presenter.run("facts", "history", node)
    presenter.claim(
        f"one fact of {node} has changed, and the decision is: {view['decision']}", "compile" in view["decision"]
    )
    presenter.run("db", "work", "--database", "site/precast.db")


def collect_again(presenter: Presenter, node: str) -> None:
    """Collect facts again: the agent does not send the stable part, because the server has it."""
    before = wait_for_status(presenter, node, "in sync with the server", is_settled)
    presenter.ask("facts", "collect", node)
    collected_at = before["facts"]["collected_at"]
    after = wait_for_status(
        presenter,
        node,
        "collected again",
        lambda status: is_settled(status) and status["facts"]["collected_at"] != collected_at,
    )
    sent_bytes = after["spool"]["bytes"] - before["spool"]["bytes"]
    presenter.claim(
        f"the next collection sends only a digest and the volatile facts: {sent_bytes} bytes", sent_bytes < 2000
    )


def revoke(presenter: Presenter, url: str, node: str) -> None:
    presenter.run("ca", "revoke", node, "--why", "stolen")
    status = wait_for_status(presenter, node, "disconnected", lambda status: not status["connected"])
    presenter.claim(
        f"the certificate of {node} is revoked, and its connection is closed",
        "certificate" in status["connection"]["trouble"],
    )
    error = presenter.refused("agent", "renew", "--url", url, "--root", node)
    presenter.claim("a revoked certificate cannot be renewed", "[CA-007]" in error)


@contextmanager
def agent(presenter: Presenter, url: str, node: str) -> Iterator[None]:
    """Run a real agent, with a directory as the root of its machine."""
    with (presenter.directory / node / "agent.log").open("wb") as log:
        process = subprocess.Popen(
            [PRECAST, "agent", "--url", url, "--root", node], cwd=presenter.directory, stdout=log, stderr=log
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def furnish(presenter: Presenter, node: str, tier: str) -> None:
    """Write the files that make a directory look like a machine."""
    etc = presenter.directory / node / "etc"
    (etc / "precast" / "facts.d").mkdir(parents=True, exist_ok=True)
    (etc / "hostname").write_text(f"{node}\n")
    (etc / "os-release").write_text('ID=debian\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n')
    (etc / "precast" / "facts.d" / "tier.txt").write_text(f"tier={tier}\n")


def wait_until_decided(presenter: Presenter, node: str, tier: str) -> Any:
    """Wait until the server has stored a node's new facts with a decision, and return them as `facts show` does."""
    end_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < end_s:
        # The server acknowledges facts before it decides; until it has decided, it shows older facts or none.
        view = presenter.ask_maybe("facts", "show", node)
        if view is not None and view["facts"]["tier"] == tier:
            return view
    raise DemoFailed(f"the server made no decision about the facts of {node} within {DEADLINE_S:.0f} s")


def wait_for_status(presenter: Presenter, node: str, state: str, is_met: Callable[[Any], bool]) -> Any:
    """Wait until an agent's status meets a condition, and return the status. `state` names the condition in the error."""
    end_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < end_s:
        status = presenter.ask_status("agent", "status", "--root", node)
        if is_met(status):
            return status
    raise DemoFailed(f"{node} was not {state} within {DEADLINE_S:.0f} s")


def is_settled(status: Any) -> bool:
    """Whether the agent is connected and the server has acknowledged all of its records."""
    return bool(status["connected"] and "facts" in status and not _count_pending(status["spool"]))


def _count_pending(spool: Any) -> int:
    return int(spool["unsent"] + spool["unacknowledged"])
