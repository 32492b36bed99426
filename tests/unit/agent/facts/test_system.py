"""`mountpoints`, `ssh`, `timezone`, `system_uptime`, `kernel…`, `identity`: the configuration and state of the system."""

import base64
import hashlib
from pathlib import Path

import pytest

from precast.agent.facts.groups import identity, kernel, mounts, ssh, timezone, uptime
from precast.agent.facts.groups.units import human_bytes, human_hertz
from precast.agent.facts.machine import Account, Usage
from tests.unit.agent.facts.roots import FakeKernel, machine


def test_mountpoints_have_space_and_leave_out_pseudo_file_systems(tmp_path: Path) -> None:
    files = {
        "/proc/self/mounts": (
            "proc /proc proc rw 0 0\nsysfs /sys sysfs rw 0 0\ntmpfs /sys/fs/cgroup tmpfs ro,mode=755 0 0\n"
            "systemd-1 /net autofs rw 0 0\n/dev/sda1 / ext4 rw,relatime 0 0\n"
            "nas:/x /mnt/with\\040blank nfs4 rw 0 0\nbroken\n"
        )
    }
    usages = {"/": Usage(1000 << 20, 600 << 20, 400 << 20), "/sys/fs/cgroup": Usage(0, 0, 0)}
    facts = mounts.collect(machine(tmp_path, files, kernel=FakeKernel(usages=usages)))["mountpoints"]
    assert list(facts) == ["/", "/mnt/with blank", "/sys/fs/cgroup"]
    assert facts["/"] == {
        "device": "/dev/sda1",
        "filesystem": "ext4",
        "options": ["rw", "relatime"],
        "size": "1000.00 MiB",
        "size_bytes": 1000 << 20,
        "available": "400.00 MiB",
        "available_bytes": 400 << 20,
        "used": "400.00 MiB",
        "used_bytes": 400 << 20,
        "capacity": "50.00%",
    }
    assert facts["/sys/fs/cgroup"]["capacity"] == "100%"
    assert facts["/mnt/with blank"].keys() == {"device", "filesystem", "options"}


def test_mountpoint_of_the_root_device_is_named_by_the_command_line(tmp_path: Path) -> None:
    files = {"/proc/self/mounts": "/dev/root / ext4 rw 0 0\n", "/proc/cmdline": "quiet root=/dev/mmcblk0p2 rw\n"}
    assert mounts.collect(machine(tmp_path, files))["mountpoints"]["/"]["device"] == "/dev/mmcblk0p2"


def test_filesystems_are_those_that_need_a_device(tmp_path: Path) -> None:
    text = "nodev\tsysfs\n\text4\n\tfuseblk\n\tbtrfs\n"
    assert mounts.collect(machine(tmp_path, {"/proc/filesystems": text})) == {"filesystems": "btrfs,ext4"}


def test_ssh_keys_have_fingerprints_for_dns(tmp_path: Path) -> None:
    raw = b"\0\0\0\x0bssh-ed25519 and so on"
    key = base64.b64encode(raw).decode()
    files = {
        "/etc/ssh/ssh_host_ed25519_key.pub": f"ssh-ed25519 {key} root@web1\n",
        "/etc/ssh/ssh_host_rsa_key.pub": "ssh-rsa no!base64 x\n",
        "/etc/ssh/ssh_host_ecdsa_key.pub": "ssh-unheard-of AAAA\n",
        "/etc/ssh/ssh_host_dsa_key.pub": "",
    }
    assert ssh.collect(machine(tmp_path, files)) == {
        "ssh": {
            "ed25519": {
                "type": "ssh-ed25519",
                "key": key,
                "fingerprints": {
                    "sha1": f"SSHFP 4 1 {hashlib.sha1(raw).hexdigest()}",
                    "sha256": f"SSHFP 4 2 {hashlib.sha256(raw).hexdigest()}",
                },
            }
        }
    }


def zone(name: str) -> bytes:
    """Make a zone file of version 2 with only a rule: no transitions, one type at UTC."""
    counts = b"\0" * 4 + b"\0" * 4 + b"\0" * 4 + b"\0" * 4 + b"\0\0\0\x01" + b"\0\0\0\x04"
    body = b"\0\0\0\0\0\0" + b"UTC\0"
    block = b"TZif2" + b"\0" * 15 + counts + body
    return block + block + f"\n{name}0\n".encode()


