"""Config modules with real effects: on a copy of this machine, with a repository of its own and disks that are files."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.overlay import OverlayRoot, why_not
from lab.strace_log import read_calls
from tests.differential.apply.local_packages import make_repository
from tests.e2e.agent.test_noop_calls import CHANGING, is_change

REASON = why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")

PRECAST = f"{sys.executable} -m precast"
# Nothing of the real machine: its name and its network are namespaces of the command too.
ALONE = "exec unshare -u -n sh -c"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMS4oVJ0Kn1sjtMDQUvoRzIYlEnTZdpOPDhZ8VtQ6dYx"
USER_DATA = f"""#cloud-config
hostname: copied
bootcmd:
  - rm -rf /etc/apt/sources.list.d /etc/apt/sources.list
  - echo boot >> /root/order
apt:
  sources:
    local.list: {{source: "deb [trusted=yes] file:/root/repo ./"}}
  conf: 'APT::Install-Recommends "false";'
  proxy: http://me:hidden-word@127.0.0.1:1/
packages: [pc-two, [pc-range, "1.5"], pc-three=3:1.0~rc1, pc-missing]
package_update: true
write_files:
  - {{path: /root/from-user, content: "theirs\\n", owner: "fresh:fresh", permissions: "0600"}}
  - {{path: /etc/pc-two.conf, content: "mine\\n", defer: true}}
users:
  - {{name: fresh, sudo: "ALL=(ALL) NOPASSWD:ALL", ssh_authorized_keys: ["{KEY} fresh"], shell: /bin/sh}}
chpasswd: {{expire: false, list: ["fresh:open-sesame-7"]}}
timezone: Europe/Berlin
runcmd:
  - cat /etc/pc-two.conf >> /root/order
  - [sh, -c, "id -un fresh >> /root/order; hostname >> /root/order"]
  - echo told-by-runcmd
output: {{all: "| tee -a /root/told"}}
final_message: "up with $DATASOURCE"
ssh_genkeytypes: [ed25519]
"""


def boot(
    root: OverlayRoot, user_data: str, options: str = "", before: str = "", after: str = ""
) -> list[dict[str, Any]]:
    """Run a boot in the copy, and return its modules."""
    root.write("/root/user-data", user_data)
    command = f"{PRECAST} boot run --source nocloud --user-data /root/user-data --json {options} > /root/report.json"
    done = root.run(
        ["sh", "-c", f"{before}\n{ALONE} '{command}; true'" + (f"\n{after}" if after else "")], timeout_s=200
    )
    text = root.read("/root/report.json")
    assert text, done.stdout
    modules: list[dict[str, Any]] = json.loads(text)["modules"]
    return modules


def by_name(modules: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {module["name"]: module for module in modules}


@pytest.mark.timeout(240)
def test_machine_is_configured_with_packages_keys_and_commands(tmp_path: Path) -> None:
    root = OverlayRoot(tmp_path)
    make_repository(root.written("/root/repo"))
    ended = by_name(boot(root, USER_DATA))
    wrong = {name: each for name, each in ended.items() if each["result"] == "failed"}
    assert set(wrong) == {"packages"}, wrong
    assert "pc-missing" in wrong["packages"]["reason"]
    installed = [change for change in wrong["packages"]["changes"] if change.startswith("Package[")]
    assert installed == [
        "Package[pc-two]: installed", "Package[pc-range]: installed 1.5", "Package[pc-three]: installed 3:1.0~rc1",
    ]  # fmt: skip
    # A missing package did not prevent the others, and versions are the requested ones.
    status = root.read("/var/lib/dpkg/status")
    for name, version in (("pc-two", "2.0-1"), ("pc-range", "1.5"), ("pc-three", "3:1.0~rc1"), ("pc-one", "1.1")):
        assert re.search(
            rf"Package: {name}\nStatus: install ok installed\n(?:\S.*\n)*Version: {re.escape(version)}\n", status
        ), name
    assert root.read("/root/order").split() == ["boot", "mine", "fresh", "copied"]
    assert root.read("/etc/hostname") == "copied\n"
    assert "told-by-runcmd" in root.read("/root/told")
    assert (
        root.written("/root/from-user").stat().st_mode & 0o777,
        root.written("/etc/ssh/ssh_host_ed25519_key").stat().st_mode & 0o777,
    ) == (0o600, 0o600)
    shadow = dict(line.split(":")[:2] for line in root.read("/etc/shadow").splitlines())
    assert shadow["fresh"].startswith("$6$")
    assert KEY in root.read("/home/fresh/.ssh/authorized_keys")
    # No secret in a file that others read, and none in the log.
    for path in (tmp_path / "upper").rglob("*"):
        if path.is_file() and not path.is_symlink() and path.name != "user-data" and path.stat().st_mode & 0o044:
            data = path.read_bytes()
            assert b"open-sesame-7" not in data, path
            assert b"hidden-word" not in data, path
    assert "open-sesame-7" not in root.read("/var/lib/precast/boot/log")


@pytest.mark.timeout(240)
def test_dry_run_changes_nothing_as_strace_sees_it(tmp_path: Path) -> None:
    root = OverlayRoot(tmp_path)
    make_repository(root.written("/root/repo"))
    root.write("/root/user-data", USER_DATA)
    trace = f"strace -f -qq -y -s 300 --seccomp-bpf -o /root/trace -e trace=open,openat,creat,{CHANGING}"
    command = f"{trace} {PRECAST} boot run --dry-run --source nocloud --user-data /root/user-data > /root/told"
    root.run(["sh", "-c", f"export PYTHONDONTWRITEBYTECODE=1; {ALONE} '{command}'"], timeout_s=200)
    told = root.read("/root/told")
    assert "User[fresh]: created" in told
    assert "run runcmd (3 commands)" in told
    calls = [call for call in read_calls(root.written("/root/trace")) if call.result >= 0]
    assert len(calls) > 100
    assert [f"{call.name}({call.args})" for call in calls if is_change(call)] == []


DISKS = """#cloud-config
device_aliases: {ephemeral0: LOOP}
disk_setup:
  ephemeral0: {table_type: gpt, layout: [30, [30, 82], 40], overwrite: false}
