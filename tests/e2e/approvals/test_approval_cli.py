"""Two people for a release, with a real server and real commands."""

import json
import subprocess
from collections.abc import Iterator

import pytest

from lab.server_process import PRECAST
from lab.site import Site
from tests.e2e.catalogs.test_release import Deployment


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    directory = tmp_path_factory.mktemp("approvals")
    with Site(directory / "site") as site:
        made = Deployment(site, directory)
        made.deploy()
        for node in made.identities:
            made.until_staged(node)
        yield made


class Person:
    """A person with a token of their own, who runs commands."""

    def __init__(self, deployment: Deployment, name: str, role: str = "operator") -> None:
        self._environment = dict(deployment.site.environment)
        self._environment["PRECAST_TOKEN"] = deployment.site.run("token", "person", name, "--role", role)["token"]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([PRECAST, *words], env=self._environment, capture_output=True, text=True, check=False)


def test_release_needs_a_second_person(deployment: Deployment) -> None:
    ann, ann_again, bob, viewer = (
        Person(deployment, "ann"),
        Person(deployment, "Ann"),
        Person(deployment, "bob"),
        Person(deployment, "cleo", "viewer"),
    )
    assert bob.run("env", "approvals", "production", "1").returncode == 77  # an operator cannot set it
    assert deployment.command("env", "approvals", "production", "1").returncode == 0
    automatic = deployment.command("env", "policy", "production", "automatic")
    assert "ENV-027" in automatic.stderr

    asked = ann.run("release", "web1,web2", "--why", "a new motd")
    assert asked.returncode == 5, asked
    assert "waits for the approval of 1 other person" in asked.stdout
    assert deployment.fetch("web1").status == 404
    (row,) = json.loads(bob.run("approval", "list", "--json").stdout)
    request = row["id"]
    assert request in asked.stdout
    shown = bob.run("approval", "show", request).stdout
    assert "web1, web2" in shown
    assert "a new motd" in shown

    for person, code in ((ann, "APPROVAL-003"), (ann_again, "APPROVAL-003"), (viewer, "API-003")):
        refused = person.run("approval", "approve", request)
        assert code in refused.stderr, refused
    assert deployment.fetch("web1").status == 404

    granted = bob.run("approval", "approve", request, "--digest", row["digest"], "--why", "I have looked at it")
    assert (granted.returncode, granted.stdout) == (0, f"{request} is granted: released to 2 nodes\n")
    assert deployment.fetch("web1").status == 200
    assert "APPROVAL-002" in bob.run("approval", "approve", request).stderr
    actions = [entry["action"] for entry in deployment.site.run("audit")]
    assert {"approval.request", "approval.approve", "approval.grant", "catalog.release"} <= set(actions)
    assert bob.run("approval", "list").stdout.splitlines()[1:] == []


def test_request_is_withdrawn_or_rejected(deployment: Deployment) -> None:
    ann, bob = Person(deployment, "ann"), Person(deployment, "bob")
    before = deployment.until_staged("web1")["staged"]
    data = deployment.code / "data/common.yaml"
    data.write_text(data.read_text().replace("Welcome", "Good day"))
    deployment.deploy()
    deployment.until_staged("web1", before)
    for person, word, state in ((ann, "withdraw", "withdrawn"), (bob, "reject", "rejected")):
        request = json.loads(ann.run("release", "web1", "--json").stdout)["pending"][0]["request"]
        ended = person.run("approval", word, request, "--why", "not today", "--json")
        assert json.loads(ended.stdout)["state"] == state, ended
    assert deployment.site.run("catalog", "show", "web1")["released"] == before
