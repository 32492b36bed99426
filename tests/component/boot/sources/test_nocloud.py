"""NoCloud in all of its places: seed directory, disk image, kernel command line, SMBIOS serial number, HTTP seed."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from precast.base.errors import InputError
from precast.boot.capabilities import Capability
from precast.boot.sources import evidence, labels
from precast.boot.sources.contract import Evidence, Plausibility
from precast.boot.sources.machine import Machine
from precast.boot.sources.nocloud import NoCloud, NoCloudNet
from tests.unit.boot.http_servers import Service, served

SEED = "var/lib/cloud/seed/nocloud"


def write(root: Path, **files: str) -> None:
    (root / SEED).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (root / SEED / name.replace("_", "-")).write_text(text)


async def test_seed_directory_gives_everything_in_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        meta_data="instance-id: i-1\nlocal-hostname: one\npublic-keys: [ssh-rsa A]\n",
        user_data="#!/bin/sh\n",
        vendor_data="#cloud-config\n",
        network_config="network:\n  version: 2\n  ethernets: {e: {dhcp4: true}}\n",
    )
    detected = await NoCloud().find(Machine(tmp_path, Evidence()))
    assert detected is not None
    assert detected.instance_id == "i-1"
    assert await detected.get(Capability.PUBLIC_KEYS) == ("ssh-rsa A",)
    assert await detected.get(Capability.NETWORK_CONFIG) == {"version": 2, "ethernets": {"e": {"dhcp4": True}}}
    assert await detected.get(Capability.VENDOR_DATA) == b"#cloud-config\n"


async def test_seed_with_user_data_alone_has_the_usual_instance_id(tmp_path: Path) -> None:
    write(tmp_path, user_data="#!/bin/sh\n")
    detected = await NoCloud().find(Machine(tmp_path, Evidence()))
    assert detected is not None
    assert detected.instance_id == "nocloud"


async def test_empty_directory_is_no_seed(tmp_path: Path) -> None:
    write(tmp_path)
    assert await NoCloud().find(Machine(tmp_path, Evidence())) is None


async def test_kernel_command_line_is_added_to_a_seed(tmp_path: Path) -> None:
    write(tmp_path, meta_data="instance-id: i-1\n")
    known = Evidence(command_line="ro quiet ds=nocloud;h=two;i=i-9")
    detected = await NoCloud().find(Machine(tmp_path, known))
    assert detected is not None
    assert (detected.instance_id, await detected.get(Capability.HOSTNAME)) == ("i-9", "two")
    assert NoCloud().likelihood(known).plausibility == Plausibility.CONFIRMED


INLINE = {"meta-data": {"instance-id": "i-7", "local-hostname": "inside"}, "user-data": "#cloud-config\nlocale: x\n"}


async def test_image_configuration_can_hold_the_seed_itself(tmp_path: Path) -> None:
    known = Evidence(image={"NoCloud": INLINE})
    detected = await NoCloud().find(Machine(tmp_path, known))
    assert detected is not None
    assert (detected.instance_id, detected.origin) == ("i-7", "the image's configuration")
    assert await detected.get(Capability.USER_DATA) == b"#cloud-config\nlocale: x\n"
    write(tmp_path, meta_data="instance-id: i-1\n", user_data="#!/bin/sh\n")
    detected = await NoCloud().find(Machine(tmp_path, known))
    assert detected is not None
    assert (detected.instance_id, await detected.get(Capability.USER_DATA)) == ("i-1", b"#cloud-config\nlocale: x\n")


@pytest.mark.parametrize(
    "said", [{"NoCloud": None}, {"NoCloud": {"user-data": "x"}}, {"NoCloud": {"user-data": 5, "meta-data": []}}]
)
async def test_image_configuration_without_both_is_no_seed(said: dict[str, object], tmp_path: Path) -> None:
    assert await NoCloud().find(Machine(tmp_path, Evidence(image=said))) is None


async def test_image_configuration_can_name_another_label(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "sys/class/block/vdb").mkdir(parents=True)
    start = bytearray(40_000)
    start[32769:32774], start[32808:32812] = b"CD001", b"MINE"
    (tmp_path / "dev/vdb").write_bytes(start)
    assert evidence.collect(tmp_path).labels == {}
    for label, words in (("Mine", "the label mine"), (None, "any machine may have a seed")):
        known = evidence.collect(tmp_path, {"NoCloud": {"fs_label": label}})
        assert words in NoCloud().likelihood(known).reason


async def test_serial_number_names_an_http_seed(tmp_path: Path) -> None:
    service = Service(
        {"seed/meta-data": "instance-id: i-2\n", "seed/user-data": "#!x", "seed/vendor-data": "#cloud-config"}
    )
    async with served(service) as base:
        known = Evidence(dmi={"product_serial": f"ds=nocloud;s={base}/seed/;h=three", "product_uuid": "U"})
        detected = await NoCloudNet().find(Machine(tmp_path, known))
        assert await NoCloud().find(Machine(tmp_path, known)) is None
    assert detected is not None
    assert detected.instance_id == "i-2"
    assert await detected.get(Capability.HOSTNAME) == "three"
    assert await detected.get(Capability.USER_DATA) == b"#!x"


async def test_seed_address_can_name_the_machine_by_its_firmware(tmp_path: Path) -> None:
    service = Service({"ABC/meta-data": "instance-id: i-3\n", "ABC/user-data": ""})
    async with served(service) as base:
        known = Evidence(
            dmi={"product_serial": "ABC"}, command_line=f"ds=nocloud-net;seedfrom={base}/__dmi.system-serial-number__/"
        )
        detected = await NoCloudNet().find(Machine(tmp_path, known))
    assert detected is not None
    assert detected.instance_id == "i-3"


@pytest.mark.parametrize("kind", ["ext4", "vfat 12", "vfat 16", "vfat 32", "iso9660 -rock", "iso9660 -joliet"])
async def test_labelled_image_is_read(kind: str, tmp_path: Path) -> None:
    if kind == "ext4" and os.geteuid() != 0:
        pytest.skip("only root mounts")
    files = tmp_path / "files"
    files.mkdir()
    (files / "meta-data").write_text("instance-id: on-disk\n")
    (files / "user-data").write_text("#!/bin/sh\n")
    root = tmp_path / "root"
    (root / "dev/disk/by-label").mkdir(parents=True)
    image = root / "dev/seed.img"
    make_image(kind, files, image)
    (root / "dev/disk/by-label/CIDATA").symlink_to("../../seed.img")
    detected = await NoCloud().find(Machine(root, evidence.collect(root)))
    assert detected is not None
    assert detected.instance_id == "on-disk"
    assert detected.origin == f"disk {image}"
    assert "precast-boot-" not in Path("/proc/mounts").read_text()


async def test_disk_that_udev_has_not_looked_at_is_known_by_its_label(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root mounts")
    files, root = tmp_path / "files", tmp_path / "root"
    files.mkdir()
    (files / "meta-data").write_text("instance-id: on-disk\n")
    for place in ("dev", "sys/class/block/vdb", "sys/class/block/vdc"):
        (root / place).mkdir(parents=True)
    make_image("ext4", files, root / "dev/vdb")
    detected = await NoCloud().find(Machine(root, evidence.collect(root)))
    assert detected is not None
    assert detected.instance_id == "on-disk"


@pytest.mark.parametrize(
    ("at", "sign", "label_at", "label", "expected"),
    [
        (32769, b"CD001", 32808, b"cidata".ljust(32), "cidata"),
        (1080, b"\x53\xef", 1144, b"config-2\0", "config-2"),
        (54, b"FAT16   ", 43, b"CIDATA     ", "cidata"),
        (82, b"FAT32   ", 71, b"CONFIG-2   ", "config-2"),
        (0, b"", 0, b"", ""),
    ],
)
def test_label_is_read_from_the_first_blocks(at: int, sign: bytes, label_at: int, label: bytes, expected: str) -> None:
    start = bytearray(34816)
    start[at : at + len(sign)] = sign
    start[label_at : label_at + len(label)] = label
    assert labels.parse_label(bytes(start)) == expected
    assert labels.parse_label(bytes(start[:50])) in ("", "cidata")


def make_image(kind: str, files: Path, image: Path) -> None:
    name, _, how = kind.partition(" ")
    if name == "ext4":
        words = [["mke2fs", "-q", "-t", "ext4", "-L", "cidata", "-d", str(files), str(image), "1M"]]
    elif name == "vfat":
        size_kb = {"12": "1024", "16": "16384", "32": "66000"}[how]
        copies = [["mcopy", "-soi", str(image), str(each), "::"] for each in files.iterdir()]
        words = [["mkfs.vfat", "-C", "-s", "1", "-F", how, "-n", "CIDATA", str(image), size_kb], *copies]
    else:
        words = [["genisoimage", "-quiet", "-volid", "cidata", how, "-o", str(image), str(files)]]
    for line in words:
        try:
            subprocess.run(line, check=True, capture_output=True)
        except FileNotFoundError:
            pytest.skip(f"needs {line[0]} (a Debian package)")


async def test_link_in_a_seed_cannot_lead_out_of_the_root(tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.write_text("instance-id: stolen\n")
    root = tmp_path / "root"
    (root / SEED).mkdir(parents=True)
    (root / SEED / "meta-data").symlink_to(outside)
    (root / SEED / "user-data").symlink_to("../../../../../../secret")
    assert await NoCloud().find(Machine(root, Evidence())) is None


async def test_pipe_in_a_seed_keeps_nobody_waiting(tmp_path: Path) -> None:
    write(tmp_path, user_data="#!x")
    os.mkfifo(tmp_path / SEED / "meta-data")
    async with asyncio.timeout(20):
        detected = await NoCloud().find(Machine(tmp_path, Evidence()))
    assert detected is not None


@pytest.mark.parametrize(
    ("meta_data", "said"),
    [
        ("instance-id: [1, 2]\n", "instance-id in meta-data of directory /var/lib/cloud/seed/nocloud should be a text"),
        ("- a\n- b\n", "should be a map, but is a list"),
        ("instance-id: a\nlocal-hostname: " + "x" * 300 + "\n", "should be one short line, but is 300 characters long"),
        ("instance-id: a\npublic-keys: {a: {openssh-key: 5}}\n", "should be a list, but is a number"),
        ("a: &a [x]\n" + "".join(f"b{n}: *a\n" for n in range(50)), "more than 32 aliases"),
        ("[" * 200 + "]" * 200, "nested more than 64 deep"),
        ("{" * 100_000, "cannot be read"),
        ("a: " + "x" * 300_000, "larger than 262144 bytes"),
        ("instance-id: 'a\x1b[31m'\n", "cannot be read"),
    ],
)
async def test_hostile_meta_data_is_refused_in_one_line(meta_data: str, said: str, tmp_path: Path) -> None:
    write(tmp_path, meta_data=meta_data)
    with pytest.raises(InputError) as raised:
        await NoCloud().find(Machine(tmp_path, Evidence()))
    assert said in raised.value.message
    assert "\n" not in raised.value.message


async def test_meta_data_that_is_not_text_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / SEED / "meta-data").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="it is not UTF-8"):
        await NoCloud().find(Machine(tmp_path, Evidence()))
