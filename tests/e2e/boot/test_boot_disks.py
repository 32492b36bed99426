"""Disks at boot, with real ones: partitions and file systems that grow, are created, mounted and used as swap. No existing data is lost."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import loop_disk
from lab.loop_disk import DiskMachine, LoopDisk
from lab.server_process import PRECAST

PROGRAMS = ("mkfs.ext4", "mkfs.xfs", "xfs_growfs", "mkswap", "swapon")
pytestmark = pytest.mark.skipif(loop_disk.why_not(PROGRAMS) is not None, reason=str(loop_disk.why_not(PROGRAMS)))

BOOT = f"{PRECAST} boot run --source nocloud"
SEED = "/var/lib/cloud/seed/nocloud"
SEEDED = f'mkdir -p {SEED}; echo "instance-id: $2" > {SEED}/meta-data; printf %s "$1" > {SEED}/user-data; '
Done = subprocess.CompletedProcess[str]


def seeded(machine: DiskMachine, config: dict[str, Any], script: str, instance: str = "i-1") -> Done:
    """Run a script on a machine that has this configuration as its seed."""
    return machine.run(f"{SEEDED}{script}", f"#cloud-config\n{json.dumps(config)}\n", instance)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[LoopDisk]:
    with loop_disk.attached(tmp_path / "disk.img", 512) as attached:
        yield attached


def sizes(done: Done) -> tuple[int, int]:
    """In MiB, of the partition and of its file system, as the script's last line has them."""
    device, system = done.stdout.splitlines()[-1].split()
    return int(device) >> 20, int(system) >> 20


def with_root(tmp_path: Path, disk: LoopDisk, kind: str, table: str) -> DiskMachine:
    disk.label(table)
    loop_disk.run(f"mkfs.{kind}", "-q", disk.partition(1))
    return DiskMachine(disk.partition(1), tmp_path / "root")


def grow(machine: DiskMachine, device: str, *words: str, before: str = "true") -> Done:
    """Boot up to the second stage, as if for the first time, and return the sizes."""
    prepare = f"{before}; rm -rf /var/lib/precast/boot; mkdir -p {SEED}; echo 'instance-id: i' > {SEED}/meta-data"
    sizes = f"$(blockdev --getsize64 {device}) $(findmnt -bno SIZE /)"
    return machine.run(f"{prepare}; {BOOT} --stage network {' '.join(words)}; echo {sizes}")


@pytest.mark.parametrize("label", ["gpt", "dos"])
def test_root_takes_all_of_a_disk_that_has_grown(tmp_path: Path, disk: LoopDisk, label: str) -> None:
    machine = with_root(tmp_path, disk, "xfs", f"label: {label}\nsize=320MiB\n")
    disk.grow(800)
    done = grow(machine, disk.partition(1))
    assert "root_growth: done, 2 changes" in done.stdout, done.stdout + done.stderr
    device, system = sizes(done)
    assert f"  partition 1 of {disk.device} grew from 320 MiB to {device} MiB" in done.stdout
    assert device >= 798
    assert system > 700
    assert "No errors detected" in loop_disk.run("sfdisk", "-V", disk.device)
    again = grow(machine, disk.partition(1))
    assert "root_growth: done" not in again.stdout
    assert sizes(again) == (device, system)


def test_dry_run_says_what_would_grow_and_leaves_it(tmp_path: Path, disk: LoopDisk) -> None:
    machine = with_root(tmp_path, disk, "xfs", "label: gpt\nsize=320MiB\n")
    before = loop_disk.run("sfdisk", "-d", disk.device)
    done = grow(machine, disk.partition(1), "--dry-run")
    assert (
        f"root_growth: done, 2 changes\n  grow partition 1 of {disk.device}\n  grow the file system of /\n"
        in done.stdout
    )
    assert loop_disk.run("sfdisk", "-d", disk.device) == before
    assert sizes(done)[0] == 320


@pytest.mark.skipif(not loop_disk.may_resize_ext4(), reason="needs CAP_SYS_RESOURCE, to grow an ext4 that is mounted")
def test_root_of_ext4_takes_all_of_its_disk(tmp_path: Path, disk: LoopDisk) -> None:
    machine = with_root(tmp_path, disk, "ext4", "label: gpt\nsize=100MiB\n")
    done = grow(machine, disk.partition(1))
    assert sizes(done)[1] > 400, done.stdout + done.stderr


