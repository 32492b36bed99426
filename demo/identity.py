"""Identity: a server with an authority of its own, nodes that enrol by token, and what a stranger gets."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from demo import catalogs, facts, runs
from demo.stage import PRECAST, DemoFailed, Stage

NODES = ("web1", "web2", "db1")


def show(stage: Stage) -> None:
    stage.title("A server, three nodes, one authority")
    made = stage.ask("server", "init", "--data", "site")
    stage.say(
        f"`precast server init` has made an authority ({made['fingerprint'][:16]}…), a database and one admin token"
    )
    with serving(stage) as url:
        stage.environment = {"PRECAST_URL": url, "PRECAST_CA": made["authority"], "PRECAST_TOKEN": made["token"]}
        enrol(stage, url)
        approve(stage, url, made["fingerprint"])
        refuse(stage, url)
        stage.run("audit", "--limit", "4")
        facts.show(stage, url, NODES)
        catalogs.show(stage, url, ("web1", "db1"))
        runs.show(stage, url, ("app1", "db1", "web1"))
    stage.environment = {}


def enrol(stage: Stage, url: str) -> None:
    for node in NODES:
        role = node.rstrip("0123456789")
        token = stage.ask("token", "enrol", node, "--extension", f"pp_role={role}")["token"]
        stage.ask("agent", "enrol", "--url", url, "--token", token, "--name", node, "--root", node)
        stage.bar("enrolled", NODES.index(node) + 1, len(NODES), node)
    stage.run("ca", "list")
    known = {row["node"] for row in stage.ask("ca", "list")}
    stage.claim("each has a certificate of its own, for thirty days, with its role in it", known == set(NODES))
    stage.ask("agent", "renew", "--url", url, "--root", "web1")
    renewed = [row for row in stage.ask("ca", "list") if row["node"] == "web1"]
    stage.claim("web1 has proved its key and has the next one already", len(renewed) == 2)


def approve(stage: Stage, url: str, authority: str) -> None:
    """A machine without a token asks, and an operator decides."""
    words = ("agent", "enrol", "--url", url, "--name", "app1", "--root", "app1", "--ca-fingerprint", authority)
    told = stage.refused(*words)
    (waiting,) = stage.ask("ca", "list", "--pending")
    stage.claim("app1 has no token; it waits, and shows the fingerprint to compare", waiting["fingerprint"] in told)
    stage.run("ca", "sign", "app1", "--fingerprint", waiting["fingerprint"])
    stage.ask(*words)
    stage.claim("an operator has signed, and the same key has got its certificate", True)


def refuse(stage: Stage, url: str) -> None:
    """What must not work, does not."""
    token = stage.ask("token", "enrol", "web*", "--uses", "5")["token"]
    again = stage.refused("agent", "enrol", "--url", url, "--token", token, "--name", "web1", "--root", "impostor")
    stage.claim("an impostor cannot have the name web1 while its certificate is good", "[CA-005]" in again)
    other = stage.refused("agent", "enrol", "--url", url, "--token", token, "--name", "db2", "--root", "db2")
    stage.claim("a token for web* does not enrol db2", "[CA-006]" in other)


@contextmanager
def serving(stage: Stage) -> Iterator[str]:
    """A real server on a free port of this machine; its address."""
    command = [PRECAST, "server", "--data", "site", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=stage.directory, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line.startswith("serving on "):
                raise DemoFailed("the server did not start")
            yield line.split()[-1]
        finally:
            process.terminate()
            process.wait(30)
