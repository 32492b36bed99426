"""This machine with an agent's state of its own: commands run at the root / in a mount namespace in which /var/lib is replaced.

A machine under `--root DIR` runs neither plug-ins nor commands of a catalog, because it is not the running system. A test that proves
what they may do needs the running system.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.server_process import PRECAST

MISSING = "" if os.geteuid() == 0 and shutil.which("unshare") else "needs root and unshare"


class PrivateMachine:
    """Runs `precast …` and other commands as root of a machine whose agent state is `directory`."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self.state = directory
        self.state.mkdir(parents=True, exist_ok=True)
        self.environment = environment

    @property
    def agent_state(self) -> Path:
        return self.state / "agent"

    def precast(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return self.run(PRECAST, *words)

    def run(self, *argv: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", self._script(argv)],
            env=dict(self.environment),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def start(self, log: Path, *argv: str) -> "subprocess.Popen[bytes]":
        """Start a command there, which writes to a log; the caller ends it."""
        with log.open("ab") as output:
            return subprocess.Popen(
                ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", self._script(argv)],
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def _script(self, argv: Sequence[str]) -> str:
        # The working directories of tests are below /tmp, which stays; only the agent's state is replaced.
        return (
            "mount -t tmpfs -o mode=755 none /var/lib && mkdir /var/lib/precast"
            f" && mount --bind {shlex.quote(str(self.state))} /var/lib/precast && exec {shlex.join(argv)}"
        )
