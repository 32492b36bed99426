"""The lines of fstab that `mounts` leads to: ours beside those of Debian's cloud-init, on a machine whose block devices the test makes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lab import overlay
from lab.overlay import OverlayRoot

ROOT = Path(__file__).resolve().parents[3]
SYSTEM_PYTHON = "/usr/bin/python3"
# sdb is an empty disk, sdc has two partitions, nvme0n1 one, vdd is a partition table-less disk with a link by id.
DEVICES = """
set -e
mount -t tmpfs devices /dev
for node in null:1:3 zero:1:5 random:1:8 urandom:1:9; do
    IFS=: read name major minor <<< "$node"; mknod -m 666 /dev/$name c $major $minor
done
mount -t tmpfs blocks /sys/block
for name in sdb sdc/sdc1 sdc/sdc2 nvme0n1/nvme0n1p1 vdd sr0; do mkdir -p /sys/block/$name; done
for name in sdb sdc sdc1 sdc2 nvme0n1 nvme0n1p1 vdd sr0; do mknod /dev/$name b 240 $((number += 1)); done
mkdir -p /dev/disk/by-id; ln -s ../../vdd /dev/disk/by-id/virtio-data; ln -s ../../sdc /dev/disk/by-id/with-parts
ln -s ../../sdc1 /dev/disk/by-id/with-parts-part1
"""
OPTIONS = ["auto", "defaults,nofail", "0", "2"]
IMAGE = "# from the image\nUUID=1 / ext4 defaults 0 1\n"


def line(*fields: Any, fstab: str = IMAGE, **config: Any) -> dict[str, Any]:
    return {"config": {"mounts": [list(fields)], **config}, "fstab": fstab}


def lines(*entries: list[Any], fstab: str = IMAGE, **config: Any) -> dict[str, Any]:
    return {"config": {"mounts": list(entries), **config}, "fstab": fstab}


ALIASES = {"data": "/dev/sdb", "parts": "/dev/sdc", "gone": "/dev/sdz"}
EQUAL = {
    # What is not the name of a block device stays as it is: tags, labels, shares, special file systems.
    "virtiofs tag": line("shared", "/mnt/shared", "virtiofs", "defaults,nofail", "0", "0"),
    "virtiofs tag with a dash": line("host-data.v1", "/mnt/h", "virtiofs", "rw,nofail", "0", "0"),
    "9p tag": line("hostshare", "/mnt/nine", "9p", "trans=virtio,version=9p2000.L,nofail", "0", "0"),
    "nfs": line("nas:/export", "/mnt/nfs", "nfs4", "_netdev,nofail", "0", "0"),
    "nfs over ipv6": line("[fd00::1]:/export", "/mnt/nfs", "nfs", "nofail", "0", "0"),
    "cifs": line("//server/share", "/mnt/share", "cifs", "credentials=/root/secret,nofail", "0", "0"),
    "sshfs": line("ada@host:/home", "/mnt/ssh", "fuse.sshfs", "nofail", "0", "0"),
    "label": line("LABEL=data", "/data", *OPTIONS),
    "uuid": line("UUID=0b3e4d5c", "/data", *OPTIONS),
    "partlabel": line("PARTLABEL=data", "/data", *OPTIONS),
    "tmpfs": line("tmpfs", "/scratch", "tmpfs", "size=64m,nofail", "0", "0"),
    "none": line("none", "/proc2", "proc", "nofail", "0", "0"),
    "overlay": line("overlay", "/merged", "overlay", "lowerdir=/a,upperdir=/b,workdir=/c,nofail", "0", "0"),
    "bind": line("/srv/data", "/data", "none", "bind,nofail", "0", "0"),
    "mapper": line("/dev/mapper/vg-data", "/data", *OPTIONS),
    # Devices that exist, by name and by path; the first partition, if there is one.
    "bare disk": line("sdb", "/data", *OPTIONS),
    "disk by path": line("/dev/sdb", "/data", *OPTIONS),
    "bare disk with partitions": line("sdc", "/data", *OPTIONS),
    "disk by path with partitions": line("/dev/sdc", "/data", *OPTIONS),
    "nvme by path": line("/dev/nvme0n1", "/data", *OPTIONS),
    "partition by path": line("/dev/sdc2", "/data", *OPTIONS),
    "partition by dot": line("/dev/sdc.2", "/data", *OPTIONS),
    "disk by link": line("/dev/disk/by-id/virtio-data", "/data", *OPTIONS),
    "disk by link with partitions": line("/dev/disk/by-id/with-parts", "/data", *OPTIONS),
    "disk by its place": line("/dev/disk/by-path/pci-0000:00:05.0", "/data", *OPTIONS),
    "optical disk": line("sr0", "/cd", "iso9660", "ro,nofail", "0", "0"),
    "alias": line("data", "/data", *OPTIONS, device_aliases=ALIASES),
    "alias of a disk with partitions": line("parts", "/data", *OPTIONS, device_aliases=ALIASES),
    "alias with a partition": line("parts.2", "/data", *OPTIONS, device_aliases=ALIASES),
    # Devices that do not exist (yet).
    "absent bare disk": line("xvdj", "/data", *OPTIONS),
    "absent bare disk with defaults for the rest": line("sdq", "/data", "ext4", "defaults,nofail", "0", "2"),
    "absent disk by path": line("/dev/xvdj", "/data", *OPTIONS),
    "absent partition by dot": line("/dev/sdb.1", "/data", *OPTIONS),
    "absent bare partition by dot": line("sdb.1", "/data", *OPTIONS),
    "absent nvme": line("nvme1n1", "/data", *OPTIONS),
    "ephemeral without a mapping": line("ephemeral0", "/mnt", *OPTIONS),
    "swap device": line("/dev/sdb", "none", "swap", "sw,nofail", "0", "0"),
    "swap device with the mount point swap": line("LABEL=swap", "swap", "swap", "sw,nofail", "0", "0"),
    # Fields.
    "numbers": line("LABEL=data", "/data", "ext4", "noatime,nofail", "0", "0"),
    "escaped mount point": line("LABEL=data", "/mnt/my\\040disk", *OPTIONS),
    "user defaults": line("LABEL=data", "/data", mount_default_fields=[None, None, "xfs", "noatime,nofail", "1", "0"]),
    "empty field": line("LABEL=data", "/data", None, "ro,nofail", None, None),
    "only the type": line("LABEL=data", "/data", "xfs", "nofail"),
    # Order, and what fstab had before.
    "order": lines(["LABEL=b", "/b", *OPTIONS], ["nas:/a", "/a", *OPTIONS], ["tmpfs", "/c", "tmpfs", "nofail", "0", "0"]),
    "removed by a later line": lines(["LABEL=a", "/a", *OPTIONS], ["LABEL=b", "/b", *OPTIONS], ["LABEL=a", None]),
    "removed with the device alone": lines(["LABEL=a", "/a", *OPTIONS], ["LABEL=b", "/b", *OPTIONS], ["LABEL=a"]),
    "again after its removal": lines(["LABEL=a", "/a", *OPTIONS], ["LABEL=a"], ["LABEL=a", "/later", *OPTIONS]),
    "line of the image stays though its device is removed": lines(
        ["LABEL=a"], ["LABEL=b", "/b", *OPTIONS], fstab=f"{IMAGE}LABEL=a /a ext4 defaults 0 2\n"
    ),
    "lines of cloud-init are replaced": line(
        "LABEL=b", "/b", *OPTIONS, fstab=f"{IMAGE}/dev/sdb\t/old\tauto\tdefaults,nofail,comment=cloudconfig\t0\t2\n"
    ),
    "comments and blank lines stay": line("LABEL=b", "/b", *OPTIONS, fstab=f"{IMAGE}\n# LABEL=b /b\n"),
}  # fmt: skip
# Where ours differs on purpose: the case, our line, and why.
DIFFERENT = {
    "partition by its bare name": (
        line("sdc1", "/data", *OPTIONS), "/dev/sdc1", "cloud-init writes sdc1, which mount does not find",
    ),
    "alias of an absent disk": (
        line("gone", "/data", *OPTIONS, device_aliases=ALIASES), "/dev/sdz",
        "cloud-init writes the alias, which nobody else knows",
    ),
    "alias of an absent partition": (
        line("data.1", "/data", *OPTIONS, device_aliases=ALIASES), "/dev/sdb1",
        "cloud-init writes the alias, which nobody else knows",
    ),
    "mount point with a space": (
        line("LABEL=data", "/my disk", *OPTIONS), "LABEL=data", "cloud-init writes seven fields",
    ),
    "numbers without quotes and a device that does not exist": (
        line("shared", "/s", "virtiofs", "nofail", 0, 0), "shared", "cloud-init fails",
    ),
    "mount point of a line of the image": (
        line("LABEL=new", "/data", *OPTIONS, fstab=f"{IMAGE}LABEL=old /data ext4 defaults 0 2\n"), "LABEL=new",
        "cloud-init writes a second line for the same mount point",
    ),
}  # fmt: skip


def read_lines(text: str) -> list[list[str]]:
    """Return the fields of each line, without the mark of the program that wrote it."""
    marks = ("comment=cloudconfig", "x-precast-boot")
    read = [entry.split() for entry in text.splitlines() if not entry.startswith("failed: ")]
    for fields in read:
        if len(fields) > 3:
            fields[3] = ",".join(option for option in fields[3].split(",") if option not in marks)
    return read


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Return what both programs write for every case."""
    asked = subprocess.run([SYSTEM_PYTHON, "-c", "import cloudinit"], capture_output=True, check=False)
    if asked.returncode or os.geteuid() != 0 or overlay.why_not() is not None:
        pytest.skip("needs Debian's cloud-init, and root for a copy of the machine")
    root = OverlayRoot(tmp_path_factory.mktemp("mounts"))
    cases = {**EQUAL, **{name: case for name, (case, *_) in DIFFERENT.items()}}
    root.write("/root/cases.json", json.dumps(cases))
    root.write("/root/devices.sh", DEVICES)
    script = f"""
    . /root/devices.sh
    {SYSTEM_PYTHON} {ROOT}/lab/cloud_init_mounts.py < /root/cases.json > /root/theirs
    cd {ROOT} && {sys.executable} -m tests.differential.boot.our_mounts < /root/cases.json > /root/ours
    """
    done = root.run(["bash", "-c", script])
    assert root.written("/root/ours").exists(), done.stdout
    return {name: json.loads(root.read(f"/root/{name}") or "{}") for name in ("theirs", "ours")}


@pytest.mark.parametrize("name", EQUAL)
def test_lines_are_those_of_cloud_init(answers: dict[str, dict[str, str]], name: str) -> None:
    assert "failed" not in answers["theirs"][name]
    theirs = [
        [
            field.replace("defaults,nofail,x-systemd.requires=cloud-init.service,_netdev", "defaults,nofail")
            for field in row
        ]
        for row in read_lines(answers["theirs"][name])
    ]
    assert read_lines(answers["ours"][name]) == theirs
    assert "failed" not in answers["ours"][name]


@pytest.mark.parametrize("name", DIFFERENT)
def test_lines_that_differ_on_purpose_do_so(answers: dict[str, dict[str, str]], name: str) -> None:
    _, device, _ = DIFFERENT[name]
    ours, theirs = read_lines(answers["ours"][name]), read_lines(answers["theirs"][name])
    assert ours != theirs
    assert [row[0] for row in ours] == ["#", "UUID=1", device]
    assert {len(row) for row in ours[1:]} == {6}
