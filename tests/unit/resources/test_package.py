"""package: the choice of the manager and its commands. tests/differential/apply and tests/e2e use real managers."""

from pathlib import Path
from typing import Any

import pytest

from precast.base.errors import InputError, NotFoundError
from precast.resources.contract import DesiredResource
from precast.resources.package.handler import Package
from tests.unit.resources.applied_resource import handler, machine
from tests.unit.resources.recorded import RecordedMachine

STATUS = "Package: web\nStatus: install ok installed\nVersion: 1.0\nArchitecture: all\n"
POLICY = "web:\n  InstalledPackage: 1.0\n  Candidate: 1.1\n"


@pytest.fixture
def debian(tmp_path: Path) -> RecordedMachine:
    node = RecordedMachine(tmp_path, {"apt-cache policy web": (0, POLICY)})
    node.programs("apt-get")
    status = tmp_path / "var/lib/dpkg/status"
    status.parent.mkdir(parents=True)
    status.write_text(STATUS)
    return node


def made(node: RecordedMachine, title: str, **parameters: Any) -> Package:
    found = handler(node, "package", title, **parameters)
    assert isinstance(found, Package)
    return found


def messages(node: RecordedMachine, title: str, **parameters: Any) -> list[str]:
    package = made(node, title, **parameters)
    found = list(package.compare(package.read()))
    for change in found:
        package.apply(change)
    return [change.message for change in found]


@pytest.mark.parametrize(
    ("release", "programs", "name"),
    [
        ("ID=debian\n", ["apt-get"], "apt"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', ["dnf", "yum"], "dnf"),
        ("ID=centos\n", ["yum"], "yum"),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', ["zypper"], "zypper"),
        ("ID=alpine\n", ["apk"], "apk"),
        ("ID=debian\n", ["apt-get", "dnf"], "apt"),
        ("", ["dnf"], "dnf"),
    ],
)
def test_manager_of_the_machines_family_is_taken(tmp_path: Path, release: str, programs: list[str], name: str) -> None:
    node = RecordedMachine(tmp_path, {})
    node.programs(*programs)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text(release)
    assert made(node, "web").manager.name == name


def test_machine_without_a_manager_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no package manager that Precast supports"):
        made(RecordedMachine(tmp_path, {}), "web")


def test_newest_versions_of_a_catalog_are_asked_for_at_once(debian: RecordedMachine) -> None:
    debian.declare(
        [
            DesiredResource("package", "web", {"ensure": "latest"}),
            DesiredResource("package", "db", {"ensure": "latest"}),
        ],
        {},
    )
    debian.answers = {"apt-cache policy web db": (0, POLICY)}
    assert messages(debian, "web", ensure="latest") == ["ensure changed '1.0' to '1.1'"]
    assert debian.ran[0] == "apt-cache policy web db"
    assert debian.ran[1].endswith("-o DPkg::Options::=--force-confold install web")


def test_version_that_is_asked_for_may_be_older(debian: RecordedMachine) -> None:
    assert messages(debian, "web", ensure="0.9", install_options=["-t", {"--opt": "x"}]) == [
        "ensure changed '1.0' to '0.9'"
    ]
    assert debian.ran[-1].endswith("--allow-downgrades --allow-change-held-packages -t --opt=x install web=0.9")


def test_package_is_removed_purged_and_held(debian: RecordedMachine) -> None:
    assert messages(debian, "web", ensure="absent") == ["removed"]
    assert debian.ran[-1].endswith(" remove web")
    assert messages(debian, "web", ensure="purged") == ["purged"]
    assert debian.ran[-1].endswith(" remove --purge web")
    assert messages(debian, "web", ensure="held") == ["mark changed 'none' to 'hold'"]
    assert debian.ran[-1] == "apt-mark -q hold web"


def test_range_takes_the_newest_inside_it(debian: RecordedMachine) -> None:
    madison = "web | 2.0 | file:/r ./ Packages\nweb | 1.9 | file:/r ./ Packages\nweb | 1.10 | file:/r ./ Packages\n"
    debian.answers = {"apt-cache madison web": (0, madison)}
    assert messages(debian, "web", ensure=">=1.1 <2.0") == ["ensure changed '1.0' to '1.10'"]
    assert messages(debian, "web", ensure="<2.0") == []
    with pytest.raises(NotFoundError, match="apt has no package web >3"):
        messages(debian, "web", ensure=">3")


def test_answers_and_configuration_files_are_as_asked_for(debian: RecordedMachine) -> None:
    assert messages(debian, "new", responsefile="/root/new.preseed", configfiles="replace") == ["created"]
    assert debian.ran[0] == "debconf-set-selections /root/new.preseed"
    assert "--force-confnew" in debian.ran[1]


def test_notified_package_is_installed_again_if_asked_for(debian: RecordedMachine) -> None:
    made(debian, "web").refresh()
    assert debian.ran == []
    made(debian, "web", reinstall_on_refresh=True).refresh()
    assert debian.ran == ["apt-get -q -y --reinstall install web"]


def test_dpkgs_pending_updates_are_left_to_dpkg_query(debian: RecordedMachine) -> None:
    updates = Path(debian.path("/var/lib/dpkg/updates"))
    updates.mkdir()
    (updates / "0001").touch()
    assert made(debian, "web").read() == {"ensure": "purged"}
    assert debian.ran[0].startswith("dpkg-query -W -f ")


def test_apk_is_asked_and_told(tmp_path: Path) -> None:
    node = RecordedMachine(tmp_path, {"apk policy musl": (0, "musl policy:\n  1.2-r3:\n    x\n  1.2-r2:\n    y\n")})
    node.programs("apk")
    database = tmp_path / "lib/apk/db/installed"
    database.parent.mkdir(parents=True)
    database.write_text("P:musl\nV:1.2-r2\n\n")
    assert messages(node, "musl", ensure="latest") == ["ensure changed '1.2-r2' to '1.2-r3'"]
    assert node.ran[-1] == "apk add --no-progress --upgrade musl"
    assert messages(node, "musl", ensure="absent") == ["removed"]
    assert messages(node, "new", ensure="1.0-r0") == ["created"]
    assert node.ran[-2:] == ["apk del --no-progress musl", "apk add --no-progress --upgrade new=1.0-r0"]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"provider": "brew"}, "package has no provider brew here"),
        ({"ensure": "absent", "mark": "hold"}, "mark cannot be 'hold'"),
        ({"provider": "pip", "ensure": "purged"}, "ensure cannot be 'purged': pip cannot purge"),
        ({"provider": "dpkg"}, "source must be given: dpkg needs a file"),
        ({"ensure": "disabled"}, "ensure cannot be 'disabled'"),
    ],
)
def test_wrong_values_fail_when_planned(debian: RecordedMachine, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        made(debian, "web", **parameters)


def test_package_is_refused_below_a_root_that_is_no_system(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be applied below"):
        handler(machine(tmp_path), "package", "web")
