"""Runs over the fleet: three nodes at once, one fails, and the failure is traced to its line, its commit and its release."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from demo.stage import PRECAST, DemoFailed, Stage

DEADLINE_S = 60.0
BROKEN = """include motd

if $trusted['certname'] == 'app1' {
  file { '/srv/app/release': content => "7\\n" }
}
"""


def show(stage: Stage, url: str, nodes: tuple[str, ...]) -> None:
    stage.title("Runs: on these nodes, now, while you watch")
    (stage.directory / nodes[0] / "etc" / "precast").mkdir(parents=True, exist_ok=True)
    (stage.directory / nodes[0] / "etc" / "precast" / "agent.toml").write_text("allow_exec = true\n")
    with ExitStack() as daemons:
        for number, node in enumerate(nodes, 1):
            daemons.enter_context(daemon(stage, url, node))
            stage.bar("daemons", number, len(nodes), node)
        stage.run("node", "policy", "set", *nodes, "--enforce", "triggered")
        for node in nodes:
            wait(stage, node, lambda status: status.get("policy", {}).get("enforce") == "triggered")
        commit = release(stage, nodes)
        trace(stage, nodes, commit)
        command(stage, nodes)


def release(stage: Stage, nodes: tuple[str, ...]) -> str:
    """Somebody commits a mistake, and it is released; the commit."""
    site = stage.directory / "code" / "manifests" / "site.pp"
    site.write_text(BROKEN)
    ours = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    for words in (["init", "-qb", "main"], ["add", "."], [*ours, "commit", "-qm", "ship release 7"]):
        subprocess.run(["git", *words], cwd=stage.directory / "code", check=True)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=stage.directory / "code", check=True, capture_output=True, text=True
    ).stdout.strip()
    stage.run("env", "deploy", "production", "--git", "code", "--ref", "main")
    stage.run("release", *nodes, "--wait", "--why", "release 7")
    return commit


def trace(stage: Stage, nodes: tuple[str, ...], commit: str) -> None:
    said = stage.run("run", *nodes, "--why", "release 7", expected=4)
    stage.claim("two are well, one failed, and the exit code says so", "2 done, 1 failed" in said)
    (failed,) = stage.ask("report", "list", "--node", "app1", "--failed", "--most", "1")
    shown = stage.run("report", "show", failed["id"], shown="report show …", expected=4)
    stage.claim(
        f"the failure is traced to its line and to commit {commit[:12]}",
        "declared at manifests/site.pp:" in shown and f"commit {commit[:12]}" in shown,
    )


def command(stage: Stage, nodes: tuple[str, ...]) -> None:
    admin = stage.environment["PRECAST_TOKEN"]
    token = stage.ask("token", "person", "cyd", "--role", "commands")["token"]
    stage.environment["PRECAST_TOKEN"] = token
    try:
        said = stage.run("exec", *nodes, "--", "uname", "-sr", expected=4)
    finally:
        stage.environment["PRECAST_TOKEN"] = admin
    is_so = said.count("| Linux") == 1 and said.count("allow_exec is not set") == 2
    stage.claim("a command runs only where the node itself consents, for a role of its own", is_so)


@contextmanager
def daemon(stage: Stage, url: str, node: str) -> Iterator[None]:
    """A real daemon, until the end of the scene."""
    command = [PRECAST, "agent", "--root", node, "--url", url]
    with (
        (stage.directory / f"{node}.log").open("wb") as log,
        subprocess.Popen(command, cwd=stage.directory, stdout=log, stderr=log) as process,
    ):
        try:
            wait(stage, node, lambda status: bool(status["connected"]))
            yield
        finally:
            process.terminate()
            process.wait(30)


def wait(stage: Stage, node: str, is_so: Callable[[Any], bool]) -> None:
    """Until the status of a daemon is so."""
    end_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < end_s:
        if is_so(stage.ask_status("agent", "status", "--root", node)):
            return
    raise DemoFailed(f"the daemon of {node} did not come so far within {DEADLINE_S:.0f} s")
