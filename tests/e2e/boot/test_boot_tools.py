"""The files that config modules write for dnf and zypper, read by those; and calls of programs that must not run here."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.overlay import OverlayRoot, why_not
from tests.unit.boot.modules import scratch

REPOSITORIES: dict[str, Any] = {
    "yum_repos": {
        "epel-testing": {
            "name": "Extra Packages - Testing",
            "baseurl": "https://mirror.example/epel/8/$basearch",
            "enabled": False,
            "gpgcheck": True,
            "gpgkey": "file:///etc/pki/rpm-gpg/KEY",
        },
        "two/places": {"baseurl": ["http://a.example/x", "http://b.example/x"], "enabled": 1, "priority": 5},
    },
    "zypper": {
        "repos": [
            {"id": "oss", "name": "main part", "baseurl": "http://dl.example/oss/"},
            {"id": "updates", "baseurl": "http://dl.example/up/", "enabled": 0, "gpgcheck": 0, "priority": 7},
        ],
        "config": {"download.use_deltarpm": False},
    },
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = scratch.make_root(tmp_path)
    for name in ("yum.repos.d", "zypp/repos.d"):
        (place / "etc" / name).mkdir(parents=True)
    scratch.run(REPOSITORIES, place, only=("yum_repos", "zypper"))
    return place


def said(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=100).stdout


@pytest.mark.needs("dnf")
def test_dnf_reads_the_repositories(root: Path) -> None:
    place = f"--setopt=reposdir={root}/etc/yum.repos.d"
    rows = said("dnf", "-q", "-C", f"--installroot={root}", "--releasever=9", place, "repolist", "--all").splitlines()
    assert [(row.split()[0], row.split()[-1]) for row in rows[1:]] == [
        ("epel-testing", "disabled"), ("two_places", "enabled"),
    ]  # fmt: skip


@pytest.mark.needs("zypper")
def test_zypper_reads_the_repositories(root: Path) -> None:
    rows = [
        [cell.strip() for cell in line.split("|")]
        for line in said("zypper", "--root", str(root), "lr", "-d").splitlines()
        if "|" in line
    ]
    named = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    shown = [(row["Alias"], row["Name"], row["Enabled"], row["Priority"], row["URI"]) for row in named]
    assert shown == [
        ("oss", "main part", "Yes", "99", "http://dl.example/oss/"),
        ("updates", "updates", "No", "7", "http://dl.example/up/"),
    ]
    assert (root / "etc/zypp/zypp.conf").read_text() == "[main]\ndownload.use_deltarpm = 0\n"


@pytest.mark.parametrize(
    ("layout", "command"),
    [
        ("/etc/pki/ca-trust/source/anchors", "update-ca-trust"),
        ("/etc/pki/trust/anchors", "update-ca-certificates"),
        ("/usr/local/share/ca-certificates", "update-ca-certificates"),
    ],
)
def test_certificates_go_where_each_distribution_has_them(tmp_path: Path, layout: str, command: str) -> None:
    place = scratch.make_root(tmp_path)
    (place / layout.lstrip("/")).mkdir(parents=True)
    bundled = place / "usr/share/pki/ca-trust-source"
    (bundled / "anchors").mkdir(parents=True)
    (bundled / "ca-bundle.trust.p11-kit").write_text("all of them")
    given = {
        "ca_certs": {"remove_defaults": True, "trusted": "-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----"}
    }
    ran = scratch.run(given, place, only=("ca_certs",))
    assert ran.errors == {}
    (written,) = (place / layout.lstrip("/")).iterdir()
    assert written.read_text().startswith("-----BEGIN CERTIFICATE-----\nA\n")
    assert [path.name for path in bundled.iterdir()] == ["anchors"]
    assert any(f"{command} is not installed" in warning for warning in ran.warnings)


# Programs that would take the machine down, or that no Debian has: ones that note how they were called take their place.

NOTED = """#!/bin/sh
{{ echo "$(basename "$0") $*"; ! pgrep python > /dev/null || echo running; }} >> /root/calls
{more}
"""
MORE = '[ "$1" != ack ] || cp "$2" /root/assertions; [ "$*" != "init --preseed" ] || cat > /root/preseed'
BOOT = f"{sys.executable} -m precast boot run --source nocloud --user-data /root/user-data"
WAIT = "n=0; until grep -q ^shutdown /root/calls || [ $n -ge 200 ]; do n=$((n+1)); sleep 0.05; done"


def noted(
    tmp_path: Path, user_data: str, programs: tuple[str, ...], before: str = "", after: str = ""
) -> tuple[str, list[str]]:
    """Return the output of the boot, and the recorded calls."""
    root = OverlayRoot(tmp_path)
    root.write("/root/user-data", f"#cloud-config\nusers: []\nssh_genkeytypes: []\n{user_data}")
    for name in programs:
        root.write(f"/usr/local/sbin/{name}", NOTED.format(more=MORE), 0o755)
    root.write("/root/calls", "")
    script = f"{before}\n{BOOT} > /root/said; echo code $? >> /root/said\n{after}"
    done = root.run(["unshare", "-u", "-n", "sh", "-c", script])
    return root.read("/root/said") + done.stdout, root.read("/root/calls").splitlines()


overlaid = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@overlaid
@pytest.mark.parametrize(
    ("given", "called"),
    [
        ("{mode: reboot}", "shutdown -r now"),
        ("{mode: poweroff, delay: '+5', message: Good bye}", "shutdown -P +5 Good bye"),
        ("{mode: halt, delay: 30, timeout: 5, condition: test -d /root}", "shutdown -H +30"),
        ("{mode: reboot, delay: '23:30', condition: [test, -d, /root]}", "shutdown -r 23:30"),
    ],
)
def test_machine_goes_down_when_the_boot_has_ended(tmp_path: Path, given: str, called: str) -> None:
    told, calls = noted(tmp_path, f"power_state: {given}\n", ("shutdown",), after=WAIT)
    assert "code 0\n" in told
    assert calls == [called]  # and nothing of the boot was running any more


@overlaid
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("{mode: reboot, condition: test -e /none}", "done, nothing to change: its condition is not met"),
        ("{mode: reboot, condition: false}", "done, nothing to change: its condition is not met"),
        ("{mode: reboot, delay: soon}", "failed: power_state.delay has the invalid value soon"),
    ],
)
def test_machine_stays_up_if_it_is_not_to_go_down(tmp_path: Path, given: str, reason: str) -> None:
    told, calls = noted(tmp_path, f"power_state: {given}\n", ("shutdown",))
    assert f"power_state: {reason}" in told
    assert calls == []


@overlaid
def test_machine_is_rebooted_if_packages_need_it(tmp_path: Path) -> None:
    before = "touch /run/reboot-required"
    _, calls = noted(tmp_path, "package_reboot_if_required: true\n", ("shutdown",), before, WAIT)
    assert calls == ["shutdown -r now installed packages need a reboot"]


@overlaid
def test_snap_is_given_assertions_and_commands_in_their_order(tmp_path: Path) -> None:
    given = """