fs_setup:
  - {label: first, filesystem: ext4, device: ephemeral0.1}
  - {label: third, filesystem: ext4, device: ephemeral0, partition: 3}
mounts:
  - [ephemeral0.1, /data, ext4, "defaults,nofail"]
  - [LABEL=third, /more, auto, "defaults,noauto"]
  - [nonexistent9, /nowhere]
"""


@pytest.mark.timeout(240)
def test_disk_is_partitioned_formatted_and_mounted_once(tmp_path: Path) -> None:
    root = OverlayRoot(tmp_path)
    root.write("/root/user-data", DISKS)
    command = f"{PRECAST} boot run --source nocloud --user-data /root/user-data --json"
    script = f"""
    truncate -s 200M /root/disk; disk=$(losetup -fP --show /root/disk) || exit 77
    trap 'umount /data 2>/dev/null; losetup -d $disk' EXIT
    sed -i "s|LOOP|$disk|" /root/user-data
    {command} > /root/report.json
    sfdisk -d $disk > /root/table; blkid -p -o export ${{disk}}p1 > /root/first; blkid -p -o export ${{disk}}p3 > /root/third
    grep ' /data ' /proc/mounts > /root/mounted
    echo kept > /data/file; rm -rf /var/lib/precast/boot
    {command} > /root/again.json
    cat /data/file > /root/still
    """
    done = root.run(["unshare", "-u", "-n", "sh", "-c", script], timeout_s=200)
    if done.returncode == 77:
        pytest.skip(f"needs loop devices: {done.stdout}")
    assert root.read("/root/report.json"), done.stdout
    ended = by_name(json.loads(root.read("/root/report.json"))["modules"])
    assert {each["result"] for name, each in ended.items() if name in ("disk_setup", "fs_setup", "mounts")} == {
        "done"
    }, ended
    assert root.read("/root/table").count("start=") == 3
    assert "LABEL=first" in root.read("/root/first")
    assert "TYPE=ext4" in root.read("/root/third")
    assert " /data ext4 " in root.read("/root/mounted")
    assert "/more" in root.read("/etc/fstab")
    # A device that does not exist may come later: the line is written as it is, and the report says that it is not mounted.
    assert "\nnonexistent9\t/nowhere\tauto\tdefaults,nofail,x-precast-boot\t0\t2\n" in root.read("/etc/fstab")
    assert ended["mounts"]["warnings"] == ["mounts: /nowhere is not mounted: the device nonexistent9 does not exist"]
    # Another boot, as after a new image, finds its own work and destroys nothing.
    assert root.read("/root/still") == "kept\n"
    again = by_name(json.loads(root.read("/root/again.json"))["modules"])
    assert again["disk_setup"]["changes"] == again["fs_setup"]["changes"] == []


RULES = """#cloud-config
users:
  - {name: good, sudo: ["this is no rule", "ALL=(ALL) NOPASSWD:ALL"]}
  - {name: wrong, sudo: "this is no rule"}
"""


def test_wrong_rule_for_sudo_is_not_written(tmp_path: Path) -> None:
    root = OverlayRoot(tmp_path)
    if shutil.which("visudo") is None:  # a machine without sudo: something that says the same of these two rules
        root.write("/usr/sbin/visudo", """#!/bin/sh\n! grep -q 'no rule' "$2"\n""", 0o755)
    ended = by_name(boot(root, RULES))
    assert root.read("/etc/sudoers.d/90-cloud-init-users") == "# User rules for good\ngood ALL=(ALL) NOPASSWD:ALL\n"
    for name in ("good", "wrong"):
        assert any(f"'{name} this is no rule' is not written" in text for text in ended[f"users/{name}"]["warnings"])
