"""`precast eval` as a user runs it: values, logs, facts, modules, and the errors for wrong code and wrong arguments."""

import json
import subprocess
import sys
from pathlib import Path

PRECAST = Path(sys.executable).with_name("precast")


def precast(*arguments: str, given: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [PRECAST, *arguments], input=given, capture_output=True, timeout=60, check=False, text=True, encoding="utf-8"
    )


def test_value_is_printed_in_puppets_notation() -> None:
    assert precast("eval", "[1, 'a', {x => undef}]").stdout == "[1, 'a', {'x' => undef}]\n"
    assert precast("eval", "undef").stdout == "undef\n"


def test_string_is_printed_unchanged() -> None:
    assert precast("eval", '"a\\nb"').stdout == "a\nb\n"


def test_json_has_value_type_and_logs() -> None:
    done = precast("eval", "--json", "warning('w') Timespan(90)")
    assert json.loads(done.stdout) == {
        "value": {"__ptype": "Timespan", "__pvalue": "0-00:01:30.0"},
        "type": "Timespan['0-00:01:30.0']",
        "logs": [["warning", "w"]],
    }
    assert done.stderr == ""


def test_logs_go_to_standard_error() -> None:
    done = precast("eval", "notice('said') 5")
    assert (done.stdout, done.stderr) == ("5\n", "notice: said\n")


def test_code_comes_from_standard_input() -> None:
    assert precast("eval", "-", given="[1, 2].map |$x| {\n  $x * 2\n}\n").stdout == "[2, 4]\n"


def test_facts_fill_holes(tmp_path: Path) -> None:
    facts = tmp_path / "facts.yaml"
    facts.write_text("os: {name: Debian}\nfqdn: a.example.com\n")
    done = precast("eval", "--facts", str(facts), "\"${facts['os']['name']} on ${fqdn}\"")
    assert done.stdout == "Debian on a.example.com\n"


def test_environment_gives_modules(tmp_path: Path) -> None:
    module = tmp_path / "modules" / "m"
    for path, text in (
        ("functions/twice.pp", "function m::twice($x) { $x * 2 }"),
        ("files/note.txt", "a note"),
        ("templates/t.epp", "<%- | $x | -%>\nx is <%= $x %>"),
    ):
        (module / path).parent.mkdir(parents=True, exist_ok=True)
        (module / path).write_text(text)
    code = "[m::twice(4), file('m/note.txt'), epp('m/t.epp', {x => 5})]"
    assert precast("eval", "--environment", str(tmp_path), code).stdout == "[8, 'a note', 'x is 5']\n"


def test_link_out_of_the_environment_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("outside")
    files = tmp_path / "env" / "modules" / "m" / "files"
    files.mkdir(parents=True)
    (files / "link").symlink_to(secret)
    done = precast("eval", "--environment", str(tmp_path / "env"), "file('m/link')")
    assert done.returncode == 64
    assert "Could not find any files from m/link [LANG-442]" in done.stderr


def test_strict_refuses_unknown_variables() -> None:
    assert precast("eval", "$nope").stdout == "undef\n"
    done = precast("eval", "--strict", "$nope")
    assert done.returncode == 64
    assert "Unknown variable: 'nope'." in done.stderr


def test_error_shows_the_place() -> None:
    done = precast("eval", "-", given="$a = 1\nabs('x', $a)\n")
    assert done.returncode == 64
    assert done.stderr.split("\n")[:3] == [
        "standard input:2:1: error: 'abs' expects 1 argument, got 2 [LANG-400]",
        "    2 | abs('x', $a)",
        "      | ^~~~~~~~~~~~",
    ]


def test_commands_and_foreign_files_are_refused() -> None:
    assert "[LANG-446]" in precast("eval", "generate('/bin/true')").stderr
    assert "[LANG-440]" in precast("eval", "file('/etc/passwd')").stderr


def test_missing_files_are_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    done = precast("eval", "--facts", missing, "1")
    assert (done.returncode, f"cannot read {missing}" in done.stderr) == (66, True)
    done = precast("eval", "--environment", missing, "1")
    assert (done.returncode, f"{missing} is not a directory" in done.stderr) == (66, True)
