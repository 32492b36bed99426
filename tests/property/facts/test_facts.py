"""No content of a file crashes the collection, and its result is always plain data within the limits."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from precast.agent.facts import registry as groups
from precast.agent.facts.collection import Collector, all_sources
from precast.agent.facts.fact_budget import MAX_BYTES, FactBudget
from precast.agent.facts.fact_paths import find, flatten
from precast.agent.facts.formats import from_json, from_lines, from_output, from_yaml
from precast.agent.facts.machine import Machine, NoKernel
from precast.base import canonical
from precast.base.errors import PrecastError
from precast.lang.legacy_facts import legacy_facts
from tests.unit.agent.facts.roots import fill

# Every file that some group reads, with what it usually looks like: a change of a few bytes goes deeper than noise.
READ = {
    "/etc/os-release": b'NAME="Debian GNU/Linux"\nID=debian\nVERSION_ID="12"\nID_LIKE="rhel fedora"\n',
    "/etc/debian_version": b"12.08\n",
    "/etc/redhat-release": b"Rocky Linux release 9.3 (Blue Onyx)\n",
    "/etc/hostname": b"web1.example.org\n",
    "/etc/hosts": b"127.0.1.1 web1.example.org web1\n",
    "/etc/resolv.conf": b"search example.org\n",
    "/etc/localtime": b"TZif2" + bytes(15) + bytes(16) + b"\0\0\0\1\0\0\0\4" + bytes(6) + b"UTC\0",
    "/etc/selinux/config": b"SELINUX=enforcing\nSELINUXTYPE=targeted\n",
    "/etc/ssh/ssh_host_rsa_key.pub": b"ssh-rsa AAAAB3NzaC1yc2E= root@web1\n",
    "/proc/1/cgroup": b"0::/docker/0123456789abcdef\n",
    "/proc/1/environ": b"container=lxc\0HOME=/\0",
    "/proc/1/stat": b"1 (init) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 900000 1 2\n",
    "/proc/cmdline": b"root=/dev/sda1 quiet\n",
    "/proc/cpuinfo": b"processor\t: 0\nmodel name\t: Xeon\ncpu MHz\t\t: 2793.4\nphysical id\t: 0\n",
    "/proc/filesystems": b"nodev\tsysfs\n\text4\n",
    "/proc/loadavg": b"0.50 1.25 2.00 1/200 4711\n",
    "/proc/meminfo": b"MemTotal: 1000 kB\nMemAvailable: 10 kB\nSwapTotal: 5 kB\nSwapFree: 5 kB\n",
    "/proc/net/bonding/bond0": b"Slave Interface: eth0\nPermanent HW addr: 52:54:00:12:34:56\n",
    "/proc/net/if_inet6": b"20010db8000000000000000000000005 02 40 00 80     eth0\n",
    "/proc/net/ipv6_route": b"0" * 32 + b" 00 " + b"0" * 32 + b" 00 0 00000400 1 0 0 eth0\n",
    "/proc/net/route": b"Iface\neth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\n",
    "/proc/self/mountinfo": b"22 27 0:21 / /proc rw - proc proc rw\n",
    "/proc/self/mounts": b"/dev/root / ext4 rw 0 0\nselinuxfs /sys/fs/selinux selinuxfs rw 0 0\n",
    "/proc/sys/kernel/hostname": b"web1\n",
    "/proc/sys/kernel/osrelease": b"6.1.0-18-amd64\n",
    "/proc/uptime": b"1000.5 1.0\n",
    "/proc/xen/capabilities": b"control_d\n",
    "/run/systemd/netif/leases/2": b"SERVER_ADDRESS=10.0.0.1\n",
    "/run/udev/data/b8:0": b"E:ID_SERIAL_SHORT=S5Y1\n",
    "/sys/block/sda/dev": b"8:0\n",
    "/sys/block/sda/device/model": b"SSD\n",
    "/sys/block/sda/size": b"2048\n",
    "/sys/class/dmi/id/chassis_type": b"23\n",
    "/sys/class/dmi/id/product_name": b"KVM\n",
    "/sys/class/net/eth0/address": b"52:54:00:12:34:56\n",
    "/sys/class/net/eth0/ifindex": b"2\n",
    "/sys/class/net/eth0/master/ifindex": b"3\n",
    "/sys/class/net/eth0/mtu": b"1500\n",
    "/sys/devices/system/cpu/cpu0/topology/core_siblings_list": b"0-3\n",
    "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list": b"0-1\n",
    "/sys/fs/selinux/enforce": b"1",
}


@st.composite
def contents(draw: st.DrawFn) -> dict[str, bytes]:
    """Some of the files, each with random bytes, or with its usual content and a piece replaced."""
    files = {}
    for name in draw(st.lists(st.sampled_from(sorted(READ)), min_size=1, max_size=8, unique=True)):
        usual, noise = READ[name], draw(st.binary(max_size=40))
        start = draw(st.integers(0, len(usual)))
        end = draw(st.integers(start, len(usual)))
        files[name] = draw(st.sampled_from([noise, usual[:start] + noise + usual[end:], usual[:start], usual * 3]))
    return files


@settings(max_examples=150)
@given(contents())
def test_collection_of_any_content_is_plain_data_without_failures(changed: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        machine = Machine(fill(Path(name), {**READ, **changed}), NoKernel())
        expected = {key: value for collect in groups.GROUPS.values() for key, value in collect(machine).items()}
        collected = Collector(all_sources(machine)).collect()
    assert [warning.message for warning in collected.warnings] == []
    assert expected.keys() == collected.facts.keys()
    assert len(canonical.encode(collected.facts)) <= MAX_BYTES
    canonical.encode(legacy_facts(collected.facts))


@given(st.binary(max_size=200))
def test_reading_any_bytes_gives_facts_or_a_precast_error(data: bytes) -> None:
    for read in (from_json, from_yaml, from_lines, from_output):
        try:
            document = read("file", data)
        except PrecastError as error:
            assert error.code in ("FACT-024", "FACT-026")  # noqa: PT017
        else:
            FactBudget().admit(document.facts)


NAMES = st.text(st.characters(exclude_characters="."), min_size=1, max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
def test_every_flat_path_leads_back_to_its_value(facts: dict[str, object]) -> None:
    for path, value in flatten(facts):
        assert find(facts, path) == value
