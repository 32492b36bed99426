"""External facts: every format, invalid files, and who may write them."""

import json
import os
from pathlib import Path

import pytest

from precast.agent.facts import external
from precast.agent.facts.collection import Collection, Collector, all_sources
from precast.agent.facts.machine import Machine, NoKernel
from tests.unit.agent.facts.roots import machine


@pytest.fixture
def facts_d(tmp_path: Path) -> Path:
    place = tmp_path / "facts.d"
    place.mkdir(mode=0o755)
    return place


def collect(*places: Path) -> Collection:
    """Collect the facts of these directories, without the built-in facts."""
    here = Machine(Path("/"), NoKernel())
    return Collector([external.directory_source(here, str(place)) for place in places]).collect()


def codes(collected: Collection) -> list[str]:
    return [warning.code for warning in collected.warnings]


def put(place: Path, name: str, text: str | bytes, mode: int = 0o644) -> Path:
    path = place / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    ("name", "text", "facts"),
    [
        ("a.json", '{"site": {"rack": 4}, "Upper": "Case"}', {"site": {"rack": 4}, "upper": "Case"}),
        (
            "a.yaml",
            "site:\n  rack: 4\nsince: 2030-01-01\nyes: no\n",
            {"site": {"rack": 4}, "since": "2030-01-01", "true": False},
        ),
        ("a.yml", "\ufeffa: &x [1]\nb: *x\n", {"a": [1], "b": [1]}),
        ("a.yaml", "", {}),
        ("a.yaml", "1: one\nnested: {2: two}\n", {"1": "one", "nested": {"2": "two"}}),
        (
            "a.txt",
            "# comment\n\nSite = Mainz \nurl=http://x/?a=b\nempty=\n",
            {"site": "Mainz", "url": "http://x/?a=b", "empty": ""},
        ),
        ("a.txt", "a=1\r\nb=2\r\n", {"a": "1", "b": "2"}),
    ],
)
def test_file_with_facts_is_read(facts_d: Path, name: str, text: str, facts: dict[str, object]) -> None:
    put(facts_d, name, text)
    assert collect(facts_d) == (facts, [])


@pytest.mark.parametrize(
    ("output", "facts"),
    [
        ('{"a": {"b": 1}}', {"a": {"b": 1}}),
        ("a: 1\nb: [x]\n", {"a": 1, "b": ["x"]}),
        ("a=1\nb=x: y\n", {"a": "1", "b": "x: y"}),
        ("---\na: b=c\n", {"a": "b=c"}),
        ("", {}),
    ],
)
def test_output_of_an_executable_is_read_in_any_form(facts_d: Path, output: str, facts: dict[str, object]) -> None:
    put(facts_d, "run", f"#!/bin/sh\ncat <<'END'\n{output}\nEND\n", 0o755)
    assert collect(facts_d) == (facts, [])


@pytest.mark.parametrize(
    ("name", "text", "mode", "code"),
    [
        ("a.json", "{", 0o644, "FACT-024"),
        ("a.json", "[1]", 0o644, "FACT-024"),
        ("a.json", b'{"a": "\xff"}', 0o644, "FACT-024"),
        ("a.json", "[" * 100_000, 0o644, "FACT-024"),
        ("a.json", '{"a": ' + "[" * 100 + "]" * 100 + "}", 0o644, "FACT-031"),
        ("a.json", '{"a": "' + "x" * 1_000_001 + '"}', 0o644, "FACT-026"),
        ("a.yaml", "a: [", 0o644, "FACT-024"),
        ("a.yaml", "just text", 0o644, "FACT-024"),
        ("a.yaml", "a: !!python/object/apply:os.system ['true']", 0o644, "FACT-024"),
        ("a.yaml", "[" * 20_000, 0o644, "FACT-024"),
        ("a.yaml", "? [1, 2]\n: 3\n", 0o644, "FACT-024"),
        ("a.yaml", "a: &x [1]\nb: [" + "*x, " * 40 + "]", 0o644, "FACT-024"),
        ("a.yaml", "a: .nan\n", 0o644, "FACT-030"),
        ("a.yaml", "a: !!binary aGk=\n", 0o644, "FACT-030"),
        ("a.yaml", "a: &a [*a]\n", 0o644, "FACT-024"),
        ("a.yaml", b"a: \xff\n", 0o644, "FACT-024"),
        ("a.yaml", "#" * 200_001, 0o644, "FACT-026"),
        ("a.txt", "a=1\nnonsense\n", 0o644, "FACT-025"),
        ("a.sh", "#!/bin/sh\necho a=1\n", 0o644, "FACT-023"),
        ("a.json", "{}", 0o646, "FACT-021"),
        ("a.json", "{}", 0o664, "FACT-021"),
        ("run", "#!/bin/sh\necho a=1\n", 0o775, "FACT-021"),
        ("run", "#!/bin/sh\necho a=1\nexit 3\n", 0o755, "FACT-027"),
        ("run", "#!/nowhere/interpreter\n", 0o755, "FACT-027"),
        ("run", "#!/bin/sh\nyes\n", 0o755, "FACT-026"),
        ("run", "#!/bin/sh\nkill -9 $$\n", 0o755, "FACT-027"),
    ],
)
def test_invalid_file_is_one_warning_and_the_others_are_read(
    facts_d: Path, name: str, text: str | bytes, mode: int, code: str
) -> None:
    path = put(facts_d, name, text, mode)
    put(facts_d, "z.txt", "other=sound\n")
    collected = collect(facts_d)
    assert codes(collected) == [code]
    assert collected.facts["other"] == "sound"
    message = collected.warnings[0].message
    assert str(path) in message or "fact a" in message


