"""`processors`, `memory`, `dmi`, `disks`, `partitions`: the hardware."""

from pathlib import Path

import pytest

from precast.agent.facts.groups import disks, dmi, memory, processors
from tests.unit.agent.facts.roots import FakeKernel, machine

CPU = "processor\t: {n}\nmodel name\t: Xeon\ncpu MHz\t\t: {mhz}\nphysical id\t: {socket}\n\n"
TOPOLOGY = "/sys/devices/system/cpu/cpu{n}/topology/{name}"


def test_processors_of_two_sockets_are_counted_with_cores_and_threads(tmp_path: Path) -> None:
    files = {
        "/proc/cpuinfo": "".join(CPU.format(n=n, mhz=f"279{n}.998", socket=n // 4) for n in range(8)),
        TOPOLOGY.format(n=0, name="thread_siblings_list"): "0,2\n",
        TOPOLOGY.format(n=0, name="core_siblings_list"): "0-3\n",
    }
    assert processors.collect(machine(tmp_path, files, kernel=FakeKernel()))["processors"] == {
        "count": 8,
        "physicalcount": 2,
        "models": ["Xeon"] * 8,
        "isa": "x86_64",
        "cores": 2,
        "threads": 2,
        "speed": "2.80 GHz",
    }


def test_processors_without_physical_ids_take_sockets_from_the_topology(tmp_path: Path) -> None:
    files = {"/proc/cpuinfo": "processor\t: 0\nBogoMIPS\t: 50.00\n\nprocessor\t: 1\n"}
    files |= {TOPOLOGY.format(n=n, name="physical_package_id"): f"{n}\n" for n in range(2)}
    facts = processors.collect(machine(tmp_path, files))["processors"]
    assert facts == {"count": 2, "physicalcount": 2}


def test_processors_of_power_have_a_clock(tmp_path: Path) -> None:
    text = "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3800.000000MHz\n"
    facts = processors.collect(machine(tmp_path, {"/proc/cpuinfo": text}))["processors"]
    assert (facts["models"], facts["speed"]) == (["POWER9, altivec supported"], "3.80 GHz")


@pytest.mark.parametrize("siblings", ["", "x", "3-1", "0-", "0,,1", "1-2-3"])
def test_processors_with_a_broken_topology_have_no_cores(tmp_path: Path, siblings: str) -> None:
    files = {
        "/proc/cpuinfo": CPU.format(n=0, mhz="x", socket=0),
        TOPOLOGY.format(n=0, name="thread_siblings_list"): siblings,
        TOPOLOGY.format(n=0, name="core_siblings_list"): "0-3",
    }
    facts = processors.collect(machine(tmp_path, files))["processors"]
    assert facts.keys() == {"count", "physicalcount", "models"}


def test_processors_without_cpuinfo_are_absent(tmp_path: Path) -> None:
    assert processors.collect(machine(tmp_path)) == {}


def test_memory_is_in_bytes_and_as_text(tmp_path: Path) -> None:
    text = "MemTotal:       16384000 kB\nMemFree: 1 kB\nMemAvailable:    8192000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n"
    assert memory.collect(machine(tmp_path, {"/proc/meminfo": text}))["memory"] == {
        "system": {
            "total": "15.63 GiB",
            "total_bytes": 16777216000,
            "available": "7.81 GiB",
            "available_bytes": 8388608000,
            "used": "7.81 GiB",
            "used_bytes": 8388608000,
            "capacity": "50.00%",
        }
    }


def test_memory_of_an_old_kernel_counts_buffers_and_cache_as_available(tmp_path: Path) -> None:
    text = "MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 50 kB\nCached: 50 kB\nSwapTotal: 400 kB\nSwapFree: 300 kB\n"
    facts = memory.collect(machine(tmp_path, {"/proc/meminfo": text}))["memory"]
    assert (facts["system"]["available_bytes"], facts["swap"]["capacity"]) == (200 * 1024, "25.00%")


def test_memory_without_numbers_is_absent(tmp_path: Path) -> None:
    assert memory.collect(machine(tmp_path, {"/proc/meminfo": "MemTotal: many kB\n"})) == {}


def test_dmi_is_grouped_and_the_chassis_named(tmp_path: Path) -> None:
    place = "/sys/class/dmi/id"
    files = {
        f"{place}/sys_vendor": "Dell Inc.\n",
        f"{place}/product_name": "PowerEdge R750\n",
        f"{place}/product_uuid": "4c4c4544-0000\n",
        f"{place}/chassis_type": "23\n",
        f"{place}/bios_vendor": "Dell Inc.\n",
        f"{place}/board_serial": " \n",
    }
    assert dmi.collect(machine(tmp_path, files))["dmi"] == {
        "manufacturer": "Dell Inc.",
        "bios": {"vendor": "Dell Inc."},
        "chassis": {"type": "Rack Mount Chassis"},
        "product": {"name": "PowerEdge R750", "uuid": "4c4c4544-0000"},
    }


@pytest.mark.parametrize("number", ["0", "99", "-3", "x", ""])
def test_dmi_with_an_unknown_chassis_says_nothing_of_it(tmp_path: Path, number: str) -> None:
    assert dmi.collect(machine(tmp_path, {"/sys/class/dmi/id/chassis_type": number})) == {}


def test_disk_and_its_partitions_have_sizes_and_what_udev_knows(tmp_path: Path) -> None:
    files = {
        "/sys/block/sda/device/model": "SSD 870 \n",
        "/sys/block/sda/device/vendor": "ATA\n",
        "/sys/block/sda/size": "2048\n",
        "/sys/block/sda/dev": "8:0\n",
        "/sys/block/sda/queue/rotational": "0\n",
        "/sys/block/sda/sda1/partition": "1\n",
        "/sys/block/sda/sda1/size": "1024\n",
        "/sys/block/sda/sda1/dev": "8:1\n",
        "/run/udev/data/b8:0": "S:disk/by-id/x\nE:ID_SERIAL_SHORT=S5Y1\nE:ID_WWN=0x5002\n",
        "/run/udev/data/b8:1": "E:ID_FS_TYPE=ext4\nE:ID_FS_UUID=0815\nE:ID_PART_ENTRY_NAME=root\n",
        "/proc/self/mounts": "/dev/sda1 / ext4 rw 0 0\n",
    }
    facts = disks.collect(machine(tmp_path, files))
    assert facts["disks"]["sda"] == {
        "model": "SSD 870",
        "vendor": "ATA",
        "serial": "S5Y1",
        "wwn": "0x5002",
        "type": "ssd",
        "size": "1.00 MiB",
        "size_bytes": 1 << 20,
    }
    assert facts["partitions"] == {
        "/dev/sda1": {
            "size": "512.00 KiB",
            "size_bytes": 1 << 19,
            "mount": "/",
            "filesystem": "ext4",
            "uuid": "0815",
            "partlabel": "root",
        }
    }


def test_mapped_and_loop_devices_are_partitions(tmp_path: Path) -> None:
    files = {
        "/sys/block/dm-0/dm/name": "vg-root\n",
        "/sys/block/dm-0/size": "8\n",
        "/sys/block/loop0/loop/backing_file": "/var/lib/image\n",
        "/sys/block/loop0/size": "8\n",
        "/sys/block/loop1/size": "0\n",
    }
    facts = disks.collect(machine(tmp_path, files))
    assert facts["partitions"].keys() == {"/dev/mapper/vg-root", "/dev/loop0"}
    assert facts["partitions"]["/dev/loop0"]["backing_file"] == "/var/lib/image"
    assert "disks" not in facts


def test_disk_with_broken_files_has_only_what_is_sound(tmp_path: Path) -> None:
    files = {"/sys/block/sda/device/": "", "/sys/block/sda/size": "-1", "/sys/block/sda/dev": "../../etc"}
    assert disks.collect(machine(tmp_path, files)) == {"disks": {"sda": {}}}
