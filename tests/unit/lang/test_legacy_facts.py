"""Facter's flat facts, derived from the structured facts."""

from precast.lang.legacy_facts import legacy_facts

FACTS = {
    "os": {
        "name": "Debian",
        "family": "Debian",
        "release": {"full": "12.8", "major": "12"},
        "selinux": {"enabled": False},
    },
    "networking": {
        "hostname": "web1",
        "ip": "10.0.0.5",
        "dhcp": "10.0.0.1",
        "interfaces": {
            "eth0": {"ip": "10.0.0.5", "mtu": 1500, "dhcp": "10.0.0.1", "mac": "52:54:00:12:34:56"},
            "eth0.100": {"ip6": "2001:db8::5", "scope6": "global"},
        },
    },
    "processors": {"count": 2, "models": ["Xeon", "Xeon"]},
    "memory": {"system": {"total": "1.00 GiB", "total_bytes": 1 << 30}},
    "disks": {"sda": {"size_bytes": 512, "vendor": "ATA"}},
    "ssh": {"rsa": {"key": "AAAA", "fingerprints": {"sha1": "SSHFP 1 1 a", "sha256": "SSHFP 1 2 b"}}},
}


def test_all_legacy_facts_of_a_usual_machine_are_derived() -> None:
    assert legacy_facts(FACTS) == {
        "blockdevice_sda_size": 512,
        "blockdevice_sda_vendor": "ATA",
        "blockdevices": "sda",
        "dhcp_servers": {"system": "10.0.0.1", "eth0": "10.0.0.1"},
        "hostname": "web1",
        "interfaces": "eth0,eth0_100",
        "ipaddress": "10.0.0.5",
        "ipaddress6_eth0_100": "2001:db8::5",
        "ipaddress_eth0": "10.0.0.5",
        "macaddress_eth0": "52:54:00:12:34:56",
        "memorysize": "1.00 GiB",
        "memorysize_mb": 1024.0,
        "mtu_eth0": 1500,
        "operatingsystem": "Debian",
        "operatingsystemmajrelease": "12",
        "operatingsystemrelease": "12.8",
        "osfamily": "Debian",
        "processor0": "Xeon",
        "processor1": "Xeon",
        "processorcount": 2,
        "scope6_eth0_100": "global",
        "selinux": False,
        "sshfp_rsa": "SSHFP 1 1 a\nSSHFP 1 2 b",
        "sshrsakey": "AAAA",
    }


def test_no_facts_give_no_legacy_facts() -> None:
    assert legacy_facts({}) == {}


def test_legacy_facts_of_overridden_facts_with_other_types_are_left_out() -> None:
    facts = {
        "networking": "none",
        "disks": ["sda"],
        "ssh": {"rsa": 1},
        "processors": 4,
        "memory": {"system": []},
        "os": None,
    }
    assert legacy_facts(facts) == {}
