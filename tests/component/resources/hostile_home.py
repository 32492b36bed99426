"""A machine below a directory with a user who attacks: she puts links, pipes and renamed files where root reads and writes.

Everything is real: files of two owners below a directory of its own. It needs root.
"""

import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from precast.agent.applying.machine import Machine
from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.resources.contract import DesiredResource, Handler

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of several owners")
EVE = 1234
SECRET = "TOP-SECRET-4711"
# Lines that each of the editors takes for one of its own entries.
SECRET_TEXT = f"""[section]
setting = {SECRET}
10.0.0.1 secrethost {SECRET}
/dev/{SECRET} /mnt/secret ext4 {SECRET} 0 0
secret ssh-rsa {SECRET}
ssh-rsa {SECRET} kim
# Puppet Name: job
1 2 * * * {SECRET}
secretalias: {SECRET}
"""
NAME = "authorized_keys"  # the attacked file; she also has a login of this name, for the row of crontabs
_PASSWD = f"""root:x:0:0:root:/root:/bin/sh
eve:x:{EVE}:{EVE}::/home/eve:/bin/sh
{NAME}:x:{EVE}:{EVE}::/home/eve:/bin/sh
"""
_GROUP = f"root:x:0:\neve:x:{EVE}:\n"
HANG_S = 20

Act = Callable[["HostileHome", str], list[str]]


class HostileHome:
    """The directory: `etc/private` holds the secret, `home/eve` is hers."""

    def __init__(self, base: Path, owner: int) -> None:
        self.base = base
        self.owner = owner
        self.home = base / "home/eve"
        self.target = self.home / ".ssh" / NAME
        self.private = base / "etc/private"
        self.state = base / "var/lib/precast/agent"
        for directory in (self.home / ".ssh", self.private, self.state):
            directory.mkdir(parents=True)
        self.private.chmod(0o700)
        for name, text in (("passwd", _PASSWD), ("group", _GROUP), ("shadow", "root:*:1::::::\neve:*:1::::::\n")):
            (base / "etc" / name).write_text(text)
        for path in (self.home, self.home / ".ssh"):
            os.chown(path, owner, owner)

    def machine(self, *resources: DesiredResource) -> Machine:
        made = Machine(str(self.base), str(self.state), ManualClock())
        made.declare(resources, {})
        return made

    def inside(self, path: Path) -> str:
        """The path below the root."""
        return f"/{path.relative_to(self.base)}"

    def make_secret(self, path: Path) -> None:
        path.write_text(SECRET_TEXT)
        path.chmod(0o600)

    def readable_by_eve(self) -> Iterator[str]:
        """What Eve can read now, of all files that a run could have written."""
        for place in (self.home, self.base / "srv", self.base / "tmp"):
            for path in (each for each in place.rglob("*") if place.is_dir()):
                status = path.lstat()
                if not stat.S_ISREG(status.st_mode):
                    continue
                is_hers = status.st_uid == self.owner or (status.st_gid == self.owner and status.st_mode & 0o040)
                if is_hers or status.st_mode & 0o004:
                    yield path.read_text(errors="replace")

    def backed_up(self) -> Iterator[str]:
        for path in self.state.rglob("contents"):
            yield path.read_text(errors="replace")


@contextmanager
def hostile_home(owner: int = EVE) -> Iterator[HostileHome]:
    base = Path(tempfile.mkdtemp(prefix="precast-test-"))
    base.chmod(0o755)
    try:
        yield HostileHome(base, owner)
    finally:
        shutil.rmtree(base)


@contextmanager
def no_hang() -> Iterator[None]:
    """Fail if the block waits for a pipe."""

    def ring(*_: Any) -> None:
        raise AssertionError(f"it hung for {HANG_S} s")

    former = signal.signal(signal.SIGALRM, ring)
    signal.alarm(HANG_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)


def apply_all(machine: Machine, resource: DesiredResource) -> list[str]:
    """Apply a resource and what it generates; returns everything that a report would have."""
    handler_class = machine.find_handler(resource.type)
    assert handler_class is not None
    said: list[str] = []
    try:
        _apply(machine, handler_class(resource, machine), said)
        machine.finish()
    except (PrecastError, OSError) as error:
        said.append(str(error))
    return said


def _apply(machine: Machine, handler: Handler, said: list[str]) -> None:
    try:
        state = handler.read()
        said += [str(value) for value in state.values()]
        changes = handler.compare(state)
        for change in changes:
            said += [str(change.previous), str(change.desired), change.message, change.diff or ""]
            said.append(handler.apply(change) or "")
            machine.snapshots.forget(handler.invalidates)
        children = handler.expand(state)
        if changes:
            handler.flush()
            said.append(str(handler.state_after()))
        said += [text for _, text in handler.take_logs()]
    except (PrecastError, OSError) as error:
        said.append(str(error))
        return
    for child in children:
        _apply(machine, child, said)
