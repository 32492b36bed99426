"""Python plug-ins: valid ones, and those that hang, crash, print, or return something else."""

from pathlib import Path

import pytest

from precast.agent.facts import plugins
from precast.agent.facts.collection import Collection, Collector, all_sources
from precast.agent.facts.machine import Machine, NoKernel
from tests.unit.agent.facts.roots import machine


@pytest.fixture
def place(tmp_path: Path) -> Path:
    directory = tmp_path / "facts.py.d"
    directory.mkdir(mode=0o755)
    return directory


def collect(place: Path) -> Collection:
    return Collector([plugins.directory_source(Machine(Path("/"), NoKernel()), str(place))]).collect()


def put(place: Path, body: str, name: str = "plugin.py") -> Path:
    path = place / name
    path.write_text(body)
    path.chmod(0o644)
    return path


def test_plugin_gives_what_its_function_returns(place: Path) -> None:
    put(place, "import json\n\ndef facts():\n    return {'Rack': {'row': 4, 'tags': ['a']}}\n")
    assert collect(place) == ({"rack": {"row": 4, "tags": ["a"]}}, [])


def test_plugin_that_prints_does_not_spoil_its_facts(place: Path) -> None:
    put(place, "import os\nprint('hello')\ndef facts():\n    os.system('echo noise')\n    return {'a': 1}\n")
    assert collect(place) == ({"a": 1}, [])


@pytest.mark.parametrize(
    ("body", "code", "reason"),
    [
        ("def facts():\n    return {}[1]\n", "FACT-027", "KeyError: 1 (line 2)"),
        ("def facts(:\n", "FACT-027", "SyntaxError"),
        ("import nowhere_at_all\n", "FACT-027", "No module named 'nowhere_at_all' (line 1)"),
        ("x = 1\n", "FACT-027", "it has no function facts()"),
        ("def facts():\n    return [1]\n", "FACT-027", "facts() returned a list, not a dict"),
        ("def facts():\n    return {'a': {1, 2}}\n", "FACT-027", "not JSON serializable"),
        ("def facts():\n    return {'a': float('nan')}\n", "FACT-027", "ValueError"),
        ("def facts():\n    return {'a': 'x' * 2_000_000}\n", "FACT-026", "more than 1000000 bytes"),
        ("def facts():\n    return {'a': 'x' * (1 << 32)}\n", "FACT-027", "MemoryError"),
        ("def facts():\n    raise SystemExit(0)\n", "FACT-027", "SystemExit"),
        ("import os\ndef facts():\n    os._exit(0)\n", "FACT-024", "it is not valid JSON"),
        ("import os\ndef facts():\n    os.abort()\n", "FACT-027", "killed by signal 6"),
        ("def facts():\n    return facts()\n", "FACT-027", "RecursionError"),
    ],
)
def test_invalid_plugin_is_one_warning_and_the_others_are_run(place: Path, body: str, code: str, reason: str) -> None:
    path = put(place, body, "a.py")
    put(place, "def facts():\n    return {'other': 1}\n", "b.py")
    collected = collect(place)
    assert collected.facts == {"other": 1}
    assert [warning.code for warning in collected.warnings] == [code]
    assert str(path) in collected.warnings[0].message
    assert reason in collected.warnings[0].message


def test_plugin_that_hangs_is_a_warning_past_its_deadline(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "PLUGIN_S", 0.3)
    put(place, "import threading\ndef facts():\n    threading.Event().wait()\n")
    collected = collect(place)
    assert [warning.code for warning in collected.warnings] == ["FACT-010"]


def test_plugin_sees_neither_our_variables_nor_modules_beside_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(place))
    put(place, "def facts():\n    import beside\n    return {}\n")
    put(place, "x = 1\ndef facts():\n    return {'beside': 1}\n", "beside.py")
    collected = collect(place)
    assert collected.facts == {"beside": 1}
    assert "No module named 'beside'" in collected.warnings[0].message


def test_other_files_beside_plugins_are_ignored(place: Path) -> None:
    (place / "README").write_text("read me")
    (place / "data.json").write_text("{")
    assert collect(place) == ({}, [])


def test_plugin_under_a_root_is_not_run(tmp_path: Path) -> None:
    image = machine(tmp_path, {"/etc/precast/facts.py.d/a.py": "def facts():\n    return {'a': 1}\n"})
    (tmp_path / "etc/precast/facts.py.d").chmod(0o755)
    collected = Collector(all_sources(image)).collect()
    assert "a" not in collected.facts
    assert [warning.code for warning in collected.warnings] == ["FACT-028"]
