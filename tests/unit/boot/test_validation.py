"""Validation of user data before a boot: problems have a file, line, column and hint."""

import gzip
import json
from pathlib import Path

import pytest

from precast.boot.validation import validate
from precast.cli.main import main
from tests.unit.boot.userdata.corpus import cloud_init

BAD = """#cloud-config
hostnme: x
users:
  - name: a
    ssh_authorised_keys: [x]
    sudo: {a: b}
  - gecos: y
runcmd: echo hi
chpasswd: {users: [{name: a, password: {hunter2: 1}}], list: [[hunter2]]}
chef: {}
"""


def places(text: str) -> list[tuple[int, int, bool, str]]:
    places_found = []
    for problem in validate("test", text.encode()):
        error = problem.error
        assert error.source is not None
        assert error.span is not None
        places_found.append((*error.source.position(error.span.start), problem.is_warning, error.hint))
    return places_found


def test_everything_wrong_is_told_with_its_place_and_a_hint() -> None:
    problems = places(BAD)
    assert problems[:5] == [
        (2, 1, True, "did you mean hostname?"),
        (5, 5, True, "did you mean ssh_authorized_keys?"),
        (6, 5, False, ""),
        (7, 5, True, "add name:"),
        (8, 1, False, "begin each element with a dash"),
    ]
    assert [each[:3] for each in problems[5:]] == [(9, 30, False), (9, 63, False), (10, 1, True)]


def test_secrets_are_not_shown() -> None:
    text = BAD.replace("{hunter2: 1}", "[hunter2]").replace("[[hunter2]]", "{a: hunter2}")
    assert "hunter2" not in "".join(
        problem.error.message + problem.error.hint for problem in validate("test", text.encode())
    )


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("hostname: x\n", "BOOT-191", 1),
        ("#cloud-config\na: [1\nb: 2\n", "BOOT-300", 3),
        ("#cloud-config\n- a\n", "BOOT-302", 1),
        ("what is this\n", "BOOT-305", 1),
        ("#cloud-config\nmerge_how: nonsense\n", "BOOT-303", 2),
        ("version: 2\nethernets:\n  eth0: {dhcp4: perhaps}\n", "BOOTNET", 3),
    ],
)
def test_what_is_wrong_as_a_whole_is_told(text: str, code: str, line: int) -> None:
    problem = validate("test", text.encode())[0]
    assert problem.error.code.startswith(code)
    assert problem.error.source is not None
    assert problem.error.span is not None
    assert problem.error.source.position(problem.error.span.start).line == line


def test_parts_archives_and_templates_are_looked_through() -> None:
    archive = "#cloud-config-archive\n- |\n  #cloud-config\n  hostnme: x\n- '#!/bin/sh'\n"
    assert [problem.error.source.path for problem in validate("f", archive.encode()) if problem.error.source] == [
        "f (part 1)"
    ]
    template = "## template: jinja\n#cloud-config\n{% if v1.x %}\na: 1\n{% endif %}\nhostnme: {{ v1.y }}\n"
    (problem,) = validate("f", gzip.compress(template.encode()))
    assert "hostnme" in problem.error.message


def test_examples_have_no_errors_but_those_that_are_meant() -> None:
    wrong = {
        path.name
        for path in sorted(cloud_init("examples").glob("*.*"))
        if any(not problem.is_warning for problem in validate(path.name, path.read_bytes()))
    }
    assert wrong == {
        "cloud-config-archive-launch-index.txt", "cloud-config-archive.txt",  # parts that are plain text
        "cloud-config-user-groups.txt",  # a user with a snap account and no name
        "kernel-command-line.txt", "plain-ignored.txt",
    }  # fmt: skip


def test_command_prints_places_and_ends_with_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text("#cloud-config\nhostname: x\n")
    bad.write_text(BAD)
    assert main(["boot", "validate", str(good)]) == 0
    assert capsys.readouterr().out == "1 file: 0 errors, 0 warnings\n"
    assert main(["boot", "validate", str(good), str(bad)]) == 1
    out = capsys.readouterr().out
    assert f"{bad}:2:1: warning: hostnme is not a known key [BOOT-190]" in out
    assert "hint: did you mean hostname?" in out
    assert main(["boot", "validate", "--json", str(bad)]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["findings"][0]["line"] == 2
    good.write_text("#cloud-config\nchef: {}\n")
    assert main(["boot", "validate", str(good)]) == 0
    assert main(["boot", "validate", "--strict", str(good)]) == 1
