"""What counts as run after the machine went down in the middle of it: ours beside cloud-init's own program and classes."""

import subprocess
from pathlib import Path

import pytest

from precast.boot.modules import user_commands

SYSTEM_PYTHON = "/usr/bin/python3"
# A module of a frequency that takes the process down in its middle, as a reboot does, and then the same module again.
THEIRS = """
import os, signal, sys
from cloudinit import helpers

place, frequency, is_deadly = sys.argv[1], sys.argv[2], sys.argv[3] == "die"
paths = helpers.Paths({"cloud_dir": place, "run_dir": place + "/run"}, type("Source", (), {"get_instance_id": lambda _: "i-1"})())
os.makedirs(place + "/instance/sem", exist_ok=True)

def handle():
    with open(place + "/log", "a") as log:
        log.write("ran ")
    if is_deadly:
        os.kill(os.getpid(), signal.SIGKILL)

helpers.Runners(paths).run("config-scripts-user", handle, [], freq=frequency)
"""


@pytest.mark.parametrize(("frequency", "count"), [("once-per-instance", 1), ("once", 1), ("always", 2)])
def test_module_of_cloud_init_that_has_begun_counts_as_run(tmp_path: Path, frequency: str, count: int) -> None:
    """This is the rule that ours follows for commands (tests/fault/boot/test_boot_crash.py): the test notices if cloud-init changes it."""
    if subprocess.run([SYSTEM_PYTHON, "-c", "import cloudinit"], capture_output=True, check=False).returncode:
        pytest.skip("needs Debian's cloud-init")
    for how in ("die", "live"):
        words = [SYSTEM_PYTHON, "-c", THEIRS, str(tmp_path), frequency, how]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == (-9 if how == "die" else 0), done.stderr
    assert (tmp_path / "log").read_text().split() == ["ran"] * count


@pytest.mark.parametrize(("frequency", "count"), [("once", 1), ("instance", 1), ("always", 2)])
def test_command_that_never_ends_counts_as_run_for_our_cloud_init_per(
    tmp_path: Path, frequency: str, count: int
) -> None:
    program = tmp_path / "cloud-init-per"
    marks = {"once": str(tmp_path / "per-once"), "instance": str(tmp_path / "per-instance")}
    program.write_text(user_commands.render_per_program(**marks))
    command = f"echo ran >> {tmp_path}/log; kill -9 0"
    for _ in range(2):
        words = ["/bin/sh", str(program), frequency, "some/name", "sh", "-c", command]
        subprocess.run(words, check=False, timeout=60, start_new_session=True)
    assert (tmp_path / "log").read_text().split() == ["ran"] * count
