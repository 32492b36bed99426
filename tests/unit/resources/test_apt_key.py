"""apt_key: what apt-key lists decides; a key that is given has the fingerprint that the resource names."""

from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import InputError, UnavailableError
from precast.resources.apt import openpgp
from precast.resources.apt.apt_key import AptKey
from tests.unit.resources.applied_resource import handler, machine
from tests.unit.resources.recorded import RecordedMachine

FIRST, SECOND = "6F6B15509CF8E59E6E469F327F438280EF8D349F", "A" * 40
LIST = "apt-key adv --no-tty --list-keys --with-colons --fingerprint --fixed-list-mode"
LISTED = f"""\
tru:t:1:1600000000:0:3:1:5
pub:-:4096:1:7F438280EF8D349F:1600000000:::-:::scSC::::::23::0:
fpr:::::::::{FIRST}:
uid:-::::1600000000::X::Someone::::::::::0:
sub:-:4096:1:1234567890ABCDEF:1600000000::::::e::::::23:
fpr:::::::::{"B" * 40}:
"""


@pytest.fixture
def node(tmp_path: Path) -> RecordedMachine:
    return RecordedMachine(tmp_path, {LIST: (0, LISTED)})


@pytest.mark.parametrize(
    ("title", "ensure", "message"),
    [
        (FIRST, "present", None),
        (FIRST.lower(), "present", None),
        (f"0x{FIRST[-16:]}", "present", None),
        (FIRST[-8:], "present", None),
        (SECOND, "absent", None),
        (SECOND, "present", "created"),
        ("B" * 40, "present", "created"),  # a subkey is none of its own
        (FIRST, "absent", "removed"),
    ],
)
def test_list_of_keys_decides(node: RecordedMachine, title: str, ensure: str, message: str | None) -> None:
    made = handler(node, "apt_key", title, ensure=ensure)
    changes = made.compare(made.read())
    assert [change.message for change in changes] == ([] if message is None else [message])
    assert bool(made.take_logs()) == (len(title.removeprefix("0x")) < 40)


def test_key_comes_from_a_server(node: RecordedMachine) -> None:
    made = handler(node, "apt_key", SECOND, ensure="present", server="hkps://keys.example.com", options="timeout=5")
    (change,) = made.compare(made.read())
    made.apply(change)
    options = "--keyserver hkps://keys.example.com --keyserver-options timeout=5"
    assert node.ran[-1] == f"apt-key adv --no-tty {options} --recv-keys {SECOND}"


def test_key_with_another_fingerprint_is_never_added(node: RecordedMachine, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("no key")
    for given in ({"content": "no key"}, {"source": "/key"}):
        made = handler(node, "apt_key", SECOND, ensure="present", **given)
        (change,) = made.compare(made.read())
        with pytest.raises(InputError, match="does not have the fingerprint"):
            made.apply(change)
    assert all(command == LIST for command in node.ran)


def test_removal_ends_if_the_key_stays(node: RecordedMachine) -> None:
    made = handler(node, "apt_key", FIRST, ensure="absent")
    (change,) = made.compare(made.read())
    with pytest.raises(UnavailableError, match="still"):
        made.apply(change)


def test_keys_are_listed_for_purging(node: RecordedMachine) -> None:
    assert [instance.title for instance in AptKey.instances(node)] == [FIRST]


@pytest.mark.parametrize(
    ("title", "given"),
    [
        ("xyz", {}),
        (FIRST[:39], {}),
        (FIRST, {"content": "a", "source": "/b"}),
        (FIRST, {"source": "relative"}),
        (FIRST, {"server": "--homedir=/x"}),
    ],
)
def test_invalid_parameters_fail_when_it_is_made(node: RecordedMachine, title: str, given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        handler(node, "apt_key", title, ensure="present", **given)


def test_other_root_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="below"):
        handler(machine(tmp_path), "apt_key", FIRST, ensure="present")


def test_nonsense_has_no_fingerprints() -> None:
    with pytest.raises(ValueError, match="not a valid key"):
        openpgp.list_fingerprints(b"nonsense")
