"""`os` on the distributions that people run."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from precast.agent.facts.groups import operating_system
from precast.agent.facts.machine import Facts
from tests.unit.agent.facts.roots import ALPINE, DEBIAN, RHEL, ROCKY, UBUNTU, FakeKernel, machine


def os_of(root: Path, *parts: Mapping[str, str | bytes], hardware: str | None = "x86_64") -> Facts:
    facts: Facts = operating_system.collect(machine(root, *parts, kernel=FakeKernel(hardware=hardware)))["os"]
    return facts


def test_os_of_debian_takes_the_minor_release_from_debian_version(tmp_path: Path) -> None:
    assert os_of(tmp_path, DEBIAN) == {
        "name": "Debian",
        "family": "Debian",
        "release": {"full": "12.08", "major": "12", "minor": "8"},
        "distro": {
            "id": "Debian",
            "codename": "bookworm",
            "description": "Debian GNU/Linux 12 (bookworm)",
            "release": {"full": "12.08", "major": "12", "minor": "8"},
        },
        "hardware": "x86_64",
        "architecture": "amd64",
        "selinux": {"enabled": False},
    }


def test_os_of_debian_before_its_release_has_no_minor_one(tmp_path: Path) -> None:
    facts = os_of(tmp_path, DEBIAN, {"/etc/debian_version": "trixie/sid\n"})
    assert facts["release"] == {"full": "trixie/sid", "major": "trixie/sid"}


def test_os_of_ubuntu_has_year_and_month_as_major_release(tmp_path: Path) -> None:
    facts = os_of(tmp_path, UBUNTU)
    assert (facts["name"], facts["family"]) == ("Ubuntu", "Debian")
    assert facts["release"] == {"full": "22.04", "major": "22.04"}
    assert facts["distro"]["codename"] == "jammy"


def test_os_of_rocky_reads_redhat_release(tmp_path: Path) -> None:
    facts = os_of(tmp_path, ROCKY)
    assert (facts["name"], facts["family"], facts["architecture"]) == ("Rocky", "RedHat", "x86_64")
    assert facts["release"] == {"full": "9.3", "major": "9", "minor": "3"}
    assert facts["distro"] == {
        "id": "Rocky",
        "codename": "Blue Onyx",
        "description": "Rocky Linux release 9.3 (Blue Onyx)",
        "release": {"full": "9.3", "major": "9", "minor": "3"},
    }


def test_os_of_rhel_has_facters_name(tmp_path: Path) -> None:
    facts = os_of(tmp_path, RHEL)
    assert (facts["name"], facts["family"], facts["distro"]["id"]) == ("RedHat", "RedHat", "RedHatEnterprise")


def test_os_of_alpine_is_its_own_family(tmp_path: Path) -> None:
    facts = os_of(tmp_path, ALPINE, hardware="aarch64")
    assert (facts["name"], facts["family"], facts["architecture"]) == ("Alpine", "Alpine", "aarch64")
    assert facts["release"] == {"full": "3.19.1", "major": "3", "minor": "19"}


@pytest.mark.parametrize(
    ("text", "name", "family", "full"),
    [
        (
            'ID="almalinux"\nNAME="AlmaLinux"\nID_LIKE="rhel centos fedora"\nVERSION_ID="8.9"',
            "AlmaLinux",
            "RedHat",
            "8.9",
        ),
        ("ID=fedora\nNAME=Fedora Linux\nVERSION_ID=39", "Fedora", "RedHat", "39"),
        ('ID="amzn"\nNAME="Amazon Linux"\nID_LIKE="fedora"\nVERSION_ID="2023"', "Amazon", "RedHat", "2023"),
        ('ID="sles"\nNAME="SLES"\nID_LIKE="suse"\nVERSION_ID="15.5"', "SLES", "Suse", "15.5"),
        ('ID="opensuse-leap"\nNAME="openSUSE Leap"\nID_LIKE="suse"\nVERSION_ID="15.5"', "openSUSE", "Suse", "15.5"),
        ("ID=arch\nNAME='Arch Linux'", "Archlinux", "Archlinux", None),
        ("ID=linuxmint\nNAME='Linux Mint'\nID_LIKE='ubuntu debian'\nVERSION_ID=21.3", "Linuxmint", "Debian", "21.3"),
        ("ID=homegrown\nNAME=Homegrown\nVERSION_ID=7", "Homegrown", "Homegrown", "7.0"),
    ],
)
def test_os_of_other_distributions_has_name_family_and_release(
    tmp_path: Path, text: str, name: str, family: str, full: str | None
) -> None:
    facts = os_of(tmp_path, {"/etc/os-release": text})
    assert (facts["name"], facts["family"], facts.get("release", {}).get("full")) == (name, family, full)


def test_os_without_any_file_says_only_what_the_kernel_knows(tmp_path: Path) -> None:
    assert os_of(tmp_path, hardware="i686") == {
        "hardware": "i686",
        "architecture": "i386",
        "selinux": {"enabled": False},
    }


def test_os_release_only_in_usr_lib_is_read(tmp_path: Path) -> None:
    assert os_of(tmp_path, {"/usr/lib/os-release": DEBIAN["/etc/os-release"]})["name"] == "Debian"


@pytest.mark.parametrize(("enforce", "mode"), [("1", "enforcing"), ("0", "permissive")])
def test_selinux_that_is_mounted_and_configured_says_its_mode(tmp_path: Path, enforce: str, mode: str) -> None:
    files = {
        "/proc/self/mounts": "selinuxfs /sys/fs/selinux selinuxfs rw 0 0\n",
        "/sys/fs/selinux/enforce": enforce,
        "/sys/fs/selinux/policyvers": "33",
        "/etc/selinux/config": "# comment\nSELINUX=enforcing\nSELINUXTYPE=targeted\n",
    }
    assert os_of(tmp_path, files)["selinux"] == {
        "enabled": True,
        "enforced": mode == "enforcing",
        "current_mode": mode,
        "config_mode": "enforcing",
        "config_policy": "targeted",
        "policy_version": "33",
    }
