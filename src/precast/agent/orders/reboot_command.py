"""Reboots the machine: with the command of the settings, or with the one that this system has."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from precast.base import programs
from precast.base.programs import SEARCH_PATH

SYSTEMD = Path("/run/systemd/system")
RUN_S = 60.0
MAX_BYTES = 64 * 1024
NO_REBOOT = "this node does not know how to reboot: set reboot_command in its configuration"


def find_reboot_command(root: Path, configured: Sequence[str]) -> list[str] | None:
    """The command that reboots this machine; None if there is none. A root other than / is no machine of its own."""
    if configured:
        return list(configured)
    if root.resolve() != Path("/"):
        return None
    for command in (["systemctl", "reboot"] if SYSTEMD.is_dir() else [], ["shutdown", "-r", "now"], ["reboot"]):
        if command and (program := shutil.which(command[0], path=SEARCH_PATH)) is not None:
            return [program, *command[1:]]
    return None


def request_reboot(command: Sequence[str]) -> str:
    """Run the command. Returns why it has failed; empty if it has not."""
    try:
        result = programs.run(command, RUN_S, MAX_BYTES)
    except OSError as error:
        return f"{command[0]} cannot be run: {error.strerror}"
    except TimeoutError:
        return ""  # a command that waits for the end of the machine has not failed
    if result.code == 0:
        return ""
    said = result.error.decode(errors="replace").strip()
    return f"{command[0]} ended with {result.code}{f': {said}' if said else ''}"
