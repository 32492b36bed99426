"""Catalogs: code is deployed, like nodes share a compile, what would change is looked at first, released to some, and applied there."""

import shutil
import time
from pathlib import Path
from typing import Any

from demo import facts
from demo.stage import DemoFailed, Stage

CODE = Path(__file__).resolve().parent.parent / "examples" / "site"
DEADLINE_S = 30.0


def show(stage: Stage, url: str, nodes: tuple[str, ...]) -> None:
    stage.title("Catalogs: compiled ahead, held, released on cue")
    shutil.copytree(CODE, stage.directory / "code")
    stage.run("env", "deploy", "production", "--from", "code")
    staged = [until(stage, node, lambda view: view["staged"] is not None) for node in nodes]
    for number, node in enumerate(nodes, 1):
        stage.bar("staged", number, len(nodes), node)
    stage.claim("every node has a catalog of its own, and none is served yet", _all_held(staged))
    stage.run("release", "--preview", "--all")
    stage.run("release", *nodes, "--why", "the first one")
    set_in_place(stage, url, nodes[-1])
    with facts.running(stage, url, nodes[0]):
        change(stage, nodes[0])


def set_in_place(stage: Stage, url: str, node: str) -> None:
    """The node fetches what was released to it, and applies that, not more."""
    stage.run("agent", "fetch", "--url", url, "--root", node)
    stage.run("agent", "apply", "--root", node)
    motd = (stage.directory / node / "etc" / "motd").read_text()
    stage.claim(f"{node} says now: {motd.splitlines()[0]}", motd.startswith(f"Welcome to {node}."))
    again = stage.ask("agent", "fetch", "--url", url, "--root", node)
    stage.claim("asked again, the server says only that there is nothing new", not again["is_new"])


def change(stage: Stage, node: str) -> None:
    """One file is edited; who is concerned, and what would it do?"""
    common = stage.directory / "code" / "data" / "common.yaml"
    common.write_text(common.read_text().replace("Welcome", "Good morning") + "nobody_reads: this\n")
    before = stage.ask("catalog", "show", node)["staged"]
    stage.run("env", "deploy", "production", "--from", "code")
    until(stage, node, lambda view: view["staged"] not in (None, before))
    view = stage.ask("catalog", "show", node)
    stage.claim(f"{node} has another catalog staged, and is served the one before", view["released"] == before)
    stage.run("catalog", "diff", node)
    looked = until_applied(stage, node, before)
    stage.claim(
        f"{node} has run what it is served by itself; without a policy it only looked", looked["run"]["is_noop"]
    )
    stage.run("node", "policy", "set", node, "--enforce", "always")
    facts.until(stage, node, "allowed", lambda found: found["policy"]["enforce"] == "always")
    stage.run("release", node)
    begin_s = stage.elapsed_s()
    done = until_applied(stage, node, view["staged"])
    motd = (stage.directory / node / "etc" / "motd").read_text().splitlines()[0]
    took = f"{stage.elapsed_s() - begin_s:.1f} s after the release"
    is_applied = not done["run"]["is_noop"] and motd.startswith("Good morning")
    stage.claim(f"{took} {node} says by itself: {motd}", is_applied)
    stage.run("rollback", node, "--why", "too friendly")
    until_applied(stage, node, before)
    motd = (stage.directory / node / "etc" / "motd").read_text().splitlines()[0]
    stage.claim(f"and back again, on the node too: {motd}", motd.startswith("Welcome"))
    why = stage.ask("catalog", "why", node)
    stage.claim(f"its catalog follows from {len(why['reads'])} reads, and from nothing else", bool(why["reads"]))


def until_applied(stage: Stage, node: str, digest: str) -> Any:
    """What the agent says once it has run this catalog."""
    return facts.until(stage, node, "done", lambda found: found.get("run", {}).get("catalog") == digest)


def until(stage: Stage, node: str, is_so: Any) -> Any:
    """What is staged for a node, once it is so."""
    end_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < end_s:
        view = stage.ask_maybe("catalog", "show", node)
        if view is not None and is_so(view):
            return view
    raise DemoFailed(f"nothing was staged for {node} within {DEADLINE_S:.0f} s")


def _all_held(staged: list[Any]) -> bool:
    return len({view["staged"] for view in staged}) == len(staged) and all(view["released"] is None for view in staged)
