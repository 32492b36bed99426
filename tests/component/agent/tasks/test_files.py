"""Works over files in the real process of a task: one node collects, another one copies, and both write."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.catalog_server import CatalogServer
from precast.wire.jobs.programs import CollectWork, CopiedFile, CopyWork, SyncWork, UploadWork
from precast.wire.plans.task_content import PATH
from tests.component.agent.tasks.stage import Stage


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CatalogServer]:
    (tmp_path / "site").mkdir()
    with CatalogServer(tmp_path / "site") as made:
        yield made


@pytest.fixture
def stage(server: CatalogServer) -> Iterator[Stage]:
    with Stage(server.authority, server.root) as made:
        made.configure(url=f'"{server.url}"', allow_exec="true")
        yield made


def test_upload_writes_the_text_of_the_plan_or_of_an_input(stage: Stage) -> None:
    outcome = stage.run(UploadWork("/srv/file", mode="0600"), inputs='{"data": "from another task"}')
    assert outcome.ended.is_success, outcome.ended.message
    assert (stage.root / "srv/file").read_text() == "from another task"
    assert json.loads(outcome.ended.result) == {"changed": True}


def test_collected_files_are_copied_with_the_result_as_the_input(stage: Stage, server: CatalogServer) -> None:
    (stage.root / "source").write_text("some text")
    collected = stage.run(CollectWork(["/source"]))
    assert collected.ended.is_success, collected.ended.message
    (stage.root / "var/lib/precast/agent/state.db").unlink()
    inputs = json.dumps({"collected": json.loads(collected.ended.result)})
    copied = stage.run(CopyWork([CopiedFile("/source", "/target")]), inputs=inputs)
    assert copied.ended.is_success, copied.ended.message
    assert (stage.root / "target").read_text() == "some text"
    assert any(path.startswith(PATH) for path in server.asked)


@pytest.mark.skipif(shutil.which("rsync") is None, reason="needs rsync")
def test_sync_makes_a_directory_equal_to_its_source(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "from/file").write_text("synchronised")
    outcome = stage.run(SyncWork(f"{tmp_path}/from/", "/srv"))
    assert outcome.ended.is_success, outcome.ended.message
    assert (stage.root / "srv/file").read_text() == "synchronised"
