"""Identity: a server with its own authority, nodes that enrol with tokens, and enrolments that the server refuses."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from demo import actions, catalogs, exports, facts, futures, machines, plans, runs, secrets, trust
from demo.presenter import PRECAST, DemoFailed, Presenter

NODES = ("web1", "web2", "db1")


def show(presenter: Presenter) -> None:
    presenter.title("A server, three nodes, one authority")
    made = presenter.ask("server", "init", "--data", "site")
    presenter.say(
        f"`precast server init` has created an authority ({made['fingerprint'][:16]}…), a database and an admin token"
    )
    secrets.prepare(presenter)
    with server(presenter) as url:
        presenter.environment = {"PRECAST_URL": url, "PRECAST_CA": made["authority"], "PRECAST_TOKEN": made["token"]}
        enrol(presenter, url)
        approve(presenter, url, made["fingerprint"])
        refuse(presenter, url)
        presenter.run("audit", "--limit", "4")
        facts.show(presenter, url, NODES)
        catalogs.show(presenter, url, ("web1", "db1"))
        secrets.show(presenter, url, "db1")
        trust.show(presenter, "web1")
        exports.show(presenter, url, "db1", "web1", "web3")
        runs.show(presenter, url, ("app1", "db1", "web1"))
        actions.show(presenter, url, ("app1", "db1", "web1"), down="db1")
        plans.show(presenter, url, ("app1", "db1", "web1"), slow="app1")
        futures.show(presenter, url)
        machines.choose(presenter, url, "web1")
        machines.back_up(presenter)
    machines.restore(presenter)
    with server(presenter, machines.RESTORED) as url:
        machines.reconnect(presenter, url, "web1")
    presenter.environment = {}


def enrol(presenter: Presenter, url: str) -> None:
    for node in NODES:
        role = node.rstrip("0123456789")
        token = presenter.ask("token", "enrol", node, "--extension", f"pp_role={role}")["token"]
        presenter.ask("agent", "enrol", "--url", url, "--token", token, "--name", node, "--root", node)
        presenter.bar("enrolled", NODES.index(node) + 1, len(NODES), node)
    presenter.run("ca", "list")
    known = {row["node"] for row in presenter.ask("ca", "list")}
    presenter.claim(
        "each node has its own certificate, valid for thirty days, that contains its role", known == set(NODES)
    )
    presenter.ask("agent", "renew", "--url", url, "--root", "web1")
    renewed = [row for row in presenter.ask("ca", "list") if row["node"] == "web1"]
    presenter.claim("web1 has proved its key, and its certificate is renewed", len(renewed) == 2)


def approve(presenter: Presenter, url: str, authority: str) -> None:
    """Request a certificate without a token, and sign the request as an operator."""
    words = ("agent", "enrol", "--url", url, "--name", "app1", "--root", "app1", "--ca-fingerprint", authority)
    error = presenter.refused(*words)
    (request,) = presenter.ask("ca", "list", "--pending")
    presenter.claim(
        "app1 has no token: its request is pending, and it prints the fingerprint to compare",
        request["fingerprint"] in error,
    )
    presenter.run("ca", "sign", "app1", "--fingerprint", request["fingerprint"])
    presenter.ask(*words)
    presenter.claim("an operator has signed the request, and app1 has its certificate", True)


def refuse(presenter: Presenter, url: str) -> None:
    """Show two enrolments that the server refuses: of a name that is taken, and of a name the token does not cover."""
    token = presenter.ask("token", "enrol", "web*", "--uses", "5")["token"]
    error = presenter.refused("agent", "enrol", "--url", url, "--token", token, "--name", "web1", "--root", "impostor")
    presenter.claim("an impostor cannot enrol as web1 while the certificate of web1 is valid", "[CA-005]" in error)
    error = presenter.refused("agent", "enrol", "--url", url, "--token", token, "--name", "db2", "--root", "db2")
    presenter.claim("a token for web* does not enrol db2", "[CA-006]" in error)


@contextmanager
def server(presenter: Presenter, data: str = "site") -> Iterator[str]:
    """Run a real server on a free port of this machine, and give its URL."""
    command = [PRECAST, "server", "--data", data, "--listen", "127.0.0.1:0", "--secret-sources", secrets.SOURCES]
    with (
        (presenter.directory / "server.log").open("a") as log,
        subprocess.Popen(command, cwd=presenter.directory, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line.startswith("serving on "):
                raise DemoFailed("the server did not start")
            yield line.split()[-1]
        finally:
            process.terminate()
            process.wait(30)
