"""User data that reboots the machine, under a real systemd that really goes down: nothing that began is begun again, as with cloud-init."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from lab import overlay
from lab.overlay import OverlayRoot
from lab.unit_machine import make_unit_machine

pytestmark = [
    pytest.mark.skipif(overlay.why_not() is not None, reason=str(overlay.why_not())),
    pytest.mark.skipif(not Path("/lib/systemd/systemd").exists(), reason="needs systemd (a Debian package)"),
    pytest.mark.timeout(300),
]
ORDER = "/var/log/order"
MOST_BOOTS = 4
# The machine powers itself off at the end of the second boot. In the first it waits for the reboot that the user data asks for.
OBSERVER = f"""[Unit]
After=precast-boot-final.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'precast boot status > /said; echo $? > /code; precast boot status --json > /status; \
    [ $(grep -c booted {ORDER}) -lt 2 ] || systemctl poweroff'
"""
# The user's own line of bootcmd counts the boots.
COUNTED = f"#cloud-config\nbootcmd: [echo booted >> {ORDER}]\n"
LAST = f"runcmd: [echo ran >> {ORDER}, COMMAND]\n"
MIDDLE = f"runcmd: [echo began >> {ORDER}, reboot, sleep 300, echo never >> {ORDER}]\n"
SCRIPTS = f"""MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="X"

--X
Content-Type: text/x-shellscript

#!/bin/sh
echo script >> {ORDER}; reboot; sleep 300
--X
Content-Type: text/cloud-config

{COUNTED}runcmd: [echo never >> {ORDER}]
--X--
"""
PER_ONCE = f"""#cloud-config
bootcmd:
  - echo booted >> {ORDER}
  - [cloud-init-per, once, mark, sh, -c, "echo once >> {ORDER}; reboot; sleep 300"]
runcmd: [echo ran >> {ORDER}]
"""
POWER_STATE = f"{COUNTED}runcmd: [echo ran >> {ORDER}]\npower_state: {{mode: reboot, condition: true}}\n"


def boot_until_off(base: Path, user_data: str) -> tuple[OverlayRoot, list[str]]:
    machine = make_unit_machine(base, user_data)
    machine.write("etc/systemd/system/observer.service", OBSERVER)
    link = machine.written("etc/systemd/system/precast-boot.target.wants/observer.service")
    link.symlink_to("/etc/systemd/system/observer.service")
    ends: list[str] = []
    while (not ends or ends[-1] == "reboot") and len(ends) < MOST_BOOTS:
        ends.append(machine.power_on("precast-boot.target"))
    return machine, ends


def order(machine: OverlayRoot) -> Sequence[str]:
    return machine.read(ORDER).split()


@pytest.mark.parametrize("command", ["reboot", "shutdown -r now", "systemctl reboot"])
def test_runcmd_that_ends_with_a_reboot_runs_once(tmp_path: Path, command: str) -> None:
    machine, ends = boot_until_off(tmp_path, COUNTED + LAST.replace("COMMAND", command))
    assert ends == ["reboot", "poweroff"], order(machine)
    assert order(machine) == ["booted", "ran", "booted"]


@pytest.mark.parametrize(("user_data", "began"), [(COUNTED + MIDDLE, "began"), (SCRIPTS, "script")])
def test_commands_that_reboot_in_the_middle_count_as_run_and_are_shown_as_cut_off(
    tmp_path: Path, user_data: str, began: str
) -> None:
    machine, ends = boot_until_off(tmp_path, user_data)
    assert ends == ["reboot", "poweroff"], order(machine)
    assert order(machine) == ["booted", began, "booted"]
    name = "runcmd" if began == "began" else "scripts"
    results = {module["name"]: module["result"] for module in json.loads(machine.read("/status"))["modules"]}
    assert results[name] == "cut off"
    assert f"{name}: cut off: " in machine.read("/said")
    assert machine.read("/code") == "1\n"


def test_power_state_reboots_once(tmp_path: Path) -> None:
    machine, ends = boot_until_off(tmp_path, POWER_STATE)
    assert ends == ["reboot", "poweroff"], order(machine)
    assert order(machine) == ["booted", "ran", "booted"]
    assert machine.read("/code") == "0\n"


def test_command_of_bootcmd_that_is_to_run_once_does_so_though_it_reboots(tmp_path: Path) -> None:
    machine, ends = boot_until_off(tmp_path, PER_ONCE)
    assert ends == ["reboot", "poweroff"], order(machine)
    assert order(machine) == ["booted", "once", "booted", "ran"]


# The command waits for a file, so that this script decides when it ends: after the boot was asked to stop.
STOPPED = f"""#cloud-config
runcmd: ["echo began >> {ORDER}; until [ -e /may-end ]; do sleep 0.05; done; echo ended >> {ORDER}"]
final_message: the end
"""
STOP = f"""
boot="{sys.executable} -m precast boot run --source nocloud"
$boot > /said & pid=$!
until grep -q began {ORDER}; do sleep 0.05; done
kill -TERM $pid; touch /may-end; wait $pid; echo $? > /code
$boot > /again; echo $? >> /code
"""


def test_boot_that_is_asked_to_stop_records_what_ends_and_begins_nothing_more(tmp_path: Path) -> None:
    machine = make_unit_machine(tmp_path, STOPPED)
    done = machine.run(["unshare", "-u", "-n", "sh", "-c", STOP], timeout_s=200)
    assert order(machine) == ["began", "ended"], done.stdout
    said, again = machine.read("/said"), machine.read("/again")
    assert "runcmd: done, 1 change" in said
    assert "final_message: not run: the boot was stopped before its turn" in said
    assert "runcmd: not run: it has already run for this instance" in again
    assert "final_message: done" in again
    assert machine.read("/code") == "1\n0\n"