snap:
  assertions: {one: "type: account-key", two: "type: account"}
  commands:
    '10': [install, lxd, --channel=4.0/stable]
    '01': snap install microk8s --classic
    '20': [snap, set, lxd, "daemon.debug=a b"]
packages: [{snap: [certbot, [juju, --edge]]}]
"""
    told, calls = noted(tmp_path, given, ("snap",))
    assert "code 0\n" in told, told
    called = [line for line in calls if line != "running"]
    ack = called.index(next(line for line in called if line.startswith("snap ack ")))
    assert called[ack + 1 :] == [
        "snap install microk8s --classic",
        "snap install lxd --channel=4.0/stable",
        "snap set lxd daemon.debug=a b",
    ]
    assert set(called[:ack]) == {"snap install certbot", "snap install juju --edge"}
    assert (tmp_path / "upper/root/assertions").read_text() == "type: account-key\ntype: account\n"


@overlaid
@pytest.mark.parametrize(
    ("given", "called", "preseed"),
    [
        ("{init: {storage_backend: dir, network_port: 8443, trust_password: s3cret}}",
         ["lxd init --auto --network-port=8443 --storage-backend=dir", "lxd init --preseed"],
         '{"config":{"core.trust_password":"s3cret"}}'),
        ("{preseed: 'config: {}', init: {storage_backend: dir}}", ["lxd init --preseed"], "config: {}"),
    ],
)  # fmt: skip
def test_lxd_is_given_its_first_configuration(tmp_path: Path, given: str, called: list[str], preseed: str) -> None:
    told, calls = noted(tmp_path, f"lxd: {given}\n", ("lxd",))
    assert "code 0\n" in told, told
    assert [line for line in calls if line != "running"] == called
    assert (tmp_path / "upper/root/preseed").read_text() == preseed
    assert "s3cret" not in told


@overlaid
def test_metadata_service_is_closed_at_both_of_its_addresses(tmp_path: Path) -> None:
    told, calls = noted(tmp_path, "disable_ec2_metadata: true\n", ("ip",))
    assert "code 0\n" in told, told
    closed = ["ip route replace prohibit 169.254.169.254"]
    if Path("/proc/net/if_inet6").exists():
        closed.append("ip -6 route replace prohibit fd00:ec2::254")
    assert [line for line in calls if "prohibit" in line] == closed
