"""Runs a dozen typical user-data documents, each in a root without programs.

None of them has an error, every key runs or is reported, and all files that need no programs are written.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from precast.boot.capabilities import Capability
from precast.boot.modules import registry
from precast.boot.modules.contract import Frequency
from precast.boot.modules.frequencies import read_frequencies
from precast.boot.userdata.reader import ReaderContext, read
from precast.boot.validation import validate
from tests.unit.boot.modules import scratch
from tests.unit.boot.modules.test_examples import EXPECTED_ERRORS, refuse_fetch

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: useradd and its kin")
DIRECTORY = Path(__file__).parent / "user_data"
NAMES = sorted(path.name for path in DIRECTORY.iterdir())
# The unsupported keys that each document contains; all other keys run.
UNSUPPORTED = {
    "managers.yaml": {"ansible", "chef", "landscape", "puppet", "salt_minion", "ubuntu_pro"},
    "ntp-misc.yaml": {"byobu_by_default"},
    "terraform.yaml": {"network"},
}
VARIABLES = {"v1": {"local_hostname": "web-1", "instance_id": "i-1"}, "ds": {"meta_data": {"local-hostname": "web-1"}}}


def run(name: str, root: Path) -> scratch.ScratchRun:
    data = read((DIRECTORY / name).read_bytes(), ReaderContext(refuse_fetch, VARIABLES))
    for directory in ("apt", "ssh", "default"):
        (root / "etc" / directory).mkdir()
    return scratch.run(data.config, root, scripts=tuple(data.scripts))


@pytest.fixture
def run_document(tmp_path: Path) -> Callable[[str], tuple[scratch.ScratchRun, Path]]:
    root = scratch.make_root(tmp_path)
    return lambda name: (run(name, root), root)


@pytest.mark.parametrize("name", NAMES)
def test_document_has_no_errors_and_each_key_runs_or_is_reported(
    name: str, run_document: Callable[[str], tuple[scratch.ScratchRun, Path]]
) -> None:
    problems = [problem for problem in validate(name, (DIRECTORY / name).read_bytes()) if not problem.is_warning]
    assert problems == []
    ran, _ = run_document(name)
    assert {str(finding.path[0]) for finding in ran.findings} == UNSUPPORTED.get(name, set())
    assert {error.code for error in ran.errors.values()} <= EXPECTED_ERRORS


def text(root: Path, path: str) -> str:
    return (root / path.lstrip("/")).read_text()


def test_host_for_docker_has_its_files_users_and_sources(
    run_document: Callable[[str], tuple[scratch.ScratchRun, Path]],
) -> None:
    ran, root = run_document("docker-host.yaml")
    assert "max-size" in text(root, "/etc/docker/daemon.json")
    assert "deploy ALL=(ALL) NOPASSWD:ALL\n" in text(root, "/etc/sudoers.d/90-cloud-init-users")
    assert "deploy" in next(line for line in text(root, "/etc/group").splitlines() if line.startswith("docker:"))
    assert "signed-by=/etc/apt/keyrings/precast-boot-hashicorp.asc" in text(
        root, "/etc/apt/sources.list.d/hashicorp.list"
    )
    # What must be fetched from a service fails alone, and the failure is reported.
    assert "octocat" in ran.errors["ssh_import_id[deploy]"].message
    assert "9DC858229FC7DD38854AE2D88D81803C0EBFCD88" in ran.errors["apt"].message


def test_node_of_a_cluster_has_its_files_in_every_encoding(
    run_document: Callable[[str], tuple[scratch.ScratchRun, Path]],
) -> None:
    _, root = run_document("k8s-node.yaml")
    assert text(root, "/opt/bootstrap/join.sh").startswith("#!/bin/sh\nkubeadm join")
    assert text(root, "/etc/sysctl.d/99-kubernetes-cri.conf").endswith("net.ipv4.ip_forward=1\n")
    assert text(root, "/var/lib/kubelet/config.yaml") == "failSwapOn: false\n"
    assert (text(root, "/etc/hostname"), "k8s-worker-01.cluster.local" in text(root, "/etc/hosts")) == (
        "k8s-worker-01\n",
        True,
    )
    assert not (root / "etc/fstab").exists()


def test_mounts_are_written_although_swap_cannot_be_made(
    run_document: Callable[[str], tuple[scratch.ScratchRun, Path]],
) -> None:
    ran, root = run_document("disks.yaml")
    assert "making the swap file /swapfile is not possible below" in ran.errors["mounts"].message
    lines = [line.split("\t")[:4] for line in text(root, "/etc/fstab").splitlines()]
    assert ["10.0.0.5:/export", "/mnt/nfs", "nfs4", "_netdev,nofail,x-precast-boot"] in lines
    assert ["LABEL=data", "/data", "xfs", "defaults,noatime,x-precast-boot"] in lines
    assert len(lines) == 4


def test_parts_are_merged_and_templates_filled(run_document: Callable[[str], tuple[scratch.ScratchRun, Path]]) -> None:
    _, root = run_document("mime.txt")
    assert text(root, "/etc/role") == "web i-1 web-1\n"
    config = read((DIRECTORY / "mime.txt").read_bytes(), ReaderContext(refuse_fetch, VARIABLES)).config
    assert (config["packages"], config["runcmd"]) == (["htop", "jq"], ["echo one", "echo two"])


def test_syslog_wireguard_and_time_are_written(run_document: Callable[[str], tuple[scratch.ScratchRun, Path]]) -> None:
    ran, root = run_document("ntp-misc.yaml")
    assert text(root, "/etc/rsyslog.d/20-cloud-config.conf") == (
        "*.* @@192.158.1.1\n*.*   @@syslogd.example.com\n*.* @[2001:db8::1]:514 # juju\n*.* @192.168.1.1 # maas\n"
    )
    assert text(root, "/etc/rsyslog.d/01-example.conf") == "*.*   @@192.0.2.1:10514\n"
    assert (root / "etc/wireguard/wg0.conf").stat().st_mode & 0o777 == 0o600
    assert "pool 0.de.pool.ntp.org iburst\n" in text(root, "/etc/chrony/chrony.conf")
    assert ran.outcomes["disable_ec2_metadata"].not_run == "only the machine itself has routes, not a root"


def test_frequencies_of_cloud_inits_lists_count() -> None:
    config = read((DIRECTORY / "terraform.yaml").read_bytes(), ReaderContext(refuse_fetch)).config
    assert read_frequencies(config) == dict.fromkeys(
        ["groups", "users", "group_members", "scripts", "runcmd", "scripts_after_runcmd"], Frequency.BOOT
    )
    assert read_frequencies({"cloud_init_modules": ["bootcmd", ["cc_ssh", "once"], ["x"], ["mounts", "never"]]}) == {
        "ssh": Frequency.ONCE
    }


def test_unknown_frequency_is_reported() -> None:
    entries = ["bootcmd", ["scripts-user", "allways"], ["ssh", "always"]]
    cleaned, (finding,) = registry.clean({"cloud_final_modules": entries})
    assert str(finding).startswith("cloud_final_modules[1][1]: must be one of always, once")
    assert finding.hint == "did you mean always?"
    assert cleaned == {"cloud_final_modules": ["bootcmd", ["scripts-user"], ["ssh", "always"]]}


@pytest.mark.parametrize("name", ["ntp", "locale", "wireguard", "packages"])
def test_module_that_installs_packages_runs_after_their_sources_are_configured(name: str) -> None:
    (module,) = (module for module in registry.list_modules() if module.name == name)
    before = {earlier.module for earlier in module.after}
    assert {"bootcmd", "write_files", "apt", "ca_certs", "resolv_conf", "etc_hosts", "mounts"} <= before
    assert set(module.locks) == {"apt", "passwd"}


def test_route_to_the_platform_is_blocked_after_the_last_module_that_uses_it() -> None:
    (module,) = (module for module in registry.list_modules() if module.name == "disable_ec2_metadata")
    late = {Capability.PASSWORD_POST, Capability.CERTIFICATES, Capability.READY_POST}
    callers = {module.name for module in registry.list_modules() if (module.needs | module.uses) & late}
    assert callers == {earlier.module for earlier in module.after}
