"""Private disks for a test (sparse files behind loop devices), and a machine whose root is on one of them.

The machine runs this machine's programs on its own file system, in namespaces: its mounts disappear with its last process, and the
context detaches the devices at its end. Swap belongs to the kernel and not to a namespace, so a test that enables swap must disable it.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
_CAN_RESIZE = 24  # CAP_SYS_RESOURCE, which the kernel requires to grow a mounted ext4
_ENTER = """
set -e
device=$1 root=$2; shift 2
mount "$device" "$root"
mkdir -p "$root"/usr "$root"/proc "$root"/sys "$root"/dev "$root"/run "$root"/tmp "$root"/etc "$root"/root "$root"/var
for name in bin sbin lib lib64; do [ ! -L /$name ] || ln -sfn usr/$name "$root"/$name; done
for place in /usr /sys /dev "$REPOSITORY" "$PREFIX" "$BASE"; do mkdir -p "$root$place"; mount --rbind "$place" "$root$place"; done
mount -t proc proc "$root"/proc
mount -t tmpfs run "$root"/run
[ -e "$root"/etc/passwd ] || { echo root:x:0:0:root:/root:/bin/sh > "$root"/etc/passwd; echo root:x:0: > "$root"/etc/group; }
exec chroot "$root" "$@"
"""


@dataclass(frozen=True)
class LoopDisk:
    """A disk and the file behind it."""

    device: str
    file: Path

    def partition(self, number: int) -> str:
        return f"{self.device}p{number}"

    def grow(self, megabytes: int) -> None:
        """Enlarge the disk, as a cloud does between two boots."""
        os.truncate(self.file, megabytes << 20)
        run("losetup", "-c", self.device)

    def label(self, text: str) -> None:
        """Write a partition table, in the format of sfdisk."""
        subprocess.run(["sfdisk", "-q", self.device], input=text, text=True, check=True, capture_output=True)
        run("partx", "-u", self.device)


@contextlib.contextmanager
def attached(file: Path, megabytes: int) -> Iterator[LoopDisk]:
    """Attach a new empty disk until the context ends."""
    with file.open("wb") as image:
        image.truncate(megabytes << 20)
    disk = LoopDisk(run("losetup", "-f", "-P", "--show", str(file)).strip(), file)
    try:
        yield disk
    finally:
        run("losetup", "-d", disk.device)


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class DiskMachine:
    """A machine whose root is a file system on a device. It can run several commands in sequence."""

    def __init__(self, device: str, mount_point: Path) -> None:
        self._device = device
        self._mount_point = mount_point
        mount_point.mkdir()

    def run(self, script: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a shell script on the machine, without network and with its own host name."""
        enter = ["unshare", "-m", "-p", "-n", "--uts", "--fork", "sh", "-c", _ENTER, "enter", self._device]
        places = {"REPOSITORY": str(REPOSITORY), "PREFIX": sys.prefix, "BASE": sys.base_prefix}
        return subprocess.run(
            [*enter, str(self._mount_point), "sh", "-c", script, "sh", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            env={**os.environ, **places},
        )


def why_not(programs: Sequence[str] = ()) -> str | None:
    """The reason why this machine cannot attach loop disks, or None if it can."""
    if os.geteuid() != 0:
        return "needs root: loop devices"
    missing = [name for name in ("losetup", "sfdisk", "partx", "findmnt", *programs) if shutil.which(name) is None]
    if missing:
        return f"needs {', '.join(missing)}"
    done = subprocess.run(["losetup", "-f"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"needs loop devices: {done.stderr.strip()}"


def may_resize_ext4() -> bool:
    """Whether the kernel allows this process to grow a mounted ext4."""
    text = Path("/proc/self/status").read_text()
    effective = next(line.split()[1] for line in text.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> _CAN_RESIZE & 1)
