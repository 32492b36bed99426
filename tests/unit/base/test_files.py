"""Atomic writes of files and directories."""

import os
from pathlib import Path

import pytest

from precast.base.files import make_private_directory, write_private


def test_private_file_is_replaced_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"old")
    path.chmod(0o644)
    before = os.umask(0)
    try:
        write_private(path, b"new")
    finally:
        os.umask(before)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_private_file_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_private(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_private_directory_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_private_directory(tmp_path / "lib/ours/state")
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("lib", "lib/ours", "lib/ours/state")]
    assert modes == [0o755, 0o755, 0o700]


def test_private_directory_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.mkdir()
    path.chmod(0o2775)
    make_private_directory(path)
    assert path.stat().st_mode & 0o7777 == 0o2700