def test_partition_that_does_not_get_larger_is_told(tmp_path: Path, disk: LoopDisk) -> None:
    machine = with_root(tmp_path, disk, "xfs", "label: gpt\nsize=320MiB\n")
    # A program that is content with what is there, as one is at the limits of a table.
    done = grow(machine, disk.partition(1), before="mount --bind /usr/bin/true $(command -v sfdisk)")
    told = f"warning: growpart: partition 1 of {disk.device} did not grow, although 191 MiB after it are free"
    assert told in done.stdout, done.stdout + done.stderr
    assert sizes(done)[0] == 320


def test_partition_with_another_behind_it_stays(tmp_path: Path, disk: LoopDisk) -> None:
    machine = with_root(tmp_path, disk, "ext4", "label: gpt\nsize=100MiB\nsize=100MiB\n")
    before = loop_disk.run("sfdisk", "-d", disk.device)
    done = grow(machine, disk.partition(1))
    assert "root_growth: done" not in done.stdout, done.stdout
    assert loop_disk.run("sfdisk", "-d", disk.device) == before


def test_device_to_grow_that_is_missing_is_named(machine: DiskMachine) -> None:
    config = {"growpart": {"devices": ["/", "/dev/none1", "/no/such/place"]}}
    done = seeded(machine, config, f"{BOOT}; {BOOT.replace('boot run', 'boot status').partition(' --')[0]}")
    for path in ("/dev/none1", "/no/such/place"):
        told = f"  warning: growpart: {path} is neither a device nor a directory where one is mounted, so it is not grown\n"
        assert done.stdout.count(told) == 2, done.stdout + done.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[DiskMachine]:
    """A machine with a whole disk as its root, so that there is nothing to grow."""
    with loop_disk.attached(tmp_path / "root.img", 300) as attached:
        loop_disk.run("mkfs.ext4", "-q", attached.device)
        yield DiskMachine(attached.device, tmp_path / "root")


@pytest.fixture
def swap(tmp_path: Path) -> Iterator[None]:
    """Skips where the kernel lets nobody swap, which is tried without Precast; and ends what a test began."""
    before = swapping()
    with loop_disk.attached(tmp_path / "swap.img", 16) as tried:
        loop_disk.run("mkswap", tried.device)
        try:
            loop_disk.run("swapon", tried.device)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"the kernel lets nobody swap here: {error.stderr.strip()}")
        loop_disk.run("swapoff", tried.device)
    yield
    for name in swapping() - before:
        with contextlib.suppress(subprocess.CalledProcessError):
            loop_disk.run("swapoff", name)


def swapping() -> set[str]:
    return {line.split()[0] for line in Path("/proc/swaps").read_text().splitlines()[1:]}


def layout(disk: LoopDisk, **more: Any) -> dict[str, Any]:
    """A typical configuration of a second disk: one half for data, a part for swap."""
    return {
        "device_aliases": {"data": disk.device},
        "disk_setup": {"data": {"table_type": "gpt", "layout": [75, [25, 82]], **more}},
        "fs_setup": [
            {"label": "stuff", "filesystem": "ext4", "device": "data.1", **more},
            {"label": "swap", "filesystem": "swap", "device": "data.2", **more},
        ],
        "mounts": [["data.1", "/srv/data"], ["data.2", "none", "swap", "sw", "0", "0"]],
        "users": [{"name": "ada", "homedir": "/srv/data/ada"}],
    }


TELL = "findmnt -no FSTYPE,SOURCE /srv/data; ls -d /srv/data/*; swapoff LABEL=swap; cat /etc/fstab"


