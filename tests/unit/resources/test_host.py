"""host: lines of /etc/hosts, with Puppet's messages; all other lines stay the same."""

from pathlib import Path
from typing import Any

import pytest

from precast.agent.applying.machine import Machine
from precast.base.errors import InputError
from tests.unit.resources.applied_resource import apply_resource, differences, handler, machine

HOSTS = """\
# ours
127.0.0.1   localhost   loop   # the loop
::1 localhost ip6-localhost

10.0.0.9\tother  # kept
"""


@pytest.fixture
def node(tmp_path: Path) -> Machine:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hosts").write_text(HOSTS)
    (tmp_path / "etc/hosts").chmod(0o640)
    return machine(tmp_path)


def text(node: Machine) -> str:
    return Path(node.path("/etc/hosts")).read_text()


def test_new_host_is_appended_in_puppets_form(node: Machine) -> None:
    messages = apply_resource(node, "host", "db1.example", ip="10.0.0.1", host_aliases=["db1", "db"], comment="the db")
    assert messages == ["ensure: created"]
    assert text(node) == HOSTS + "10.0.0.1\tdb1.example\tdb1 db\t# the db\n"
    assert Path(node.path("/etc/hosts")).stat().st_mode & 0o777 == 0o640


def test_changed_properties_are_told_and_change_one_line(node: Machine) -> None:
    apply_resource(node, "host", "db", ip="10.0.0.1", host_aliases=["db1", "db2"], comment="one")
    messages = apply_resource(node, "host", "db", ip="10.0.0.11", host_aliases=["db1", "dbx"], comment="two")
    assert messages == [
        "ip: ip changed '10.0.0.1' to '10.0.0.11'",
        "host_aliases: host_aliases changed db1 db2 to 'db1 dbx'",
        "comment: comment changed 'one' to 'two'",
    ]
    assert text(node) == HOSTS + "10.0.0.11\tdb\tdb1 dbx\t# two\n"


def test_what_is_not_managed_stays_on_the_line(node: Machine) -> None:
    apply_resource(node, "host", "other", ip="10.0.0.10")
    assert text(node) == HOSTS.replace("10.0.0.9\tother  # kept", "10.0.0.10\tother\t# kept")


def test_aliases_come_and_go(node: Machine) -> None:
    assert apply_resource(node, "host", "other", ip="10.0.0.9", host_aliases="o") == [
        "host_aliases: defined 'host_aliases' as 'o'"
    ]
    assert apply_resource(node, "host", "other", ip="10.0.0.9", host_aliases=[]) == [
        "host_aliases: undefined 'host_aliases' from o"
    ]


def test_of_two_lines_the_last_counts_and_both_are_removed(node: Machine) -> None:
    assert differences(node, "host", "localhost", ip="::1") == []
    assert apply_resource(node, "host", "localhost", ensure="absent") == ["ensure: removed"]
    assert "localhost" not in text(node)


def test_missing_file_is_made(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    node = machine(tmp_path)
    apply_resource(node, "host", "a", ip="10.0.0.1")
    assert text(node) == "10.0.0.1\ta\n"


def test_bytes_that_are_no_utf8_survive(node: Machine) -> None:
    place = Path(node.path("/etc/hosts"))
    place.write_bytes(b"# caf\xe9\n")
    apply_resource(node, "host", "a", ip="10.0.0.1")
    assert place.read_bytes() == b"# caf\xe9\n10.0.0.1\ta\n"


@pytest.mark.parametrize(
    ("title", "parameters", "words"),
    [
        ("a", {"ip": "300.1.1.1"}, "ip cannot be '300.1.1.1'"),
        ("a", {"ensure": "present"}, "ip must be given"),
        ("a b", {"ip": "10.0.0.1"}, "name cannot be"),
        ("a", {"ip": "10.0.0.1", "host_aliases": ["b c"]}, "host_aliases cannot be 'b c'"),
        ("a", {"ip": "10.0.0.1", "comment": "x\ny"}, "comment cannot be"),
        ("a", {"ensure": "gone"}, "ensure cannot be 'gone'"),
    ],
)
def test_wrong_values_fail_when_planned(node: Machine, title: str, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        handler(node, "host", title, **parameters)
