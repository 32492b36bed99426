"""Every fuzz target holds for its seeds and for some hundred changes of them; `make fuzz` tries millions, guided by coverage."""

import random
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz import archive_targets
from tests.fuzz.registry import TARGETS

CHANGES = 300
_TOKENS = (
    b"\0",
    b"\xff",
    b"{",
    b"}",
    b"[",
    b"..",
    b"/",
    b"&",
    b"*",
    b"(",
    b")",
    b"-1",
    b"9" * 20,
    b"\n",
    b"'",
    b'"',
    b":",
)


def _changes(seed: bytes, count: int) -> Iterator[bytes]:
    """Changes of a seed: bytes replaced, parts deleted, doubled or moved, tokens inserted. The same at every run."""
    chance = random.Random(seed)
    for _ in range(count):
        data = bytearray(seed)
        for _ in range(chance.randrange(1, 5)):
            start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
            change = chance.randrange(5)
            if change == 0 and data:
                data[min(start, len(data) - 1)] = chance.randrange(256)
            elif change == 1:
                del data[start:end]
            elif change == 2:
                data[start:start] = data[start:end]
            elif change == 3:
                data[start:start] = chance.choice(_TOKENS)
            else:
                part = data[start:end]
                del data[start:end]
                data += part
        yield bytes(data)


@pytest.mark.parametrize("name", TARGETS)
def test_target_holds_for_its_seeds_and_for_changes_of_them(name: str) -> None:
    target = TARGETS[name]
    for seed in target.seeds:
        target.check(seed)
        for data in _changes(seed, CHANGES // len(target.seeds)):
            target.check(data)


def test_target_for_archives_notices_a_member_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    def unpack_blindly(archive: tarfile.TarFile, members: list[tarfile.TarInfo], target: Path) -> None:
        target.mkdir()
        (target / members[0].name).write_bytes(b"x")

    monkeypatch.setattr(archive_targets, "unpack", unpack_blindly)
    with pytest.raises(AssertionError):
        archive_targets.check_archive(archive_targets.make_tar(("../x", tarfile.REGTYPE, "x")))