def test_disk_is_partitioned_formatted_mounted_and_swapped_to(disk: LoopDisk, machine: DiskMachine, swap: None) -> None:
    script = f"{BOOT}; echo code $?; cat /proc/swaps; echo kept > /srv/data/file; {TELL}"
    done = seeded(machine, layout(disk), script)
    assert "code 0\n" in done.stdout, done.stdout + done.stderr
    assert "not all swap is in use" not in done.stdout
    assert f"ext4   {disk.partition(1)}\n" in done.stdout
    assert f"\n{disk.partition(2)} " in done.stdout
    # The home was made on what is mounted, not below it.
    assert "/srv/data/ada\n/srv/data/file\n" in done.stdout
    assert f"{disk.partition(1)}\t/srv/data\tauto\tdefaults,nofail,x-precast-boot\t0\t2\n" in done.stdout
    kinds = {number: loop_disk.run("blkid", "-p", "-o", "export", disk.partition(number)) for number in (1, 2)}
    assert "LABEL=stuff" in kinds[1]
    assert "TYPE=swap" in kinds[2]
    table = loop_disk.run("sfdisk", "-d", disk.device)
    assert "label: gpt" in table
    assert "type=0657FD6D-A4AB-43C4-84E5-0933C84B4F4F" in table
    # Another instance on the same disks: what is there is found, and nothing of it is lost.
    again = seeded(machine, layout(disk), f"{BOOT}; echo code $?; {TELL}", "i-2")
    assert "code 0\n" in again.stdout, again.stdout + again.stderr
    assert "fs_setup: done, nothing to change" in again.stdout
    assert "/srv/data/file\n" in again.stdout
    assert loop_disk.run("sfdisk", "-d", disk.device) == table


def test_disk_that_is_not_empty_is_left_alone_unless_it_may_be_overwritten(
    disk: LoopDisk, machine: DiskMachine, swap: None
) -> None:
    loop_disk.run("mkfs.ext4", "-q", "-L", "old", disk.device)
    config = {key: value for key, value in layout(disk).items() if key in ("device_aliases", "disk_setup")}
    done = seeded(machine, config, f"{BOOT}; echo code $?")
    assert f"warning: disk_setup: {disk.device} is not empty, so it is left unchanged" in done.stdout, done.stdout
    assert "LABEL=old" in loop_disk.run("blkid", "-p", "-o", "export", disk.device)
    may = seeded(machine, layout(disk, overwrite=True), f"{BOOT}; echo code $?; {TELL}", "i-2")
    assert "code 0\n" in may.stdout, may.stdout + may.stderr
    assert "LABEL=stuff" in loop_disk.run("blkid", "-p", "-o", "export", disk.partition(1))


@pytest.mark.parametrize("wanted", ["auto", "any", "none"])
def test_file_system_on_a_whole_disk_of_xfs(disk: LoopDisk, machine: DiskMachine, wanted: str) -> None:
    config = {
        "fs_setup": [{"label": "w", "filesystem": "xfs", "device": disk.device, "partition": wanted}],
        "mounts": [["LABEL=w", "/w x", "xfs", "noatime", "0", "2"]],
    }
    script = f"{BOOT}; echo code $?; findmnt -rno FSTYPE,OPTIONS '/w x'"
    done = seeded(machine, config, script)
    assert "code 0\n" in done.stdout, done.stdout + done.stderr
    assert "\nxfs rw,noatime" in done.stdout
    again = seeded(machine, config, script, "i-2")
    assert "fs_setup: done, nothing to change" in again.stdout, again.stdout


def test_device_that_is_missing_is_named_and_the_rest_goes_on(disk: LoopDisk, machine: DiskMachine) -> None:
    config = layout(disk)
    config["disk_setup"]["/dev/none"] = {"table_type": "mbr", "layout": True}
    config["mounts"] = [["/dev/none1", "/never"], ["data.1", "/srv/data"]]
    done = seeded(machine, config, f"{BOOT}; echo code $?; {TELL}")
    assert "code 1\n" in done.stdout
    assert (
        "disk_setup: failed: some entries of disk_setup failed, the others were applied: /dev/none: the device"
        in done.stdout
    )
    assert "warning: mounts: /never is not mounted: " in done.stdout
    assert f"ext4   {disk.partition(1)}\n" in done.stdout


def test_swap_file_of_a_size_is_made_once_and_used(machine: DiskMachine, swap: None) -> None:
    config = {"swap": {"filename": "/var/swap.img", "size": "32M"}}
    script = (
        f"{BOOT}; echo code $?; cat /proc/swaps; stat -c '%a %s' /var/swap.img; swapoff /var/swap.img; cat /etc/fstab"
    )
    done = seeded(machine, config, script)
    assert "code 0\n" in done.stdout, done.stdout + done.stderr
    assert "not all swap is in use" not in done.stdout
    assert "\n/var/swap.img " in done.stdout
    assert f"\n600 {32 << 20}\n" in done.stdout
    assert "/var/swap.img\tnone\tswap\tsw,x-precast-boot\t0\t0\n" in done.stdout
    again = seeded(machine, config, script, "i-2")
    assert "make the swap file /var/swap.img" not in again.stdout
    assert again.stdout.count("x-precast-boot") == 1
