"""apt_key: what apt-key lists decides; a key that is given has the fingerprint that the resource names."""

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import InputError, UnavailableError
from precast.resources.apt import openpgp
from precast.resources.apt.apt_key import AptKey
from tests.unit.resources.applied_resource import handler, machine
from tests.unit.resources.recorded import RecordedMachine


def packet(tag: int, seed: bytes) -> bytes:
    """A packet of OpenPGP that looks like a key of version 4."""
    body = b"\x04" + seed * 20
    return bytes([0xC0 | tag, len(body)]) + body


def fingerprint(seed: bytes) -> str:
    body = b"\x04" + seed * 20
    return hashlib.sha1(b"\x99" + len(body).to_bytes(2) + body, usedforsecurity=False).hexdigest().upper()


KEY, SUBKEY = 6, 14
FIRST, SECOND, SUB, OTHER = fingerprint(b"a"), "A" * 40, fingerprint(b"b"), fingerprint(b"c")


@pytest.fixture
def node(tmp_path: Path) -> RecordedMachine:
    (tmp_path / "etc/apt/trusted.gpg.d").mkdir(parents=True)
    (tmp_path / "etc/apt/trusted.gpg").write_bytes(packet(KEY, b"a") + packet(SUBKEY, b"b"))
    armoured = base64.b64encode(packet(KEY, b"c")).decode()
    block = f"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{armoured}\n-----END PGP PUBLIC KEY BLOCK-----\n"
    (tmp_path / "etc/apt/trusted.gpg.d/other.asc").write_text(block)
    (tmp_path / "etc/apt/trusted.gpg.d/readme.txt").write_text("no key")
    return RecordedMachine(tmp_path, {})


@pytest.mark.parametrize(
    ("title", "ensure", "message"),
    [
        (FIRST, "present", None),
        (FIRST.lower(), "present", None),
        (f"0x{FIRST[-16:]}", "present", None),
        (FIRST[-8:], "present", None),
        (SECOND, "absent", None),
        (SECOND, "present", "created"),
        (SUB, "present", "created"),  # a subkey is none of its own
        (OTHER, "present", None),
        (FIRST, "absent", "removed"),
    ],
)
def test_keyrings_decide(node: RecordedMachine, title: str, ensure: str, message: str | None) -> None:
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
    assert node.ran == []


def test_removal_ends_if_the_key_stays(node: RecordedMachine) -> None:
    made = handler(node, "apt_key", FIRST, ensure="absent")
    (change,) = made.compare(made.read())
    with pytest.raises(UnavailableError, match="still"):
        made.apply(change)


def test_keys_are_listed_for_purging(node: RecordedMachine) -> None:
    assert [instance.title for instance in AptKey.instances(node)] == [FIRST, OTHER]


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


def test_right_key_is_added(node: RecordedMachine) -> None:
    content = (Path(node.root) / "etc/apt/trusted.gpg.d/other.asc").read_text()
    (Path(node.root) / "etc/apt/trusted.gpg.d/other.asc").unlink()
    made = handler(node, "apt_key", OTHER, ensure="present", content=content)
    (change,) = made.compare(made.read())
    made.apply(change)
    assert node.ran == ["apt-key add -"]


def test_broken_keyring_is_named(node: RecordedMachine) -> None:
    (Path(node.root) / "etc/apt/trusted.gpg.d/x.gpg").write_text("nonsense")
    with pytest.raises(InputError, match=r"x\.gpg"):
        handler(node, "apt_key", FIRST, ensure="present").read()


def test_nonsense_has_no_fingerprints() -> None:
    with pytest.raises(ValueError, match="not a valid key"):
        openpgp.list_fingerprints(b"nonsense")
