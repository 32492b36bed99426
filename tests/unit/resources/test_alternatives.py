"""alternatives and alternative_entry: dpkg's files are read, and its program makes the changes."""

from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import InputError, NotFoundError, UnavailableError
from precast.resources.contract import Handler
from precast.resources.dpkg_alternatives.alternatives import Alternatives
from tests.unit.resources.applied_resource import handler, machine
from tests.unit.resources.recorded import RecordedMachine

EDITOR = """\
manual
/usr/bin/editor
editor.1.gz
/usr/share/man/man1/editor.1.gz

/bin/nano
40
/usr/share/man/man1/nano.1.gz
/usr/bin/vi
15


"""


@pytest.fixture
def node(tmp_path: Path) -> RecordedMachine:
    node = RecordedMachine(tmp_path, {"update-alternatives --set editor /bin/none": (2, "no such\nalternative")})
    node.programs("update-alternatives")
    (tmp_path / "var/lib/dpkg/alternatives").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/alternatives/editor").write_text(EDITOR)
    (tmp_path / "etc/alternatives").mkdir(parents=True)
    (tmp_path / "etc/alternatives/editor").symlink_to("/bin/nano")
    return node


def changed(made: Handler) -> list[str]:
    changes = made.compare(made.read())
    for change in changes:
        made.apply(change)
    return [change.message for change in changes]


@pytest.mark.parametrize(
    ("given", "messages", "ran"),
    [
        ({"path": "/bin/nano"}, [], []),
        ({"path": "/usr/bin/vi"}, ["path changed '/bin/nano' to '/usr/bin/vi'"], ["--set editor /usr/bin/vi"]),
        ({"mode": "auto"}, ["mode changed 'manual' to 'auto'"], ["--auto editor"]),
        ({"mode": "manual"}, [], []),
    ],
)
def test_program_is_chosen(node: RecordedMachine, given: dict[str, Any], messages: list[str], ran: list[str]) -> None:
    assert changed(handler(node, "alternatives", "editor", **given)) == messages
    assert node.ran == [f"update-alternatives {words}" for words in ran]


ENTRY = {"altlink": "/usr/bin/editor", "altname": "editor"}


@pytest.mark.parametrize(
    ("title", "given", "messages", "ran"),
    [
        ("/bin/nano", {"priority": "40"}, [], []),
        ("/usr/bin/vi", {"priority": 15}, [], []),
        (
            "/usr/bin/vi",
            {"priority": 20},
            ["priority changed '15' to 20"],
            ["--remove editor /usr/bin/vi", "--install /usr/bin/editor editor /usr/bin/vi 20"],
        ),
        ("/bin/ed", {"priority": -10}, ["created"], ["--install /usr/bin/editor editor /bin/ed -10"]),
        ("/bin/nano", {"ensure": "absent"}, ["removed"], ["--remove editor /bin/nano"]),
        ("/bin/ed", {"ensure": "absent"}, [], []),
        ("/bin/x", {"altname": "new", "priority": 1}, ["created"], ["--install /usr/bin/editor new /bin/x 1"]),
    ],
)
def test_entry_is_registered(
    node: RecordedMachine, title: str, given: dict[str, Any], messages: list[str], ran: list[str]
) -> None:
    assert changed(handler(node, "alternative_entry", title, **{**ENTRY, **given})) == messages
    assert node.ran == [f"update-alternatives {words}" for words in ran]


def test_failure_shows_what_the_program_said(node: RecordedMachine) -> None:
    with pytest.raises(UnavailableError, match="no such alternative"):
        changed(handler(node, "alternatives", "editor", path="/bin/none"))


def test_mode_of_an_unknown_name_fails(node: RecordedMachine) -> None:
    with pytest.raises(NotFoundError, match="nobodys"):
        handler(node, "alternatives", "nobodys", mode="auto").read()


def test_machine_without_dpkg_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no provider dpkg"):
        handler(RecordedMachine(tmp_path, {}), "alternatives", "editor", path="/bin/nano").read()
    with pytest.raises(InputError, match="below"):
        handler(machine(tmp_path), "alternatives", "editor", path="/bin/nano")


@pytest.mark.parametrize(
    ("type_name", "title", "given"),
    [
        ("alternatives", "editor", {"path": "nano"}),
        ("alternatives", "editor", {"mode": "best"}),
        ("alternative_entry", "nano", {**ENTRY, "priority": 1}),
        ("alternative_entry", "/bin/nano", {**ENTRY, "priority": "high"}),
        ("alternative_entry", "/bin/nano", ENTRY | {"ensure": "present"}),
        ("alternative_entry", "/bin/nano", {"altname": "editor", "priority": 1}),
        ("alternative_entry", "/bin/nano", {"altname": "--all", "altlink": "/x", "priority": 1}),
    ],
)
def test_invalid_parameters_fail_when_it_is_made(
    node: RecordedMachine, type_name: str, title: str, given: dict[str, Any]
) -> None:
    with pytest.raises(InputError):
        handler(node, type_name, title, **given)


def test_names_are_listed(node: RecordedMachine) -> None:
    (instance,) = Alternatives.instances(node)
    assert (instance.title, instance.properties) == ("editor", {"path": "/bin/nano", "mode": "manual"})
