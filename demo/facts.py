"""Facts: they arrive without a run, only what changed travels, and a change leads to a decision."""

import time
from typing import Any

from demo.stage import DemoFailed, Stage

DEADLINE_S = 30.0


def show(stage: Stage, url: str, nodes: tuple[str, ...]) -> None:
    stage.title("Facts: sent without a run, decided upon once")
    for node in nodes:
        furnish(stage, node, "gold")
        stage.ask("agent", "facts", "--url", url, "--root", node)
        stage.bar("facts of", nodes.index(node) + 1, len(nodes), node)
    first = nodes[0]
    until_decided(stage, first, "gold")
    stage.run("facts", "show", first, "os.name", "networking.hostname", "tier")
    again = stage.ask("agent", "facts", "--url", url, "--root", first)
    stage.claim("sent again, only a digest travels and what changes by nature", not again["stable_sent"])
    furnish(stage, first, "silver")
    stage.ask("agent", "facts", "--url", url, "--root", first)
    decided = until_decided(stage, first, "silver")
    stage.run("facts", "history", first)
    stage.claim(
        f"one fact of {first} has changed, and the decision is: {decided['decision']}", "compile" in decided["decision"]
    )
    stage.run("db", "work", "--database", "site/precast.db")


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
