"""A boot that is killed at random times, with all that it started, as by a power failure: no command runs twice, and what is declared
comes about in the end, or the status says what was cut off."""

import json
import random
from pathlib import Path

import pytest

from lab import overlay
from lab.overlay import OverlayRoot
from lab.unit_machine import make_unit_machine

pytestmark = [
    pytest.mark.skipif(overlay.why_not() is not None, reason=str(overlay.why_not())),
    pytest.mark.timeout(300),
]
ORDER = "/var/log/order"
KILLS = 6
EVENTS = range(20, 120)  # the record of a whole first boot has about a hundred
MARKS = ("script-1", "script-2", "runcmd-1", "runcmd-2", "late-1", "per-once", "per-instance")
USER_DATA = f"""MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="X"

--X
Content-Type: text/x-shellscript

#!/bin/sh
echo script-1 >> {ORDER}; sleep 0.1; echo script-2 >> {ORDER}
--X
Content-Type: text/x-shellscript
Content-Disposition: attachment; filename="z-late"

#!/bin/sh
echo late-1 >> {ORDER}
--X
Content-Type: text/cloud-config

#cloud-config
hostname: killed
bootcmd: ["cloud-init-per once mark sh -c 'echo per-once >> {ORDER}; sleep 0.1'"]
write_files:
  - {{path: /etc/first, content: "1"}}
  - {{path: /etc/second, content: "2", defer: true}}
mounts: [[shared, /mnt/shared, virtiofs, "nofail,noauto", "0", "0"]]
runcmd: ["echo runcmd-1 >> {ORDER}; sleep 0.2; echo runcmd-2 >> {ORDER}"]
--X--
"""
# A new boot: the record of another one. With the shell, the namespace ends, and with it every process that the boot started.
FORGET = "rm -f /var/lib/precast/boot/latest.jsonl /var/lib/precast/boot/record.jsonl; cd /; "
BOOT = "unshare -u -n precast boot run --source nocloud > /said 2>&1"
COMMANDS = ("scripts", "runcmd", "scripts_after_runcmd", "scripts_instance", "bootcmd")


KILL = """& boot=$!
until [ "$(cat /var/lib/precast/boot/record.jsonl 2> /dev/null | wc -l)" -ge EVENTS ] || ! kill -0 $boot; do sleep 0.01; done
kill -9 $boot
"""


def boot(machine: OverlayRoot, kill_at_event: int | None = None) -> None:
    """Boot, and kill the boot once its record has that many events, wherever it is by then."""
    end = (
        "; precast boot status --json > /status"
        if kill_at_event is None
        else KILL.replace("EVENTS", str(kill_at_event))
    )
    machine.run(["sh", "-c", f"{FORGET}{BOOT} {end}"])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_boot_that_is_killed_at_random_times_runs_nothing_twice_and_completes(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    machine = make_unit_machine(tmp_path, USER_DATA)
    script = f"#!/bin/sh\necho per-instance >> {ORDER}; sleep 0.1\n"
    machine.write("var/lib/cloud/scripts/per-instance/one", script, 0o755)
    for _ in range(KILLS):
        boot(machine, chance.choice(EVENTS))
    boot(machine)
    boot(machine)
    order = machine.read(ORDER).split() if machine.written(ORDER).exists() else []
    assert {mark: order.count(mark) for mark in MARKS if order.count(mark) > 1} == {}
    # What is declared has come about.
    assert (machine.read("/etc/first"), machine.read("/etc/second")) == ("1", "2")
    assert machine.read("/etc/hostname") == "killed\n"
    assert machine.read("/etc/fstab").count("shared\t/mnt/shared\tvirtiofs\t") == 1
    # Commands of which not everything ran are shown, also by a later boot.
    modules = {module["name"]: module for module in json.loads(machine.read("/status"))["modules"]}
    shown = {name for name in COMMANDS if modules[name]["earlier_result"] in ("cut off", "failed")}
    if not {"script-1", "script-2"} <= set(order):
        assert "scripts" in shown, modules["scripts"]
    if not {"runcmd-1", "runcmd-2"} <= set(order):
        assert "runcmd" in shown, modules["runcmd"]
    if "late-1" not in order:
        assert "scripts_after_runcmd" in shown, modules["scripts_after_runcmd"]
