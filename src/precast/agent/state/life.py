"""The life of this node: the time from one enrolment of the machine to the next.

Records, orders, notes, the cached policy and the cached catalog belong to one life. A machine that is enrolled again, under the same name
or another one, begins a new life and must use nothing of the old one. Enrolment writes a new life's id to a file before the certificate;
the local store has the id of the life that its rows belong to. Whichever process opens the store next finds that the two differ, and
discards the old life before it uses anything (`store`). Processes of the old life that are still running notice at their next write.

Cached files have no life in them. They are written and deleted under a lock, and written only by a process of the current life.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from precast.agent import issues
from precast.agent.state.paths import CACHED, PLUGINS, STATE, make_state_directory

NAME = "life"
LOCK = "life.lock"


def life_path(root: Path) -> Path:
    return root / STATE / NAME


def read_life(root: Path) -> str:
    """The id of the current life; empty if this machine has never been enrolled. Raises UnavailableError AGENT-010."""
    path = life_path(root)
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise issues.NO_STORE.error(path=path, reason=getattr(error, "strerror", None) or error) from error


def has_changed(before: str, now: str) -> bool:
    """Whether another life has begun. The first enrolment of a machine ends no life, so what was stored before it stays."""
    return before not in ("", now)


@contextlib.contextmanager
def life_locked(root: Path) -> Iterator[None]:
    """Hold the lock of the cached files inside the block. Raises UnavailableError AGENT-010."""
    try:
        handle = os.open(make_state_directory(root) / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise issues.NO_STORE.error(path=root / STATE / LOCK, reason=error.strerror) from error
    try:
        # Its holders write or delete a few files, and the kernel releases the lock of a process that ends.
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def same_life(root: Path, life: str) -> Iterator[None]:
    """Write cached files inside the block: no other life can begin there. Raises ConflictError AGENT-023 if one has begun."""
    with life_locked(root):
        if has_changed(life, read_life(root)):
            raise issues.OTHER_LIFE.error()
        yield


def discard_cached_files(root: Path) -> None:
    """Delete what was fetched for the old life. The lock is held. Raises UnavailableError AGENT-010."""
    import shutil  # imports many modules, which a daemon needs once in its life

    try:
        for path in (*(root / STATE / name for name in CACHED), root / PLUGINS):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise issues.NO_STORE.error(path=error.filename or root / STATE, reason=error.strerror) from error
