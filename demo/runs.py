"""Jobs: a job runs on three nodes at once, fails on one, and the report names the line, the commit and the release."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from demo.presenter import PRECAST, DemoFailed, Presenter

DEADLINE_S = 60.0
BROKEN = """include motd

if $trusted['certname'] == 'app1' {
  file { '/srv/app/release': content => "7\\n" }
}
"""


def show(presenter: Presenter, url: str, nodes: tuple[str, ...]) -> None:
    presenter.title("Jobs: run three nodes now and follow the progress")
    (presenter.directory / nodes[0] / "etc" / "precast").mkdir(parents=True, exist_ok=True)
    (presenter.directory / nodes[0] / "etc" / "precast" / "agent.toml").write_text("allow_exec = true\n")
    with ExitStack() as daemons:
        for number, node in enumerate(nodes, 1):
            daemons.enter_context(daemon(presenter, url, node))
            presenter.bar("daemons", number, len(nodes), node)
        presenter.run("node", "policy", "set", *nodes, "--enforce", "triggered")
        for node in nodes:
            wait_for_status(presenter, node, lambda status: status.get("policy", {}).get("enforce") == "triggered")
        commit = release_mistake(presenter, nodes)
        trace_failure(presenter, nodes, commit)
        execute_command(presenter, nodes)


def release_mistake(presenter: Presenter, nodes: tuple[str, ...]) -> str:
    """Commit a mistake, deploy and release it, and return the commit."""
    site = presenter.directory / "code" / "manifests" / "site.pp"
    site.write_text(BROKEN)
    ours = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    for words in (["init", "-qb", "main"], ["add", "."], [*ours, "commit", "-qm", "ship release 7"]):
        subprocess.run(["git", *words], cwd=presenter.directory / "code", check=True)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=presenter.directory / "code", check=True, capture_output=True, text=True
    ).stdout.strip()
    presenter.run("env", "deploy", "production", "--git", "code", "--ref", "main")
    presenter.run("release", *nodes, "--wait", "--why", "release 7")
    return commit


def trace_failure(presenter: Presenter, nodes: tuple[str, ...], commit: str) -> None:
    output = presenter.run("run", *nodes, "--why", "release 7", expected=4)
    presenter.claim("two nodes succeeded, one failed, and the exit code is 4", "2 COMPLETED, 1 FAILED" in output)
    (failed,) = presenter.ask("report", "list", "--node", "app1", "--failed", "--most", "1")
    shown = presenter.run("report", "show", failed["id"], shown="report show …", expected=4)
    presenter.claim(
        f"the report names the line of the failed resource and commit {commit[:12]}",
        "declared at manifests/site.pp:" in shown and f"commit {commit[:12]}" in shown,
    )


def execute_command(presenter: Presenter, nodes: tuple[str, ...]) -> None:
    admin = presenter.environment["PRECAST_TOKEN"]
    token = presenter.ask("token", "person", "cyd", "--role", "commands")["token"]
    presenter.environment["PRECAST_TOKEN"] = token
    try:
        output = presenter.run("exec", *nodes, "--", "uname", "-sr", expected=4)
    finally:
        presenter.environment["PRECAST_TOKEN"] = admin
    is_limited = output.count("| Linux") == 1 and output.count("allow_exec is not set") == 2
    presenter.claim("a command needs its own role, and runs only on nodes that allow it", is_limited)


@contextmanager
def daemon(presenter: Presenter, url: str, node: str) -> Iterator[None]:
    """Run a real agent daemon until the context ends; it is connected when the context begins."""
    command = [PRECAST, "agent", "--root", node, "--url", url]
    with (
        (presenter.directory / f"{node}.log").open("wb") as log,
        subprocess.Popen(command, cwd=presenter.directory, stdout=log, stderr=log) as process,
    ):
        try:
            wait_for_status(presenter, node, lambda status: bool(status["connected"]))
            yield
        finally:
            process.terminate()
            process.wait(30)


def wait_for_status(presenter: Presenter, node: str, is_met: Callable[[Any], bool]) -> None:
    """Wait until a daemon's status meets a condition. Raises DemoFailed at the deadline."""
    end_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < end_s:
        if is_met(presenter.ask_status("agent", "status", "--root", node)):
            return
    raise DemoFailed(f"the daemon of {node} did not reach the expected state within {DEADLINE_S:.0f} s")
