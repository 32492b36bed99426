"""Machines: a copied machine gets no orders until an operator has chosen, and a restored site keeps its nodes."""

import shutil
import subprocess
import time
from collections.abc import Callable
from typing import Any

from demo import facts, runs
from demo.presenter import DemoFailed, Presenter

DEADLINE_S = 30.0
RESTORED = "restored"


def choose(presenter: Presenter, url: str, node: str) -> None:
    """Start a copy of a node's machine, look at both, and choose one."""
    presenter.title("Machines: a copied machine holds its node until an operator has chosen")
    copy = f"copy-of-{node}"
    name_machine(presenter, node, "a")
    with runs.daemon(presenter, url, node):
        pass  # the server has seen the original
    subprocess.run(["cp", "-a", node, copy], cwd=presenter.directory, check=True)
    name_machine(presenter, copy, "b")
    presenter.event(f"somebody has copied the machine of {node}, and starts the copy while the original is away")
    with facts.agent(presenter, url, copy), facts.agent(presenter, url, node):
        view = wait_for_node(presenter, node, "on hold", lambda view: len(view["machines"]) == 2)
        machines = {machine["machine_id"]: machine["machine"] for machine in view["machines"]}
        presenter.run("node", "show", node)
        presenter.claim("the server shows both machines, and neither gets orders", len(machines) == 2)
        presenter.run("node", "choose-machine", node, machines["a" * 32], "--why", "the other one is a copy")
        runs.wait_for_status(presenter, node, lambda status: bool(status["connected"]))
        facts.wait_for_status(
            presenter, copy, "refused", lambda status: "[SESSION-001]" in status["connection"]["trouble"]
        )
        presenter.claim("the original goes on, and the copy is told to enrol under a name of its own", True)
    shutil.rmtree(presenter.directory / copy)


def back_up(presenter: Presenter) -> None:
    """Write a backup of the running site, encrypted to a key that this machine does not need."""
    presenter.title("Backup: one encrypted file holds the database and the authority")
    key = presenter.ask("db", "keygen", "backup.key")["recipient"]
    presenter.run("db", "backup", "site.backup", "--with-secrets-key", "--data", "site", "--recipient", key)
    error = presenter.refused("server", "init", "--data", "second", "--database", "site/precast.db")
    presenter.claim("`server init` creates no second authority for a database that has nodes", bool(error))


def restore(presenter: Presenter) -> None:
    """Lose the site, and restore it from its backup."""
    shutil.rmtree(presenter.directory / "site")
    presenter.event("the server's machine is lost, with its database and its keys")
    presenter.run("db", "restore", "site.backup", "--data", RESTORED, "--identity", "backup.key")


def reconnect(presenter: Presenter, url: str, node: str) -> None:
    """Let an agent connect to the restored server, and ask that server for its status."""
    authority = presenter.directory / RESTORED / "authority" / "certificate.pem"
    presenter.environment |= {"PRECAST_URL": url, "PRECAST_CA": str(authority)}
    with runs.daemon(presenter, url, node):
        wait_for_node(presenter, node, "connected to the restored server", lambda view: bool(view["session"]["server"]))
        presenter.claim(f"{node} is connected to the restored server, with the certificate it had", True)


def name_machine(presenter: Presenter, root: str, letter: str) -> None:
    (presenter.directory / root / "etc" / "machine-id").write_text(f"{letter * 32}\n")


def wait_for_node(presenter: Presenter, node: str, state: str, is_met: Callable[[Any], bool]) -> Any:
    """Wait until `node show` meets a condition, and return what it shows. `state` names the condition in the error."""
    end_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < end_s:
        view = presenter.ask("node", "show", node)
        if is_met(view):
            return view
    raise DemoFailed(f"{node} was not {state} within {DEADLINE_S:.0f} s")
