"""Runs every example of cloud-init's documentation in a scratch root: each of its keys runs or is reported."""

import json
from pathlib import Path
from typing import Any

import pytest

from precast.boot.modules import registry
from precast.boot.modules.unsupported_keys import READ_ELSEWHERE, UNSUPPORTED
from precast.boot.userdata.reader import ReaderContext, read
from tests.unit.boot.modules import scratch
from tests.unit.boot.userdata.corpus import cloud_init

# The errors that are expected without programs, disks and network.
EXPECTED_ERRORS = {"BOOT-200", "BOOT-203", "BOOT-205", "BOOT-206", "BOOT-208", "BOOT-209"}


def refuse_fetch(url: str) -> bytes:
    raise OSError("these tests fetch nothing")


def list_names() -> list[str]:
    import os

    directory = Path(os.environ.get("PRECAST_CORPORA", "/nonexistent")) / "cloud-init/examples"
    return sorted(path.name for path in directory.glob("*.txt")) or ["none"]


@pytest.mark.parametrize("name", list_names())
def test_example_runs_or_is_reported_key_by_key(name: str, tmp_path: Path) -> None:
    path = cloud_init("examples") / name
    data = read(path.read_bytes(), ReaderContext(refuse_fetch))
    root = scratch.make_root(tmp_path)
    (root / "etc/apt").mkdir()
    (root / "etc/ssh").mkdir()
    ran = scratch.run(data.config, root, scripts=tuple(data.scripts))
    for error in ran.errors.values():
        assert error.code in EXPECTED_ERRORS, error.message
    reported = {str(finding.path[0]) for finding in ran.findings if finding.path}
    read_keys = {key for module in registry.list_modules() for key in module.schema}
    for key in data.config:
        assert key in read_keys or key in READ_ELSEWHERE or key in reported, f"{key} is ignored silently"
    assert data.config or data.scripts or data.findings


@pytest.mark.parametrize("name", list_names())
def test_example_in_a_dry_run_changes_nothing(name: str, tmp_path: Path) -> None:
    path = cloud_init("examples") / name
    data = read(path.read_bytes(), ReaderContext(refuse_fetch))
    root = scratch.make_root(tmp_path)
    (root / "etc/apt").mkdir()
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    scratch.run(data.config, root, scripts=tuple(data.scripts), is_dry_run=True)
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def _read_counts() -> dict[str, int]:
    text = (cloud_init("examples").parent / "usage-counts.txt").read_text()
    rows = [line.split() for line in text.splitlines() if "files" in line and "repos" in line and line.startswith(" ")]
    return {row[4]: int(row[0]) for row in rows}


def test_keys_of_the_top_90_percent_of_usage_run() -> None:
    counts = _read_counts()
    total, seen = sum(counts.values()), 0
    for key, count in sorted(counts.items(), key=lambda item: -item[1]):
        if seen < total * 0.9 and key != "autoinstall":  # this key is for an installer, not for a booted machine
            assert key in registry.list_schemas() or key in READ_ELSEWHERE, key
        seen += count


def test_every_key_of_cloud_inits_schema_is_run_or_reported() -> None:
    schema: dict[str, Any] = json.loads((cloud_init("schemas") / "schema-cloud-config-v1.json").read_text())
    known = {*registry.list_schemas(), *UNSUPPORTED, *READ_ELSEWHERE}
    assert sorted(set(schema["properties"]) - known) == []


def test_every_user_key_of_cloud_inits_schema_is_known() -> None:
    from precast.boot.modules.users import ENTRY

    schema: dict[str, Any] = json.loads((cloud_init("schemas") / "schema-cloud-config-v1.json").read_text())
    theirs = {key for key in schema["$defs"]["users_groups.user"]["properties"] if "-" not in key}
    assert sorted(theirs - set(ENTRY)) == []
