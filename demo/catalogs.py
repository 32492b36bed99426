"""Catalogs: the server compiles deployed code, an operator previews and releases the result, and nodes apply it."""

import shutil
import time
from pathlib import Path
from typing import Any

from demo import facts
from demo.presenter import DemoFailed, Presenter

CODE = Path(__file__).resolve().parent.parent / "examples" / "site"
DEADLINE_S = 30.0


def show(presenter: Presenter, url: str, nodes: tuple[str, ...]) -> None:
    presenter.title("Catalogs: compiled in advance, staged, released by an operator")
    shutil.copytree(CODE, presenter.directory / "code")
    presenter.run("env", "deploy", "production", "--from", "code")
    staged = [wait_for_catalog(presenter, node, lambda view: view["staged"] is not None) for node in nodes]
    for number, node in enumerate(nodes, 1):
        presenter.bar("staged", number, len(nodes), node)
    presenter.claim("every node has a staged catalog, and none is served yet", _all_unreleased(staged))
    presenter.run("release", "--preview", "--all")
    presenter.run("release", *nodes, "--why", "the first one")
    apply_released(presenter, url, nodes[-1])
    with facts.agent(presenter, url, nodes[0]):
        change(presenter, nodes[0])


def apply_released(presenter: Presenter, url: str, node: str) -> None:
    """Fetch the released catalog on a node and apply it."""
    presenter.run("agent", "fetch", "--url", url, "--root", node)
    presenter.run("agent", "apply", "--root", node)
    motd = (presenter.directory / node / "etc" / "motd").read_text()
    presenter.claim(f"/etc/motd of {node} is now: {motd.splitlines()[0]}", motd.startswith(f"Welcome to {node}."))
    again = presenter.ask("agent", "fetch", "--url", url, "--root", node)
    presenter.claim(
        "the second fetch transfers no catalog: the server answers that it has not changed", not again["is_new"]
    )


def change(presenter: Presenter, node: str) -> None:
    """Edit a data file, look at the pending change of a node, release it, and roll it back."""
    common = presenter.directory / "code" / "data" / "common.yaml"
    common.write_text(common.read_text().replace("Welcome", "Good morning") + "nobody_reads: this\n")
    before = presenter.ask("catalog", "show", node)["staged"]
    presenter.run("env", "deploy", "production", "--from", "code")
    wait_for_catalog(presenter, node, lambda view: view["staged"] not in (None, before))
    view = presenter.ask("catalog", "show", node)
    presenter.claim(
        f"{node} has a new staged catalog, and is still served the previous one", view["released"] == before
    )
    presenter.run("catalog", "diff", node)
    status = wait_until_applied(presenter, node, before)
    presenter.claim(
        f"the agent of {node} ran the served catalog by itself; without a policy the run is a no-op",
        status["run"]["is_noop"],
    )
    presenter.run("node", "policy", "set", node, "--enforce", "always")
    facts.wait_for_status(presenter, node, "allowed", lambda status: status["policy"]["enforce"] == "always")
    presenter.run("release", node)
    begin_s = presenter.elapsed_s()
    status = wait_until_applied(presenter, node, view["staged"])
    motd = (presenter.directory / node / "etc" / "motd").read_text().splitlines()[0]
    delay = f"{presenter.elapsed_s() - begin_s:.1f} s after the release"
    is_applied = not status["run"]["is_noop"] and motd.startswith("Good morning")
    presenter.claim(f"{delay} the agent has applied it: /etc/motd of {node} is {motd}", is_applied)
    presenter.run("rollback", node, "--why", "too friendly")
    wait_until_applied(presenter, node, before)
    motd = (presenter.directory / node / "etc" / "motd").read_text().splitlines()[0]
    presenter.claim(f"the rollback has reached the node: {motd}", motd.startswith("Welcome"))
    why = presenter.ask("catalog", "why", node)
    presenter.claim(f"the catalog depends on {len(why['reads'])} reads, and on nothing else", bool(why["reads"]))


def wait_until_applied(presenter: Presenter, node: str, digest: str) -> Any:
    """Wait until the agent has run a catalog, and return the agent's status."""
    return facts.wait_for_status(presenter, node, "done", lambda status: status.get("run", {}).get("catalog") == digest)


def wait_for_catalog(presenter: Presenter, node: str, is_met: Any) -> Any:
    """Wait until a node's catalogs meet a condition, and return them as `catalog show` does."""
    end_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < end_s:
        view = presenter.ask_maybe("catalog", "show", node)
        if view is not None and is_met(view):
            return view
    raise DemoFailed(f"nothing was staged for {node} within {DEADLINE_S:.0f} s")


def _all_unreleased(staged: list[Any]) -> bool:
    return len({view["staged"] for view in staged}) == len(staged) and all(view["released"] is None for view in staged)
