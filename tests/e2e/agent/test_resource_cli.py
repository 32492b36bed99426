"""`precast resource`, as a user runs it: listing, printing and changing resources, and wrong input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PRECAST = Path(sys.executable).with_name("precast")


def resource(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([PRECAST, "resource", *words], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hosts").write_text("127.0.0.1 localhost\n10.0.0.1 db1.example db1 # the db\n")
    (tmp_path / "etc/passwd").write_text("kim:x:1000:1000:Kim, 'the' user:/home/kim:/bin/sh\n")
    (tmp_path / "etc/shadow").write_text("kim:$6$hash:20000:0:99999:7:::\n")
    (tmp_path / "etc/group").write_text("kim:x:1000:\nadm:x:4:kim\n")
    return tmp_path


def test_one_resource_is_printed_as_puppet_code(root: Path) -> None:
    done = resource("host", "db1.example", "--root", root)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "host { 'db1.example':\n"
        "  ensure       => 'present',\n"
        "  comment      => 'the db',\n"
        "  host_aliases => ['db1'],\n"
        "  ip           => '10.0.0.1',\n"
        "  provider     => 'parsed',\n"
        "  target       => '/etc/hosts',\n"
        "}\n"
    )


def test_printed_resource_can_be_compiled(root: Path, tmp_path: Path) -> None:
    manifest = tmp_path / "site.pp"
    manifest.write_text(resource("user", "--root", root).stdout + resource("group", "--root", root).stdout)
    done = subprocess.run([PRECAST, "validate", manifest], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_hash_of_a_password_is_shown_only_when_asked_for(root: Path) -> None:
    plain = resource("user", "kim", "--root", root)
    assert "$6$hash" not in plain.stdout + plain.stderr + resource("user", "--json", "--root", root).stdout
    assert "password is omitted" in plain.stderr
    shown = resource("user", "kim", "--root", root, "--show-secrets")
    assert "  password           => '$6$hash',\n" in shown.stdout


def test_all_of_a_type_are_listed_by_title_also_as_json(root: Path) -> None:
    hosts = json.loads(resource("host", "--root", root, "--json").stdout)
    assert [host["title"] for host in hosts] == ["db1.example", "localhost"]
    assert hosts[0]["parameters"]["host_aliases"] == ["db1"]


def test_resource_that_does_not_exist_is_absent(root: Path) -> None:
    assert resource("host", "nowhere", "--root", root).stdout == "host { 'nowhere':\n  ensure => 'absent',\n}\n"


def test_attributes_are_applied_and_the_outcome_printed(root: Path) -> None:
    words = ["host", "db2.example", "ip=10.0.0.2", 'host_aliases=["db2", "db"]', "--root", str(root)]
    assert "pending" in resource(*words, "--noop").stdout
    assert "db2" not in (root / "etc/hosts").read_text()
    done = resource(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Host[db2.example]: ensure: created" in done.stdout
    assert "  host_aliases => ['db2', 'db'],\n" in done.stdout
    assert (root / "etc/hosts").read_text().endswith("10.0.0.2\tdb2.example\tdb2 db\n")
    again = json.loads(resource(*words, "--json").stdout)
    assert again["summary"]["changed"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["usr"], "there is no type usr; did you mean user?"),
        (["user", "kim", "shel=/bin/sh"], "user has no attribute shel; did you mean shell?"),
        (["user", "kim", "shell"], "'shell' is not ATTRIBUTE=VALUE"),
        (["user", "kim", "groups=[adm"], "groups: Expecting value"),
        (["file"], "existing resources of type file cannot be listed"),
        (["package"], "resources of type package cannot be applied below"),
        (["service"], "resources of type service cannot be applied below"),
    ],
)
def test_wrong_input_is_one_line_with_a_hint(root: Path, words: list[str], message: str) -> None:
    done = resource(*words, "--root", root)
    assert (done.returncode, done.stdout) == (64, "")
    assert message in done.stderr
    assert "hint: " in done.stderr
    assert "Traceback" not in done.stderr
