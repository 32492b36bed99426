"""Types in Ruby, applied by `puppet` itself and by Precast through the bridge: the same messages, trees and failures, twice.

The types of Debian's modules go through the bridge here also if Precast implements them. The types of the test's own module do what
those do not: features, automatic relationships, refreshes, generated resources, arrays without order.
"""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lab import ruby_module
from lab.ruby_module import cell, probe
from tests.differential.apply.comparison import tree, with_precast, with_puppet
from tests.differential.apply.generator import placed

pytestmark = [pytest.mark.timeout(300), pytest.mark.needs("ruby"), pytest.mark.needs("puppet")]

MODULES = Path("/usr/share/puppet/modules")  # where Debian has them
USED = ("archive", "inifile", "mailalias", "openssl", "stdlib", "vcsrepo")
STORE = "ROOT/cells.json"
Resource = Mapping[str, Any]


class Case(NamedTuple):
    """What is there before, the resources, and how many of them change in the first run and fail in each."""

    resources: list[Resource]
    changed: int
    failed: int = 0
    prepare: Callable[[Path], None] = lambda root: None


def _resource(kind: str, title: str, **parameters: Any) -> Resource:
    return {"type": kind, "title": title, "parameters": parameters}


def _ini(root: Path) -> None:
    (root / "x.ini").write_text("[java]\nargs = -Xmx256m -Xms64m\n; comment\n[other]\nargs = a,b\n")


