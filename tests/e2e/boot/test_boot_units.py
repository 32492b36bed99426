"""The units of a boot under a real systemd, in a copy of this machine: the stages run in order, and can be disabled."""

import json
from pathlib import Path

import pytest

from lab import overlay
from lab.overlay import OverlayRoot
from lab.unit_machine import STAGES, make_unit_machine

USER_DATA = """#cloud-config
hostname: booted
bootcmd: [echo bootcmd >> /var/log/order]
runcmd: [echo runcmd >> /var/log/order]
write_files: [{path: /etc/written, content: "yes"}]
"""

pytestmark = [
    pytest.mark.skipif(overlay.why_not() is not None, reason=str(overlay.why_not())),
    pytest.mark.skipif(not Path("/lib/systemd/systemd").exists(), reason="needs systemd (a Debian package)"),
    pytest.mark.timeout(240),
]


@pytest.fixture
def machine(tmp_path: Path) -> OverlayRoot:
    return make_unit_machine(tmp_path / "machine", USER_DATA)


def test_stages_run_in_their_order_and_the_machine_is_configured(machine: OverlayRoot) -> None:
    script = "set -e; systemctl start precast-boot.target\n"
    for stage in STAGES:
        for what in ("ActiveState", "Result", "ExecMainStartTimestampMonotonic"):
            script += f"systemctl show -P {what} precast-boot-{stage}.service\n"
    script += "hostname; cat /var/log/order /etc/written; echo; precast boot status --json > /status\n"
    done = machine.run_booted(["sh", "-c", script], timeout_s=200)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    units = [lines[at : at + 3] for at in range(0, 12, 3)]
    assert [unit[:2] for unit in units] == [["active", "success"]] * 4, done.stdout
    began = [int(unit[2]) for unit in units]
    assert began == sorted(began)
    assert lines[12:] == ["booted", "bootcmd", "runcmd", "yes"]
    status = json.loads(machine.read("/status"))
    assert "i-units" in json.dumps(status)


@pytest.mark.parametrize("reason", ["file", "nothing", "seed"])
def test_generator_decides_whether_the_machine_is_booted(machine: OverlayRoot, reason: str) -> None:
    if reason == "file":
        machine.write("etc/precast/boot.disabled", "")
    elif reason == "nothing":
        for name in ("meta-data", "user-data", "network-config"):
            machine.written(f"var/lib/cloud/seed/nocloud/{name}").unlink()
    script = (
        "systemctl show -P WantedBy precast-boot.target; systemctl start precast-boot-local.service\n"
        "systemctl show -P ConditionResult precast-boot-local.service\n"
    )
    done = machine.run_booted(["sh", "-c", script])
    assert done.returncode == 0, done.stdout
    wanted, ran = done.stdout.split("\n")[:2]
    assert ("multi-user.target" in wanted) is (reason == "seed")
    if reason == "file":  # also who asks for it by hand gets nothing
        assert ran == "no"