def test_executable_that_hangs_is_a_warning_past_its_deadline(facts_d: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "COMMAND_S", 0.2)
    put(facts_d, "run", "#!/bin/sh\nexec sleep 600\n", 0o755)
    put(facts_d, "z.json", json.dumps({"other": 1}))
    collected = collect(facts_d)
    assert (codes(collected), collected.facts) == (["FACT-010"], {"other": 1})


def test_executable_is_not_run_through_a_shell(tmp_path: Path) -> None:
    place = tmp_path / "facts.d; touch pwned"
    place.mkdir(mode=0o755)
    put(place, "$(run) '", "#!/bin/sh\necho a=1\n", 0o755)
    assert collect(place) == ({"a": "1"}, [])


def test_files_later_by_name_and_later_directories_override(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for place in (first, second):
        place.mkdir(mode=0o755)
    put(first, "10.txt", "a=1\nb=1\nc=1\n")
    put(first, "20.txt", "b=2\nc=2\n")
    put(second, "10.txt", "c=3\n")
    assert collect(first, second).facts == {"a": "1", "b": "2", "c": "3"}


@pytest.mark.parametrize(
    "name", [".hidden.json", "a.json~", "a.json.bak", "a.json.rpmsave", "a.json.dpkg-old", "__pycache__"]
)
def test_backups_and_hidden_files_are_ignored(facts_d: Path, name: str) -> None:
    put(facts_d, name, "broken", 0o755)
    assert collect(facts_d) == ({}, [])


def test_missing_directory_gives_nothing_and_no_warning(tmp_path: Path) -> None:
    assert collect(tmp_path / "missing") == ({}, [])


def test_file_in_place_of_the_directory_is_a_warning(tmp_path: Path) -> None:
    assert codes(collect(put(tmp_path, "facts.d", ""))) == ["FACT-020"]


def test_world_writable_directory_is_not_read(facts_d: Path) -> None:
    put(facts_d, "a.json", '{"a": 1}')
    facts_d.chmod(0o777)
    collected = collect(facts_d)
    assert (codes(collected), collected.facts) == (["FACT-021"], {})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_file_of_another_user_is_not_read(facts_d: Path) -> None:
    os.chown(put(facts_d, "a.json", '{"a": 1}'), 65534, 65534)
    collected = collect(facts_d)
    assert (codes(collected), collected.facts) == (["FACT-021"], {})
    assert "belongs to user 65534" in collected.warnings[0].message


def test_link_is_followed_inside_the_directory_only(facts_d: Path) -> None:
    put(facts_d, "real.json", '{"a": 1}')
    put(facts_d.parent, "outside.json", '{"b": 1}')
    (facts_d / "inside.json").symlink_to("real.json")
    (facts_d / "out.json").symlink_to("../outside.json")
    (facts_d / "dangling.json").symlink_to("nowhere.json")
    collected = collect(facts_d)
    assert collected.facts == {"a": 1}
    assert sorted(codes(collected)) == ["FACT-020", "FACT-022"]


def test_pipe_and_directory_beside_the_files_are_ignored(facts_d: Path) -> None:
    os.mkfifo(facts_d / "pipe.json")
    (facts_d / "sub.json").mkdir()
    assert collect(facts_d) == ({}, [])


def test_data_under_a_root_is_read_and_executables_are_not_run(tmp_path: Path) -> None:
    root = tmp_path / "root"
    image = machine(
        root, {"/etc/precast/facts.d/a.json": '{"a": 1}', "/etc/precast/facts.d/run": "#!/bin/sh\necho b=1\n"}
    )
    (root / "etc/precast/facts.d/run").chmod(0o755)
    (root / "etc/precast/facts.d").chmod(0o755)
    collected = Collector(all_sources(image)).collect()
    assert (collected.facts["a"], "b" in collected.facts, codes(collected)) == (1, False, ["FACT-028"])


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777, 0o1777])
def test_directory_that_others_may_write_is_one_warning_and_nothing_in_it_is_used(facts_d: Path, mode: int) -> None:
    put(facts_d, "a.json", '{"a": 1}')
    put(facts_d, "run", "#!/bin/sh\necho b=1\n", 0o755)
    facts_d.chmod(mode)
    collected = collect(facts_d)
    assert (codes(collected), collected.facts) == (["FACT-021"], {})


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_directory_below_one_that_others_may_write_is_not_used(tmp_path: Path, mode: int) -> None:
    """Another user could replace it by a directory of their own."""
    place = tmp_path / "site/facts.d"
    place.mkdir(parents=True)
    put(place, "a.json", '{"a": 1}')
    (tmp_path / "site").chmod(mode)
    collected = collect(place)
    assert (codes(collected), collected.facts) == (["FACT-021"], {})
    assert f"{tmp_path}/site is not safe" in collected.warnings[0].message
    (tmp_path / "site").chmod(0o1777)
    assert collect(place).facts == {"a": 1}, "in a sticky directory only its owner can replace it"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of several owners")
@pytest.mark.parametrize("name", ["site", "site/facts.d", "site/facts.d/a.json"])
def test_facts_that_another_user_owns_or_could_replace_are_not_used(tmp_path: Path, name: str) -> None:
    place = tmp_path / "site/facts.d"
    place.mkdir(parents=True)
    put(place, "a.json", '{"a": 1}')
    os.chown(tmp_path / name, 1234, 1234)
    collected = collect(place)
    assert (codes(collected), collected.facts) == (["FACT-021"], {})