def _repository(root: Path) -> None:
    who = {f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-01-01T00:00:00Z")
    source = root / "source"
    source.mkdir()
    (source / "file").write_text("one\n")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one"], ["tag", "v1"]):
        subprocess.run(["git", "-C", str(source), *words], env={**os.environ, **who, **dates}, check=True)


def _tarball(root: Path) -> None:
    (root / "packed").mkdir()
    (root / "packed/inside").write_text("inside\n")
    subprocess.run(["tar", "-C", str(root), "-czf", str(root / "packed.tar.gz"), "packed/inside"], check=True)
    (root / "packed/inside").unlink()
    (root / "packed").rmdir()


def _cells(root: Path) -> None:
    (root / "cells.json").write_text(
        '{"old": {"value": "x"}, "same": {"value": "v", "labels": ["b", "a"], "count": 1}}'
    )


CASES = {
    "cells": Case(
        [
            cell("late", STORE, value="L", after="early", count=2),
            cell("early", STORE, value="E", labels=["z", "y"]),
            cell("same", STORE, value="V", labels=["a", "b"], count=1),
            cell("old", STORE, ensure="absent", notify="Bridge_cell[told]"),
            cell("told", STORE, ensure="absent"),
            {**cell("secret", STORE, token="hush-hush"), "sensitive_parameters": ["token"]},
            probe("maker", "change", makes=["ROOT/made/a", "ROOT/made/b"]),
            _resource("File", "ROOT/made", ensure="directory", before="Bridge_probe[maker]"),
            probe("broken", "fail", says="a reason"),
            cell("dependent", STORE, require="Bridge_probe[broken]"),
        ],
        changed=9,
        failed=1,
        prepare=_cells,
    ),
    "ini_subsetting": Case(
        [
            _resource(
                "Ini_subsetting",
                "max",
                path="ROOT/x.ini",
                section="java",
                setting="args",
                subsetting="-Xmx",
                value="512m",
            ),
            _resource(
                "Ini_subsetting", "new", path="ROOT/x.ini", section="java", setting="args", subsetting="-D", value="x=1"
            ),
            _resource(
                "Ini_subsetting",
                "gone",
                ensure="absent",
                path="ROOT/x.ini",
                section="other",
                setting="args",
                subsetting="a",
                subsetting_separator=",",
            ),
        ],
        changed=3,
        prepare=_ini,
    ),
    "mailalias": Case(
        [
            _resource("Mailalias", "root", recipient="admin@example.com", target="ROOT/aliases"),
            _resource("Mailalias", "all", recipient=["a", "b"], target="ROOT/aliases"),
            _resource("Mailalias", "old", ensure="absent", target="ROOT/aliases"),
        ],
        changed=3,
        prepare=lambda root: (root / "aliases").write_text("old: someone\nkept: other\n"),  # type: ignore[arg-type]
    ),
    "vcsrepo": Case(
        [_resource("Vcsrepo", "ROOT/clone", ensure="present", provider="git", source="ROOT/source", revision="v1")],
        changed=1,
        prepare=_repository,
    ),
    "archive": Case(
        [
            _resource(
                "Archive",
                "ROOT/copy.tar.gz",
                source="ROOT/packed.tar.gz",
                extract=True,
                extract_path="ROOT",
                creates="ROOT/packed/inside",
                cleanup=False,
            )
        ],
        changed=1,
        prepare=_tarball,
    ),
}
CONTAINERS = {"Stage[main]", "Class[Main]"}
BRIDGED = frozenset({"ini_subsetting", "mailalias", "vcsrepo", "archive"})


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = ruby_module.write_module(tmp_path_factory.mktemp("modules"))
    for name in USED:
        if not (MODULES / name).is_dir():
            pytest.skip(f"needs the module {name} (a Debian package)")
        (directory / name).symlink_to(MODULES / name)
    return directory


def make_catalog(resources: list[Resource], root: Path, content: Mapping[str, str]) -> Any:
    refs = [f"{each['type']}[{each['title']}]" for each in resources]
    containers: list[Resource] = [
        {"type": kind, "title": "main", "parameters": {}, "tags": []} for kind in ("Stage", "Class")
    ]
    data = {
        "name": "node", "version": "1", "environment": "production", "catalog_format": 2, "classes": ["main"], "tags": [],
        "resources": [*containers, *({"tags": [], "kind": "compilable_type", **each} for each in resources)],
        "edges": [
            {"source": "Stage[main]", "target": "Class[main]"},
            *({"source": "Class[main]", "target": ref} for ref in refs),
        ],
        "content": dict(content),
    }  # fmt: skip
    return placed(data, str(root))


@pytest.mark.parametrize("name", CASES)
def test_both_do_and_say_the_same_twice(tmp_path: Path, modules: Path, name: str) -> None:
    case = CASES[name]
    content = ruby_module.pinned(modules, ruby_module.NAME, *USED)
    catalogs = {}
    for side in ("puppet", "precast"):
        root = tmp_path / side
        root.mkdir()
        case.prepare(root)
        catalogs[side] = tmp_path / f"{side}.json"
        catalogs[side].write_text(json.dumps(make_catalog(case.resources, root, content)))
    twice = [catalogs["puppet"]] * 2
    theirs = with_puppet(tmp_path / "theirs", [modules], twice, [tmp_path / "puppet"] * 2)
    ours = [
        with_precast(tmp_path / "ours", [modules], catalogs["precast"], tmp_path / "precast", bridged=BRIDGED)
        for _ in range(2)
    ]
    assert len(ours[0].changed) == case.changed
    assert len(ours[0].failed) == case.failed
    for mine, puppets in zip(ours, theirs, strict=True):
        assert mine.messages == puppets.messages
        assert (mine.failed, mine.skipped) == (puppets.failed, puppets.skipped - CONTAINERS)
    assert [outcome.changed for outcome in (theirs[1], ours[1])] == [ours[1].changed] * 2
    for side in ("puppet", "precast"):
        _drop_headers(tmp_path / side)
    assert _tree(tmp_path / "precast") == _tree(tmp_path / "puppet")


def _drop_headers(root: Path) -> None:
    """Drop the lines in which Puppet writes when it wrote a file."""
    for place in root.glob("aliases"):
        lines = place.read_text().splitlines(keepends=True)
        place.write_text("".join(line for line in lines if not line.startswith("# HEADER")))


def _tree(root: Path) -> dict[str, tuple[str, ...]]:
    """The tree, without what git writes about the time of a clone, and without the notes of how often a provider was called."""
    return {
        path: entry
        for path, entry in tree(root).items()
        if "/.git/" not in path and not path.endswith(".calls") and entry[0] != "d" and "packed.tar.gz" not in path
    }