def test_timezone_is_read_through_a_link_inside_the_root(tmp_path: Path) -> None:
    facts = machine(tmp_path, {"/usr/share/zoneinfo/Mars/Base": zone("MST"), "/etc/": ""})
    (tmp_path / "etc" / "localtime").symlink_to("/usr/share/zoneinfo/Mars/Base")
    assert timezone.collect(facts) == {"timezone": "MST"}


def test_timezone_without_a_file_is_utc(tmp_path: Path) -> None:
    assert timezone.collect(machine(tmp_path, {"/etc/": ""})) == {"timezone": "UTC"}


@pytest.mark.parametrize("data", [b"", b"TZif", b"TZif2" + b"\xff" * 60, b"hello", zone("")[:-4]])
def test_timezone_in_a_broken_file_is_absent_or_text(tmp_path: Path, data: bytes) -> None:
    facts = timezone.collect(machine(tmp_path, {"/etc/localtime": data}))
    assert all(isinstance(value, str) for value in facts.values())


@pytest.mark.parametrize(
    ("text", "words"),
    [("59.7 1.0", "0:00 hours"), ("3725.01 1.0", "1:02 hours"), ("90000.0 1.0", "1 day"), ("950400 1", "11 days")],
)
def test_uptime_text_grows_coarser(tmp_path: Path, text: str, words: str) -> None:
    assert uptime.collect(machine(tmp_path, {"/proc/uptime": text}))["system_uptime"]["uptime"] == words


def test_uptime_of_a_container_counts_from_its_first_process(tmp_path: Path) -> None:
    stat = "1 (a) b) S " + " ".join(["0"] * 18) + " 900000 0 0\n"
    files = {"/proc/uptime": "10000.5 1.0", "/proc/1/stat": stat, "/run/.containerenv": ""}
    assert uptime.collect(machine(tmp_path, files))["system_uptime"]["seconds"] == 1000


def test_uptime_in_lxc_is_its_own_already(tmp_path: Path) -> None:
    files = {"/proc/uptime": "50.5 1.0", "/proc/1/stat": "1 (init) S", "/proc/1/environ": "container=lxc\0"}
    assert uptime.collect(machine(tmp_path, files))["system_uptime"]["seconds"] == 50


def test_uptime_that_is_no_number_is_absent(tmp_path: Path) -> None:
    assert uptime.collect(machine(tmp_path, {"/proc/uptime": "soon"})) == {}


def test_kernel_version_is_split(tmp_path: Path) -> None:
    files = {
        "/proc/sys/kernel/ostype": "Linux\n",
        "/proc/sys/kernel/osrelease": "6.1.0-18-amd64\n",
        "/proc/sys/crypto/fips_enabled": "1\n",
        "/proc/loadavg": "0.50 1.25 2.00 1/200 4711\n",
    }
    assert kernel.collect(machine(tmp_path, files)) == {
        "kernel": "Linux",
        "kernelrelease": "6.1.0-18-amd64",
        "kernelversion": "6.1.0",
        "kernelmajversion": "6.1",
        "fips_enabled": True,
        "load_averages": {"1m": 0.5, "5m": 1.25, "15m": 2.0},
    }


@pytest.mark.parametrize("text", ["", "0.1 0.2", "nan inf 0.1", "a b c"])
def test_load_averages_that_are_no_numbers_are_absent(tmp_path: Path, text: str) -> None:
    assert kernel.collect(machine(tmp_path, {"/proc/loadavg": text})) == {"fips_enabled": False}


def test_identity_without_names_has_numbers(tmp_path: Path) -> None:
    account = Account(uid=1000, gid=1000, user=None, group=None)
    facts = identity.collect(machine(tmp_path, kernel=FakeKernel(account=account, variables={"PATH": "/bin"})))
    assert facts["identity"] == {"uid": 1000, "gid": 1000, "privileged": False}
    assert facts["path"] == "/bin"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.00 KiB"),
        (1536, "1.50 KiB"),
        ((1 << 20) - 1, "1.00 MiB"),
        (1 << 40, "1.00 TiB"),
        (1 << 70, "1024.00 EiB"),
    ],
)
def test_bytes_as_text_round_up_to_the_next_unit(count: int, text: str) -> None:
    assert human_bytes(count) == text


@pytest.mark.parametrize(("count", "text"), [(50, "50.00 Hz"), (2_793_000_000, "2.79 GHz"), (10**16, "10000.00 THz")])
def test_hertz_as_text_use_metric_prefixes(count: int, text: str) -> None:
    assert human_hertz(count) == text
