"""A disposable copy of this machine: an overlay over its root, entered in separate namespaces.

All writes go to a directory of the test and can be read from outside; the machine itself does not change. The mounts disappear with the
command, so that nothing is left behind whatever kills it. With `run_booted` a real systemd is the first process in the copy, and the
command runs once systemd is up. With `power_on` the copy boots a unit and runs until it reboots or powers off by itself.
"""

import os
import select
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

_ENTER = """
set -e
base=$1; shift
mount -t overlay overlay -o lowerdir=/,upperdir=$base/upper,workdir=$base/work $base/root
mount -t proc proc $base/root/proc
mount -t tmpfs run $base/root/run
mount --bind /dev $base/root/dev
mount --rbind /sys $base/root/sys
exec chroot $base/root "$@"
"""

# Like a machine, each boot has an id of its own; the kernel's would be that of the host.
_PREPARE = """
base=$1; shift
root=$base/root
mount -t overlay overlay -o lowerdir=/,upperdir=$base/upper,workdir=$base/work $root || exit 1
mount -t proc proc $root/proc; mount -t tmpfs run $root/run; mount -t tmpfs dev $root/dev
for name in null zero full random urandom tty console; do : > $root/dev/$name; mount --bind /dev/$name $root/dev/$name; done
mkdir $root/dev/shm $root/dev/pts; ln -s /proc/self/fd $root/dev/fd
mount -t sysfs sys $root/sys && mount -t cgroup2 cgroup $root/sys/fs/cgroup || exit 1
cat /proc/sys/kernel/random/uuid > $root/run/boot-id
mount --bind $root/run/boot-id $root/proc/sys/kernel/random/boot_id
export container=lxc
"""
_SYSTEMD = "/lib/systemd/systemd --log-level=err --log-target=console --show-status=false"
_POWER_ON = f"{_PREPARE}exec chroot $root {_SYSTEMD} --unit=$1 >&2"

# The first process owns the console, so the command's output goes to a file, and its exit code to standard output. Until the first process
# has changed its root, systemctl assumes a plain chroot and succeeds always: so the script waits for systemd's own socket first.
_BOOT = f"""{_PREPARE}
printf '[Unit]\\nDescription=nothing but systemd\\nDefaultDependencies=no\\n' > $root/etc/systemd/system/bare.target
(
    until [ -S $root/run/systemd/private ] && chroot $root systemctl is-active -q bare.target; do sleep 0.05; done 2>/dev/null
    chroot $root "$@" < /dev/null > $base/output 2>&1
    echo $?
) &
exec chroot $root {_SYSTEMD} --unit=bare.target >&2
"""
_NAMESPACES = ("unshare", "-m", "-p", "-u", "-i", "-n", "-C", "--fork", "--kill-child=KILL")
# How the kernel ends the first process of a namespace that asks for a reboot, or to power off.
_ENDS = {-signal.SIGHUP: "reboot", -signal.SIGINT: "poweroff"}


class OverlayRoot:
    """A copy of this machine below a directory. It can run several commands in sequence."""

    def __init__(self, base: Path) -> None:
        self.base = base
        for name in ("upper", "work", "root"):
            (base / name).mkdir(parents=True, exist_ok=True)
        base.chmod(0o755)
        (base / "upper").chmod(0o755)

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs another command inside the copy."""
        return ["unshare", "-m", "-p", "--fork", "sh", "-c", _ENTER, "overlay", str(self.base), *argv]

    def run(self, argv: Sequence[str], timeout_s: float = 100) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def run_booted(self, argv: Sequence[str], timeout_s: float = 100) -> "subprocess.CompletedProcess[str]":
        """Run a command while systemd runs in the copy. systemd and all its processes are killed when the command has ended."""
        words = [*_NAMESPACES, "sh", "-c", _BOOT, "overlay", str(self.base), *argv]
        with (self.base / "console").open("wb") as console:
            first = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=console, text=True)
            assert first.stdout is not None
            try:
                has_ended, _, _ = select.select([first.stdout], [], [], timeout_s)
                code = first.stdout.readline() if has_ended else ""
            finally:
                first.kill()
                first.wait()
                first.stdout.close()
        if not code:
            raise RuntimeError(f"systemd or the command did not end: {(self.base / 'console').read_text()[-2000:]}")
        return subprocess.CompletedProcess(words, int(code), (self.base / "output").read_text(errors="replace"))

    def power_on(self, unit: str, timeout_s: float = 100) -> str:
        """Boot the copy to a unit, and return how it went down by itself: "reboot" or "poweroff". Raises TimeoutExpired."""
        words = [*_NAMESPACES, "sh", "-c", _POWER_ON, "overlay", str(self.base), unit]
        with (self.base / "console").open("wb") as console:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, stdout=console, stderr=console, timeout=timeout_s, check=False
            )
        if done.returncode not in _ENDS:
            raise RuntimeError(f"systemd ended with {done.returncode}: {(self.base / 'console').read_text()[-2000:]}")
        return _ENDS[done.returncode]

    def written(self, path: str) -> Path:
        """The path outside the copy of a file that was written inside."""
        return self.base / "upper" / path.lstrip("/")

    def read(self, path: str) -> str:
        """The text of a file in the copy."""
        place = self.written(path)
        return (place if place.exists() else Path(path)).read_text()

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write a file into the copy, while no command runs in it."""
        place = self.written(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(mode)


def why_not() -> str | None:
    """The reason why this machine cannot mount such a copy, or None if it can."""
    if os.geteuid() != 0:
        return "needs root"
    if shutil.which("unshare") is None:
        return "needs unshare"
    probe = "d=$(mktemp -d) && mkdir $d/u $d/w $d/m && mount -t tmpfs t $d && mkdir $d/u $d/w $d/m && "
    probe += "mount -t overlay o -o lowerdir=/,upperdir=$d/u,workdir=$d/w $d/m; c=$?; umount -R $d; rm -rf $d; exit $c"
    done = subprocess.run(["unshare", "-m", "sh", "-c", probe], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"needs overlay mounts: {done.stderr.strip()}"
