"""Runs a program as an ordinary user: `python -m lab.ordinary_user PROGRAM…`, by root.

The interpreter or the clone may be in a directory that other users cannot enter, such as root's home. Then the program sees both through
mounts of its own; nothing changes for other processes.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from precast.base.confinement import kernel

USER = 65533
CLONE = Path(__file__).resolve().parents[1]
_CLONE_NEWNS = 0x00020000


def make_code_readable() -> None:
    """Let every user enter the directories of the interpreter and of the clone, as this process and its children see them."""
    kernel.unshare(_CLONE_NEWNS)
    _mount("--make-rprivate", "/")
    for needed in (Path(sys.base_prefix).resolve(), CLONE):
        closed = [path for path in (needed, *needed.parents) if not path.stat().st_mode & 0o001]
        if closed and closed[-1] != needed:
            _cover(closed[-1], needed)


def become_ordinary() -> None:
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)


def _cover(closed: Path, needed: Path) -> None:
    """Replace a closed directory by an open one that has nothing but the needed directory below it."""
    scratch = tempfile.mkdtemp(prefix="precast-mount-")
    _mount("--bind", str(needed), scratch)
    _mount("-t", "tmpfs", "-o", "mode=0755", "tmpfs", str(closed))
    needed.mkdir(parents=True)
    _mount("--move", scratch, str(needed))
    Path(scratch).rmdir()


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def main() -> None:
    make_code_readable()
    become_ordinary()
    os.execv(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
