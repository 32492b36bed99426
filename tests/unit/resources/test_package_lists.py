"""Recorded output of package managers and their databases, and the order of versions."""

import itertools
import shutil
import subprocess

import pytest

from precast.resources.package import alpine, debian, python, rpm
from precast.resources.package.manager import InstalledPackage
from precast.resources.package.ranges import debian_order, is_range, is_within, rpm_order

STATUS = """\
Package: adduser
Status: install ok installed
Architecture: all
Version: 3.134
Description: add and remove users
 Package: not a field

Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9

Package: libc6
Status: deinstall ok config-files
Architecture: i386
Version: 2.36-8

Package: left
Status: deinstall ok config-files
Architecture: all
Version: 1.0

Package: kept
Status: hold ok installed
Architecture: all
Version: 1:2.0~rc1-3

Package: never
Status: unknown ok not-installed
Architecture: all
"""


def test_dpkgs_database_is_read_by_name_and_architecture() -> None:
    packages = debian.parse_status(STATUS)
    assert packages["adduser"] == InstalledPackage("3.134")
    assert (packages["libc6"], packages["libc6:i386"]) == (InstalledPackage("2.36-9"), InstalledPackage("absent"))
    assert packages["left"] == InstalledPackage("absent")
    assert packages["kept"] == InstalledPackage("1:2.0~rc1-3", is_held=True)
    assert "never" not in packages


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="needs dpkg")
def test_this_machines_database_is_read_as_dpkg_query_reads_it() -> None:
    listing = ["dpkg-query", "-W", "-f", "${Package}:${Architecture} ${db:Status-Status} ${Version}\n"]
    lines = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.splitlines()
    expected = {line.split()[0]: line.split()[2] for line in lines if line.split()[1] == "installed"}
    with open(debian.STATUS, encoding="utf-8") as file:  # noqa: PTH123 - as it is
        packages = debian.parse_status(file.read())
    assert {name: packages[name].version for name in expected} == expected


def test_candidates_of_apt_are_found_for_several_packages() -> None:
    text = """\
bash:
  InstalledPackage: 5.2.15-2+b8
  Candidate: 5.2.15-2+b9
  Version table:
     5.2.15-2+b9 500
        500 file:/repository ./ Packages
gone:
  InstalledPackage: 1.0
  Candidate: (none)
  Version table:
"""
    assert debian.parse_policy(text) == {"bash": "5.2.15-2+b9"}


def test_rpms_list_keeps_the_newest_of_several_versions() -> None:
    text = """\
bash 0 5.1.8 9.el9 x86_64
kernel-core 0 5.14.0 70.el9 x86_64
kernel-core 0 5.14.0 162.6.1.el9 x86_64
bind-libs 32 9.16.23 1.el9 x86_64
gpg-pubkey 0 8483c65d 5ccc5b19 (none)
"""
    packages = rpm.parse_list(text)
    assert packages["kernel-core"].version == "5.14.0-162.6.1.el9"
    assert packages["bind-libs.x86_64"].version == "32:9.16.23-1.el9"
    assert "gpg-pubkey" not in packages


def test_updates_of_dnf_may_go_on_in_the_next_line() -> None:
    text = """
bash.x86_64                         5.1.8-10.el9                baseos
a-very-long-name-of-a-package.noarch
                                    2:1.0-3.el9                 appstream
Obsoleting Packages
grub2-tools.x86_64                  1:2.06-80.el9               baseos
"""
    packages = rpm.parse_updates(text)
    assert (packages["bash"], packages["a-very-long-name-of-a-package"]) == ("5.1.8-10.el9", "2:1.0-3.el9")
    assert "grub2-tools" not in packages


def test_updates_of_zypper_are_read_from_its_table() -> None:
    text = """\
S | Repository | Name | Current Version | Available Version | Arch
--+------------+------+-----------------+-------------------+-------
v | Main       | bash | 4.4-9.14.1      | 4.4-19.6.1        | x86_64
"""
    assert rpm.parse_zypper(text) == {"bash": "4.4-19.6.1"}


def test_apks_database_and_policy_are_read() -> None:
    text = "C:Q1abc\nP:musl\nV:1.2.4-r2\nA:x86_64\n\nC:Q1def\nP:busybox\nV:1.36.1-r5\n"
    assert alpine.parse_database(text) == {
        "musl": InstalledPackage("1.2.4-r2"),
        "busybox": InstalledPackage("1.36.1-r5"),
    }
    policy = "musl policy:\n  1.2.4-r3:\n    https://mirror/main\n  1.2.4-r2:\n    lib/apk/db/installed\n"
    assert alpine.parse_policy(policy) == ["1.2.4-r3", "1.2.4-r2"]


def test_names_of_python_packages_are_compared_as_pip_does() -> None:
    assert python.normalise("Zope.Interface") == python.normalise("zope_interface") == "zope-interface"


DEBIAN = ["1.0~rc1", "1.0~rc1-1", "1.0", "1.0-1", "1.0-1+b1", "1.0-1.1", "1.0a", "1.0+dfsg-1", "1.1", "1.10", "1:0.1"]


@pytest.mark.parametrize(("left", "right"), list(itertools.pairwise(DEBIAN)))
def test_debian_versions_are_ordered(left: str, right: str) -> None:
    assert debian_order(left, right) < 0 < debian_order(right, left)
    if shutil.which("dpkg") is not None:
        assert subprocess.run(["dpkg", "--compare-versions", left, "lt", right], check=False).returncode == 0


RPM = ["1.0~rc1", "1.0", "1.0^git1", "1.0.a", "1.0.1", "1.1", "1.10", "1:0.1"]


@pytest.mark.parametrize(("left", "right"), list(itertools.pairwise(RPM)))
def test_rpm_versions_are_ordered(left: str, right: str) -> None:
    assert rpm_order(left, right) < 0 < rpm_order(right, left)


def test_rpm_version_without_a_release_equals_any() -> None:
    assert rpm_order("1.0-3.el9", "1.0") == 0
    assert rpm_order("1.0-3.el9", "1.0-4.el9") < 0


def test_ranges_are_told_from_versions_and_every_part_counts() -> None:
    assert [is_range(text) for text in ("1.0", ">=1.0", ">= 1.0 <2", "latest")] == [False, True, True, False]
    assert is_within("1.5", ">=1.0 <2.0", debian_order)
    assert not is_within("2.0", ">=1.0 <2.0", debian_order)
