"""Facts: three agents stay connected, their facts arrive without a run, only what changed travels, and a change leads to a decision."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from demo.stage import PRECAST, DemoFailed, Stage

DEADLINE_S = 30.0


def show(stage: Stage, url: str, nodes: tuple[str, ...]) -> None:
    stage.title("Facts: three agents, sent without a run, decided upon once")
    first, stolen = nodes[0], nodes[1]
    with ExitStack() as agents:
        for node in nodes:
            furnish(stage, node, "gold")
            agents.enter_context(running(stage, url, node))
        for number, node in enumerate(nodes, 1):
            until_decided(stage, node, "gold")
            stage.bar("connected, facts here", number, len(nodes), node)
        stage.run("agent", "status", "--root", first)
        stage.run("facts", "show", first, "os.name", "networking.hostname", "tier")
        change(stage, first)
        come_back(stage, first)
        dismiss(stage, url, stolen)


def change(stage: Stage, node: str) -> None:
    """Somebody edits a file on a node, and somebody else wants to know."""
    furnish(stage, node, "silver")
    stage.run("facts", "collect", node)
    decided = until_decided(stage, node, "silver")
    stage.run("facts", "history", node)
    stage.claim(
        f"one fact of {node} has changed, and the decision is: {decided['decision']}", "compile" in decided["decision"]
    )
    stage.run("db", "work", "--database", "site/precast.db")


def come_back(stage: Stage, node: str) -> None:
    """What the server has is not sent again."""
    before = until(stage, node, "settled", is_settled)
    stage.ask("facts", "collect", node)
    was = before["facts"]["collected_at"]
    again = until(
        stage, node, "collected again", lambda found: is_settled(found) and found["facts"]["collected_at"] != was
    )
    grew = again["spool"]["bytes"] - before["spool"]["bytes"]
    stage.claim(f"collected again, only a digest travels and what changes by nature: {grew} bytes", grew < 2000)


def dismiss(stage: Stage, url: str, node: str) -> None:
    stage.run("ca", "revoke", node, "--why", "stolen")
    status = until(stage, node, "closed out", lambda found: not found["connected"])
    stage.claim(f"{node} was stolen; its connection is closed", "certificate" in status["connection"]["trouble"])
    said = stage.refused("agent", "renew", "--url", url, "--root", node)
    stage.claim("what was taken back cannot be renewed", "[CA-007]" in said)


@contextmanager
def running(stage: Stage, url: str, node: str) -> Iterator[None]:
    """A real agent; its machine is a directory."""
    with (stage.directory / node / "agent.log").open("wb") as log:
        process = subprocess.Popen(
            [PRECAST, "agent", "--url", url, "--root", node], cwd=stage.directory, stdout=log, stderr=log
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def furnish(stage: Stage, node: str, tier: str) -> None:
    """What makes a directory look like a machine of its own."""
    etc = stage.directory / node / "etc"
    (etc / "precast" / "facts.d").mkdir(parents=True, exist_ok=True)
    (etc / "hostname").write_text(f"{node}\n")
    (etc / "os-release").write_text('ID=debian\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n')
    (etc / "precast" / "facts.d" / "tier.txt").write_text(f"tier={tier}\n")


def until_decided(stage: Stage, node: str, tier: str) -> Any:
    """The server's view of a node, once its workers have looked at what we sent."""
    end_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < end_s:
        # Acknowledged is not yet decided: until then there may be no facts, or older ones.
        view = stage.ask_maybe("facts", "show", node)
        if view is not None and view["facts"]["tier"] == tier:
            return view
    raise DemoFailed(f"the facts of {node} were not decided upon within {DEADLINE_S:.0f} s")


def until(stage: Stage, node: str, what: str, is_so: Callable[[Any], bool]) -> Any:
    """What an agent says of itself, once it is so."""
    end_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < end_s:
        found = stage.ask_status("agent", "status", "--root", node)
        if is_so(found):
            return found
    raise DemoFailed(f"{node} was not {what} within {DEADLINE_S:.0f} s")


def is_settled(status: Any) -> bool:
    return bool(status["connected"] and "facts" in status and not _waits(status["spool"]))


def _waits(spool: Any) -> int:
    return int(spool["unsent"] + spool["unacknowledged"])
