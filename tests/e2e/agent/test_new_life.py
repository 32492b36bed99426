"""A machine that is enrolled again begins a new life: its running daemon notices, and nothing of the old life is used on either side."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from lab.agent_process import AgentProcess
from lab.agent_runs import reports, until
from lab.server_process import PRECAST
from lab.site import Site
from precast.agent.identity.credentials import Credentials
from precast.agent.state.store import store_path

pytestmark = pytest.mark.timeout(240)

CODE = "file { '/etc/motd': ensure => file, content => 'of the old life' }\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("life")
    (directory / "code/manifests").mkdir(parents=True)
    (directory / "code/manifests/site.pp").write_text(CODE)
    with Site(directory / "site") as running:
        running.run("env", "deploy", "production", "--from", str(directory / "code"))
        yield running


@contextmanager
def enforcing(site: Site, name: str) -> Iterator[AgentProcess]:
    """A node whose daemon has applied a released catalog under a policy."""
    site.enrol(name)
    root = site.directory / "nodes" / name
    (root / "etc").mkdir(parents=True)
    with AgentProcess(root, site.url) as agent:
        agent.until_settled()
        site.run("node", "policy", "set", name, "--enforce", "always")
        agent.until(lambda status: status.get("policy", {}).get("enforce") == "always")
        until(lambda: site.run("catalog", "show", name)["staged"])
        site.run("release", name)
        agent.until(lambda status: status.get("run", {}).get("changed") == 1)
        agent.until_settled()
        assert (root / "etc/motd").read_text() == "of the old life"
        until(lambda: reports(site, "--node", name))
        yield agent


def instance_of(agent: AgentProcess) -> str:
    with closing(sqlite3.connect(store_path(agent.root), timeout=30)) as store:
        ((instance,),) = store.execute("SELECT instance FROM session").fetchall()
    return str(instance)


def enrol(site: Site, agent: AgentProcess, name: str, *words: str) -> str:
    """Enrol the machine by the command line; returns what it prints to standard error."""
    token = site.run("token", "enrol", name)["token"]
    environment = {**os.environ, "PRECAST_ENROL_TOKEN": token}
    command = [PRECAST, "agent", "enrol", "--root", str(agent.root), "--url", site.url, "--name", name, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return str(done.stderr)


def delete_certificate(agent: AgentProcess) -> list[str]:
    Credentials(agent.root).certificate.unlink()
    return []


def ask_for_it(agent: AgentProcess) -> list[str]:
    return ["--again"]


def delete_state(agent: AgentProcess) -> list[str]:
    shutil.rmtree(Credentials(agent.root).directory)
    return []


@pytest.mark.parametrize("prepare", [delete_certificate, ask_for_it, delete_state])
@pytest.mark.parametrize("is_purged", [True, False], ids=["purged", "cleaned"])
def test_machine_that_is_enrolled_again_while_its_daemon_runs_uses_nothing_of_its_old_life(
    site: Site, prepare: Callable[[AgentProcess], list[str]], is_purged: bool
) -> None:
    name = f"{prepare.__name__.replace('_', '-')}-{'purged' if is_purged else 'cleaned'}"
    with enforcing(site, name) as agent:
        assert agent.process is not None
        old_instance = instance_of(agent)
        if is_purged:
            site.run("node", "purge", name, "--force")
        else:
            site.run("ca", "clean", name)
        (agent.root / "etc/motd").unlink()
        said = enrol(site, agent, name, *prepare(agent))
        if prepare is not delete_state:
            # By the command or by the daemon, whichever is first.
            until(lambda: "earlier enrolment is deleted: policy, catalog" in said + agent.log)
        agent.until(lambda status: bool(status["connected"]) and "facts" in status)
        assert agent.process.poll() is None
        status = agent.until_settled()
        assert instance_of(agent) != old_instance
        view = site.run("node", "show", name)
        assert view["node"]["state"] == "connected"
        assert len([row for row in view["certificates"] if row["revoked_why"] is None]) == 1
        until(lambda: site.run("facts", "show", name)["facts"])
        if not is_purged:
            return
        # Nothing of the old life: no policy, no catalog, no report that was acknowledged before and is sent again.
        assert "policy" not in status or status["policy"]["serial"] == 0
        assert reports(site, "--node", name) == []
        command = [PRECAST, "agent", "apply", "--root", str(agent.root), "--reason", "schedule"]
        applied = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "APPLY-005" in applied.stderr
        assert not (agent.root / "etc/motd").exists()


def test_machine_that_is_enrolled_again_without_its_server_enforces_nothing_of_its_old_life(site: Site) -> None:
    with enforcing(site, "offline1") as agent:
        site.run("node", "purge", "offline1", "--force")
        agent.stop()
        assert "is deleted: policy, catalog" in enrol(site, agent, "offline1", "--again")
        (agent.root / "etc/motd").unlink()
        state = Credentials(agent.root).directory
        assert not [name for name in ("policy.json", "catalog.json", "release.json") if (state / name).exists()]
    with AgentProcess(agent.root, "https://127.0.0.1:1") as alone:
        status = alone.until(lambda status: "refused" in status.get("connection", {}).get("trouble", ""))
        assert status["spool"]["acknowledged"] == 0
        command = [PRECAST, "agent", "apply", "--root", str(agent.root), "--reason", "schedule"]
        applied = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "APPLY-005" in applied.stderr
        assert not (agent.root / "etc/motd").exists()


def test_renewal_is_not_a_new_life(site: Site) -> None:
    with enforcing(site, "renewed1") as agent:
        life = (Credentials(agent.root).directory / "life").read_text()
        command = [PRECAST, "agent", "renew", "--root", str(agent.root), "--url", site.url]
        subprocess.run(command, capture_output=True, check=True)
        assert (Credentials(agent.root).directory / "life").read_text() == life
        status = agent.until_settled()
        assert status["policy"]["enforce"] == "always"
        assert len(reports(site, "--node", "renewed1")) == 1
