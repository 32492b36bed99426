"""The whole corpus of Fuel's task graphs: all of it loads, and each of its oddities is a warning."""

import os
from collections import Counter
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped] # it has no types of its own

from precast.plans.loading.documents import PlanText
from precast.plans.loading.loader import LoadedPlan, load_plan
from tests.unit.plans.loading.plan_texts import lines

# By the type that Fuel writes, its tasks in the corpus.
_TYPES = {
    "puppet": 169, "shell": 13, "stage": 12, "group": 11, "upload_file": 9, "copy_files": 7, "skipped": 4, "sync": 2,
    "master_shell": 2, "move_to_bootstrap": 2, "erase_node": 1, "reboot": 1,
}  # fmt: skip
# What each graph loads with, by its directory: the codes of its warnings.
_WARNINGS = {
    "deployment": {"PLAN-025": 4, "PLAN-024": 7},
    "graphs/deletion": {"PLAN-028": 1, "PLAN-027": 2},
    "graphs/net-verification": {},
    "graphs/provision": {"PLAN-027": 1, "PLAN-028": 1},
}


@pytest.fixture(scope="module")
def corpus() -> Path:
    directory = Path(os.environ.get("PRECAST_CORPORA", "/nonexistent")) / "fuel"
    if not directory.is_dir():
        pytest.skip("PRECAST_CORPORA names no directory with fuel")
    return directory


def _load(corpus: Path, directory: str) -> LoadedPlan:
    files = sorted((corpus / directory).rglob("*.yaml"))
    return load_plan([PlanText(str(path.relative_to(corpus)), path.read_text()) for path in files], directory)


@pytest.mark.parametrize("directory", _WARNINGS)
def test_graph_loads_and_its_oddities_are_warnings(corpus: Path, directory: str) -> None:
    loaded = _load(corpus, directory)
    assert lines(loaded.errors) == []
    assert Counter(warning.code for warning in loaded.warnings) == _WARNINGS[directory]
    assert all(warning.at for warning in loaded.warnings)


def test_graphs_have_all_tasks_of_the_corpus(corpus: Path) -> None:
    plans = [plan for directory in _WARNINGS if (plan := _load(corpus, directory).plan) is not None]
    types = Counter(task.type for plan in plans for task in plan.tasks)
    assert types == {
        "manifest": _TYPES["puppet"],
        "shell": _TYPES["shell"] + _TYPES["master_shell"],
        "skipped": _TYPES["skipped"] + _TYPES["move_to_bootstrap"] + _TYPES["erase_node"],
        **{name: _TYPES[name] for name in ("stage", "upload_file", "copy_files", "sync", "reboot")},
    }
    assert sum(len(plan.groups) for plan in plans) == _TYPES["group"]


def test_tests_conditions_and_dependencies_of_the_corpus_are_all_read(corpus: Path) -> None:
    raw = [
        task
        for path in sorted(corpus.rglob("*.yaml"))
        if isinstance(tasks := yaml.safe_load(path.read_text()), list)
        for task in tasks
        if task["type"] != "group"
    ]
    plans = [plan for directory in _WARNINGS if (plan := _load(corpus, directory).plan) is not None]
    tasks = [task for plan in plans for task in plan.tasks]
    assert (sum("test_pre" in task for task in raw), sum("test_post" in task for task in raw)) == (38, 51)
    assert (sum(bool(task.test_pre) for task in tasks), sum(bool(task.test_post) for task in tasks)) == (38, 51)
    assert sum(task.condition is not None for task in tasks) == sum("condition" in task for task in raw) == 181
    for field, attribute in (
        ("requires", "requires"),
        ("required_for", "required_for"),
        ("cross-depends", "cross_depends"),
    ):
        written = sum(len(task.get(field) or ()) for task in raw if not isinstance(task.get(field), dict))
        assert sum(len(getattr(task, attribute)) for task in tasks) == written
    assert [task.id for task in tasks if task.computed] == [
        task["id"] for task in raw if any(isinstance(task.get(field), dict) for field in ("cross-depends", "cross-depended-by"))
    ]  # fmt: skip


def test_graphs_as_layers_override_by_id(corpus: Path) -> None:
    files = [
        PlanText(str(path.relative_to(corpus)), path.read_text(), layer)
        for layer, directory in enumerate(_WARNINGS)
        for path in sorted((corpus / directory).rglob("*.yaml"))
    ]
    loaded = load_plan(files, "fuel")
    assert loaded.plan is not None
    assert len(loaded.plan.tasks) + len(loaded.plan.groups) == sum(_TYPES.values()) - 1  # one id is in two graphs
    moved = next(task for task in loaded.plan.tasks if task.id == "move_to_bootstrap")
    assert moved.at.file == "graphs/provision/tasks.yaml"


def test_each_file_of_the_corpus_loads_alone(corpus: Path) -> None:
    paths = sorted(corpus.rglob("*.yaml"))
    assert len(paths) == 50
    for path in paths:
        assert lines(load_plan([PlanText(path.name, path.read_text())], path.stem).errors) == [], path
