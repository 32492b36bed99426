"""Tasks that apply catalogs with secrets: the values are there for a part, for its tests, and for the catalog of an entry point."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.catalog_server import CatalogServer
from precast.agent.catalog import entry_catalog
from precast.agent.state import paths
from precast.agent.state.store import NAME as STORE
from precast.wire.jobs.programs import CatalogWork, CleanTest, ManifestWork
from tests.component.agent.tasks.stage import Outcome, Stage
from tests.component.agent.tasks.test_catalogs import ENTRY, document, offer

SECRET = "hunter2-Zq9!x"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CatalogServer]:
    (tmp_path / "site").mkdir()
    with CatalogServer(tmp_path / "site") as made:
        yield made


@pytest.fixture
def stage(server: CatalogServer) -> Iterator[Stage]:
    with Stage(server.authority, server.root) as made:
        made.configure(url=f'"{server.url}"')
        yield made


def file(title: str, content: Any, *tags: str) -> dict[str, Any]:
    return {
        "type": "File",
        "title": title,
        "parameters": {"content": content, "mode": "0600"},
        "sensitive_parameters": ["content"],
        "tags": list(tags),
    }


def assert_hidden(stage: Stage, outcome: Outcome) -> None:
    assert SECRET not in "\n".join(outcome.lines) + outcome.ended.message + outcome.ended.result
    directory = stage.root / paths.STATE
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in directory.glob(f"{STORE}*"))


def test_part_of_a_catalog_gets_its_secrets_and_its_output_shows_none(stage: Stage, server: CatalogServer) -> None:
    catalog = document(
        file("/a", server.put_secret(SECRET), "first"),
        file("/b", server.put_secret("other"), "second"),
    )
    outcome = stage.run(CatalogWork(tags=["first"]), catalogs=offer(server, catalog), is_signed=False)
    assert (outcome.ended.is_success, outcome.ended.message) == (True, "1 resource: 1 changed")
    assert (stage.root / "a").read_text() == SECRET
    assert_hidden(stage, outcome)


def test_test_of_a_part_says_whether_a_secret_is_in_sync(stage: Stage, server: CatalogServer) -> None:
    versions = offer(server, document(file("/a", server.put_secret(SECRET), "first")))
    (stage.root / "a").write_text("older")
    (stage.root / "a").chmod(0o600)
    work = CatalogWork(tags=["first"])
    outcome = stage.run(work, after=[CleanTest(work=work)], catalogs=versions, is_signed=False)
    assert outcome.ended.is_success, outcome.ended.message
    assert (stage.root / "a").read_text() == SECRET
    assert_hidden(stage, outcome)


def test_catalog_of_an_entry_point_has_secrets_of_its_own(stage: Stage, server: CatalogServer) -> None:
    version = server.put_entry(ENTRY, document(file("/a", server.put_secret(SECRET))))
    outcome = stage.run(ManifestWork(ENTRY), catalogs={ENTRY: version}, is_signed=False)
    assert outcome.ended.is_success, outcome.ended.message
    assert (stage.root / "a").read_text() == SECRET
    assert_hidden(stage, outcome)
    assert not (stage.root / paths.STATE / paths.SECRETS).exists()
    assert list((stage.root / entry_catalog.DIRECTORY).glob(f"*/{paths.SECRETS}"))
