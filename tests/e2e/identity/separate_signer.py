"""A site whose signer and server are processes of two different users, as two units run them. Needs root."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.precast_command import DEADLINE_S, PRECAST
from tests.e2e.precast_server import Server

# Users that own nothing else on any machine.
SIGNER_UID, SERVER_UID = 61_001, 61_002
# The interpreter may be below a directory that only root may enter. In a mount namespace of its own, everyone may.
_OPEN = """
set -e
home=$1 uid=$2; shift 2
case $home in
/root/*)
    kept=$(mktemp -d); mount --bind "$home" "$kept"; mount -t tmpfs -o mode=755 none /root
    mkdir -p "$home"; mount --bind "$kept" "$home"; umount "$kept"; rmdir "$kept";;
esac
exec setpriv --reuid="$uid" --regid="$uid" --clear-groups -- "$@"
"""


def missing_tools() -> str:
    """Why two users cannot be had here; empty if they can."""
    if os.geteuid() != 0:
        return "only root can start processes of two users"
    return next((f"{tool} is not installed" for tool in ("unshare", "setpriv", "mount") if not shutil.which(tool)), "")


def as_user(uid: int, argv: Sequence[str | Path]) -> list[str]:
    """The command line that runs another one as a user."""
    home = str(Path(sys.base_prefix).resolve())
    prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _OPEN, "sh", home, str(uid)]
    return [*prefix, *map(str, argv)]


class SeparateSite:
    """The directories and processes of signer and server."""

    def __init__(self, directory: Path) -> None:
        self.signer_data, self.server_data = directory / "signer", directory / "server"
        self.socket = directory / "run" / "s"
        self.server = Server.init(self.server_data)
        self.signer_data.mkdir(mode=0o700)
        self.socket.parent.mkdir(mode=0o755)
        # People get the bundle; the rest of the directory is the signer's.
        self.server.authority = directory / "ca.pem"
        shutil.copy(self.server_data / "authority" / "certificate.pem", self.server.authority)
        for name in ("authority", "signer"):
            (self.server_data / name).rename(self.signer_data / name)
        for uid, top in (
            (SIGNER_UID, self.signer_data),
            (SIGNER_UID, self.socket.parent),
            (SERVER_UID, self.server_data),
        ):
            for path in (top, *top.rglob("*")):
                os.chown(path, uid, uid)
        self.server.prefix, self.server.more = as_user(SERVER_UID, []), ["--signer", str(self.socket)]
        self.signer: subprocess.Popen[bytes] | None = None

    def start_signer(self, *words: str) -> None:
        argv: list[str | Path] = [PRECAST, "signer", "--data", self.signer_data, "--socket", self.socket, *words]
        self.signer = subprocess.Popen(
            as_user(SIGNER_UID, [*argv, "--client", str(SERVER_UID)]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "HOME": "/"},
        )
        assert self.signer.stdout is not None
        assert self.signer.stdout.readline().startswith(b"signing on ")

    def stop_signer(self, number: int = signal.SIGTERM) -> None:
        if self.signer is not None:
            self.signer.send_signal(number)
            self.signer.wait(timeout=DEADLINE_S)
            assert self.signer.stdout is not None
            self.signer.stdout.close()
            self.signer = None

    def run_as_server(self, program: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a Python program with all rights of the server's user."""
        return subprocess.run(
            as_user(SERVER_UID, [sys.executable, "-c", program, *words]),
            capture_output=True,
            text=True,
            check=False,
            timeout=DEADLINE_S,
        )


@contextmanager
def separate_site() -> Iterator[SeparateSite]:
    """A site whose signer runs and whose server does not yet."""
    directory = Path(tempfile.mkdtemp(prefix="precast-test-", dir="/tmp"))
    directory.chmod(0o755)
    site = SeparateSite(directory)
    try:
        site.start_signer()
        yield site
    finally:
        if site.server.process is not None:
            site.server.stop(signal.SIGKILL)
        site.stop_signer(signal.SIGKILL)
        shutil.rmtree(directory)
