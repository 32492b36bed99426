"""User data as people write it: a dozen documents of the kinds that are passed around, each over a root without programs.

None of them has an error, every key runs or is told, and what can be done by writing files is done.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from precast.boot.capabilities import Capability
from precast.boot.modules import registry
from precast.boot.modules.contract import Frequency
from precast.boot.modules.frequencies import wanted
from precast.boot.userdata.reader import ReaderContext, read
from precast.boot.validation import validate
from tests.unit.boot.modules import scratch
from tests.unit.boot.modules.test_examples import CLEAR, nothing

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: useradd and its kin")
PLACE = Path(__file__).parent / "user_data"
NAMES = sorted(path.name for path in PLACE.iterdir())
# Keys that are told and not run, by document; all others run.
TOLD = {
    "managers.yaml": {"ansible", "chef", "landscape", "puppet", "salt_minion", "ubuntu_pro"},
    "ntp-misc.yaml": {"byobu_by_default"},
    "terraform.yaml": {"network"},
}
VARIABLES = {"v1": {"local_hostname": "web-1", "instance_id": "i-1"}, "ds": {"meta_data": {"local-hostname": "web-1"}}}


def run(name: str, root: Path) -> scratch.CommandResult:
    data = read((PLACE / name).read_bytes(), ReaderContext(nothing, VARIABLES))
    for directory in ("apt", "ssh", "default"):
        (root / "etc" / directory).mkdir()
    return scratch.run(data.config, root, scripts=tuple(data.scripts))


@pytest.fixture
def done(tmp_path: Path) -> Callable[[str], tuple[scratch.CommandResult, Path]]:
    root = scratch.make_root(tmp_path)
    return lambda name: (run(name, root), root)


@pytest.mark.parametrize("name", NAMES)
def test_document_has_no_errors_and_each_key_runs_or_is_told(
    name: str, done: Callable[[str], tuple[scratch.CommandResult, Path]]
) -> None:
    problems = [each for each in validate(name, (PLACE / name).read_bytes()) if not each.is_warning]
    assert problems == []
    ran, _ = done(name)
    assert {str(finding.path[0]) for finding in ran.findings} == TOLD.get(name, set())
    assert {error.code for error in ran.errors.values()} <= CLEAR


def text(root: Path, path: str) -> str:
    return (root / path.lstrip("/")).read_text()


def test_host_for_docker_has_its_files_users_and_sources(
    done: Callable[[str], tuple[scratch.CommandResult, Path]],
) -> None:
    ran, root = done("docker-host.yaml")
    assert "max-size" in text(root, "/etc/docker/daemon.json")
    assert "deploy ALL=(ALL) NOPASSWD:ALL\n" in text(root, "/etc/sudoers.d/90-precast-deploy")
    assert "deploy" in next(line for line in text(root, "/etc/group").splitlines() if line.startswith("docker:"))
    assert "signed-by=/etc/apt/keyrings/precast-boot-hashicorp.asc" in text(
        root, "/etc/apt/sources.list.d/hashicorp.list"
    )
    # What a service has to be asked for is told, and costs nothing else.
    assert "octocat" in ran.errors["ssh_import_id[deploy]"].message
    assert "9DC858229FC7DD38854AE2D88D81803C0EBFCD88" in ran.errors["apt"].message


def test_node_of_a_cluster_has_its_files_in_every_encoding(
    done: Callable[[str], tuple[scratch.CommandResult, Path]],
) -> None:
    _, root = done("k8s-node.yaml")
    assert text(root, "/opt/bootstrap/join.sh").startswith("#!/bin/sh\nkubeadm join")
    assert text(root, "/etc/sysctl.d/99-kubernetes-cri.conf").endswith("net.ipv4.ip_forward=1\n")
    assert text(root, "/var/lib/kubelet/config.yaml") == "failSwapOn: false\n"
    assert (text(root, "/etc/hostname"), "k8s-worker-01.cluster.local" in text(root, "/etc/hosts")) == (
        "k8s-worker-01\n",
        True,
    )
    assert not (root / "etc/fstab").exists()


def test_mounts_are_written_although_swap_cannot_be_made(
    done: Callable[[str], tuple[scratch.CommandResult, Path]],
) -> None:
    ran, root = done("disks.yaml")
    assert ran.errors["mounts"].code == "BOOT-200"
    lines = [line.split("\t")[:4] for line in text(root, "/etc/fstab").splitlines()]
    assert ["10.0.0.5:/export", "/mnt/nfs", "nfs4", "_netdev,nofail,x-precast-boot"] in lines
    assert ["LABEL=data", "/data", "xfs", "defaults,noatime,x-precast-boot"] in lines
    assert len(lines) == 4


def test_parts_are_merged_and_templates_filled(done: Callable[[str], tuple[scratch.CommandResult, Path]]) -> None:
    _, root = done("mime.txt")
    assert text(root, "/etc/role") == "web i-1 web-1\n"
    config = read((PLACE / "mime.txt").read_bytes(), ReaderContext(nothing, VARIABLES)).config
    assert (config["packages"], config["runcmd"]) == (["htop", "jq"], ["echo one", "echo two"])


def test_syslog_wireguard_and_time_are_written(done: Callable[[str], tuple[scratch.CommandResult, Path]]) -> None:
    ran, root = done("ntp-misc.yaml")
    assert text(root, "/etc/rsyslog.d/20-cloud-config.conf") == (
        "*.* @@192.158.1.1\n*.*   @@syslogd.example.com\n*.* @192.168.1.1 # maas\n*.* @[2001:db8::1]:514 # juju\n"
    )
    assert text(root, "/etc/rsyslog.d/01-example.conf") == "*.*   @@192.0.2.1:10514\n"
    assert (root / "etc/wireguard/wg0.conf").stat().st_mode & 0o777 == 0o600
    assert "pool 0.de.pool.ntp.org iburst\n" in text(root, "/etc/chrony/chrony.conf")
    assert ran.outcomes["disable_ec2_metadata"].not_run == "only the machine itself has routes, not a root"


def test_frequencies_of_cloud_inits_lists_count() -> None:
    config = read((PLACE / "terraform.yaml").read_bytes(), ReaderContext(nothing)).config
    assert wanted(config) == dict.fromkeys(
        ["groups", "users", "group_members", "scripts", "runcmd", "scripts_after_runcmd"], Frequency.BOOT
    )
    assert wanted({"cloud_init_modules": ["bootcmd", ["cc_ssh", "once"], ["x"], ["mounts", "never"]]}) == {
        "ssh": Frequency.ONCE
    }


def test_frequency_that_nobody_knows_is_found() -> None:
    entries = ["bootcmd", ["scripts-user", "allways"], ["ssh", "always"]]
    kept, (found,) = registry.clean({"cloud_final_modules": entries})
    assert str(found).startswith("cloud_final_modules[1][1]: must be one of always, once")
    assert found.hint == "did you mean always?"
    assert kept == {"cloud_final_modules": ["bootcmd", ["scripts-user"], ["ssh", "always"]]}


@pytest.mark.parametrize("name", ["ntp", "locale", "wireguard", "packages"])
def test_what_installs_packages_comes_after_all_that_says_where_they_are(name: str) -> None:
    (module,) = (one for one in registry.modules() if one.name == name)
    before = {each.module for each in module.after}
    assert {"bootcmd", "write_files", "apt", "ca_certs", "resolv_conf", "etc_hosts", "mounts"} <= before
    assert set(module.locks) == {"apt", "passwd"}


def test_way_to_the_platform_is_closed_after_all_that_take_it() -> None:
    (module,) = (one for one in registry.modules() if one.name == "disable_ec2_metadata")
    late = {Capability.PASSWORD_POST, Capability.CERTIFICATES, Capability.READY_POST}
    asking = {one.name for one in registry.modules() if (one.needs | one.uses) & late}
    assert asking == {each.module for each in module.after}
