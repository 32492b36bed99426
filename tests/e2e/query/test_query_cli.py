"""`precast query` against a real server: everyday queries, and mistakes in queries."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.server_process import PRECAST
from lab.site import Site
from precast.base import https
from tests.e2e.catalogs.test_release import Deployment


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    directory = tmp_path_factory.mktemp("query")
    with Site(directory / "site") as site:
        made = Deployment(site, directory)
        made.deploy()
        for node in made.identities:
            made.until_staged(node)
        site.run("release", "web1,web2")
        yield made


def query(deployment: Deployment, *words: str) -> Any:
    """The answer as data. Retries while a release is not indexed yet, as the hint of the error says."""
    for _ in range(100):
        done = deployment.command("query", *words, "--json")
        if "QUERY-001" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_resources_and_nodes_are_found(deployment: Deployment) -> None:
    assert query(deployment, "resources", "File[/etc/motd]", "--fields", "node,parameters.content") == [
        {"node": name, "parameters.content": f"Welcome to {name}.\non call: ops@example.com\n"}
        for name in ("web1", "web2")
    ]
    assert query(deployment, "nodes", "has File[/etc/motd] and facts.os.name = Debian", "--fields", "name") == [
        {"name": "web1"},
        {"name": "web2"},
    ]
    assert query(deployment, "facts", "os.name", "--count") == [{"facts.os.name": "Debian", "count": 2}]
    assert query(deployment, "resources", "--nodes", "web1", "--count") == {
        "count": len(query(deployment, "resources")) // 2
    }


def test_table_is_for_people(deployment: Deployment) -> None:
    query(deployment, "resources")
    done = deployment.command("query", "resources", "File[/etc/motd]")
    assert done.stdout.splitlines() == [
        "NODE  TYPE  TITLE",
        "web1  File  /etc/motd",
        "web2  File  /etc/motd",
    ]
    done = deployment.command("query", "nodes", "facts.os.name = Debian", "--by", "facts.os.name")
    assert done.stdout.splitlines() == ["FACTS.OS.NAME  COUNT", "Debian             2"]
    assert "this result depends on facts" in done.stderr
    done = deployment.command("query", "nodes", "web1", "--fields", "name,created_at")
    assert re.fullmatch(r"NAME +CREATED_AT\nweb1 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ\n", done.stdout), done.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("resources", "Fiel /etc"), 64, "TARGET-001"),
        (("resources", "rol = x"), 64, "the fields of a resource are type, title"),
        (("nodes", "has nginx"), 64, "Type[title]"),
        (("nodes", "--fields", "nmae"), 64, "did you mean name?"),
        (("resources", "--nodes", "nobody"), 66, "NODE-001"),
        (("thing",), 64, "thing"),
    ],
)
def test_mistakes_are_reported_in_one_line(
    deployment: Deployment, words: tuple[str, ...], code: int, said: str
) -> None:
    done = deployment.command("query", *words)
    assert done.returncode == code, done
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_token_of_one_environment_sees_that_one(deployment: Deployment, tmp_path: Path) -> None:
    made = deployment.site.run("token", "person", "eve", "--role", "viewer", "--environment", "elsewhere")
    done = subprocess.run(
        [PRECAST, "query", "nodes", "--json"],
        env={**deployment.site.environment, "PRECAST_TOKEN": made["token"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, json.loads(done.stdout)) == (0, [])
    context = deployment.identities["web1"].context()
    assert https.call(deployment.site.url, context, "POST", "/v1/queries", b"{}").status == 401
