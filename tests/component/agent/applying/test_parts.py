"""Runs of a part of a catalog: the rest is left alone, and handlers know it."""

from pathlib import Path

import pytest

from precast.agent.applying.lease import lease_held
from precast.agent.applying.options import RunOptions
from precast.agent.applying.run import RunRequest, apply, look
from precast.agent.state.status_notes import RunNote
from precast.agent.state.store import LocalStore
from precast.base.errors import ConflictError
from precast.catalog.body import Body, ResourceData
from precast.catalog.part import PartSelection, take_part
from precast.wire.reports.events import Summary
from tests.unit.lang.small_manifests import compiled

PURGED = """
file { '/d': ensure => directory, recurse => true, purge => true, tag => 'part' }
file { '/d/other': content => 'of the rest' }
"""
SCHEDULED = """
schedule { 'never now': period => never }
file { '/f': content => 'x', schedule => 'never now', tag => 'part' }
"""


def fragments() -> Body:
    """A file that is in the part, made of two fragments of which one is."""
    resources = (
        ResourceData("Concat_file", "all", {"path": "/all", "tag": "all"}, ("part",)),
        ResourceData("Concat_fragment", "b", {"target": "/all", "content": "b\n"}, ()),
        ResourceData("Concat_fragment", "a", {"target": "/all", "content": "a\n"}, ("part",)),
    )
    return Body(resources, (), (), (), {})


def request_for(code: str | Body, root: Path) -> RunRequest:
    whole = compiled(code).body if isinstance(code, str) else code
    part = take_part(whole, PartSelection(tags=["part"])).body
    return RunRequest(part, None, root=root, known=whole)


def run(request: RunRequest) -> Summary:
    return apply(request, RunOptions(), lambda report: None)


def opened(root: Path) -> LocalStore:
    return LocalStore.open(root, lambda: "i")


def test_directory_that_is_purged_keeps_files_that_only_the_rest_of_the_catalog_manages(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for name in ("other", "stray"):
        (tmp_path / "d" / name).write_text(name)
    run(request_for(PURGED, tmp_path))
    assert [path.name for path in (tmp_path / "d").iterdir()] == ["other"]
    assert (tmp_path / "d/other").read_text() == "other"


def test_file_of_fragments_has_those_of_the_rest_of_the_catalog_in_their_order(tmp_path: Path) -> None:
    run(request_for(fragments(), tmp_path))
    assert (tmp_path / "all").read_text() == "a\nb\n"


def test_schedule_that_is_not_in_the_part_is_found(tmp_path: Path) -> None:
    summary = run(request_for(SCHEDULED, tmp_path))
    assert (summary.skipped, summary.failed, (tmp_path / "f").exists()) == (1, 0, False)


def test_only_the_part_is_applied_and_counted(tmp_path: Path) -> None:
    code = "file { '/a': content => 'a', tag => 'part' } file { '/b': content => 'b' }"
    assert run(request_for(code, tmp_path)).resources == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "var"]


def test_run_under_a_lease_that_its_process_holds_does_not_wait_for_it(tmp_path: Path) -> None:
    store = opened(tmp_path)
    request = request_for("file { '/a': content => 'a', tag => 'part' }", tmp_path)
    with lease_held(store, "a task") as lease:
        assert run(request._replace(token=lease.token)).changed == 1
        with pytest.raises(ConflictError) as raised:
            run(request._replace(token=lease.token - 1))
    assert raised.value.code == "APPLY-002"
    with lease_held(store, "another") as later:
        assert later.token == lease.token + 1
    store.close()


def test_look_reports_pending_changes_and_leaves_no_trace(tmp_path: Path) -> None:
    store = opened(tmp_path)
    body: Body = compiled("file { '/a': content => 'a' }").body
    seen: list[str] = []
    summary = look(
        RunRequest(body, None, root=tmp_path), RunOptions(), store, lambda report: seen.append(report.resource)
    )
    assert (summary.noop, summary.is_noop, seen) == (1, True, ["File[/a]"])
    assert not (tmp_path / "a").exists()
    assert store.read_note(RunNote) is None
    store.close()
