"""Renderers write the golden files, and the tools that read them accept them: netplan, ifupdown, NetworkManager, networkd."""

import os
import subprocess
from pathlib import Path

import pytest

from precast.boot.network.readers import documents
from precast.boot.network.renderers.rendering import PRIVATE
from tests.unit.boot.network.renderings import CASES, GOLDEN, RENDERERS, rendered

NETWORKD = Path("/lib/systemd/systemd-networkd")


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("case", CASES)
def test_rendering_is_what_the_golden_file_says(case: str, renderer: str) -> None:
    assert rendered(case, renderer) == (GOLDEN / f"{case}.{renderer}").read_text()


def put(case: str, renderer: str, root: Path) -> list[Path]:
    network = documents.read_text(case, (GOLDEN / f"{case}.yaml").read_text())
    paths = []
    for file in RENDERERS[renderer](network).files:
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text)
        path.chmod(file.mode)
        paths.append(path)
    return paths


def run(*words: str | Path, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*map(str, words)], input=stdin, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.needs("netplan")
@pytest.mark.parametrize("case", CASES)
def test_netplan_takes_our_file(case: str, tmp_path: Path) -> None:
    put(case, "netplan", tmp_path)
    done = run("netplan", "generate", "--root-dir", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.glob("run/systemd/network/10-netplan-*"))


@pytest.mark.needs("netplan")
def test_netplan_refuses_a_broken_file(tmp_path: Path) -> None:
    """The check above can fail."""
    (file,) = put("dhcp", "netplan", tmp_path)
    file.write_text(file.read_text().replace("dhcp4: true", "dhcp4: perhaps"))
    assert run("netplan", "generate", "--root-dir", tmp_path).returncode != 0


@pytest.mark.needs("ifquery")
@pytest.mark.parametrize("case", CASES)
def test_ifupdown_takes_our_file(case: str, tmp_path: Path) -> None:
    file = put(case, "eni", tmp_path)[0]
    done = run("ifquery", "--list", "--all", "--interfaces", file)
    assert (done.returncode, done.stderr) == (0, "")
    auto = [line.split()[1] for line in file.read_text().splitlines() if line.startswith("auto ")]
    assert set(auto) <= set(done.stdout.split())


@pytest.mark.needs("nmcli")
@pytest.mark.parametrize("case", CASES)
def test_network_manager_takes_our_files(case: str, tmp_path: Path) -> None:
    for file in put(case, "network-manager", tmp_path):
        if file.suffix == ".nmconnection":
            assert file.stat().st_mode & 0o777 == PRIVATE
            # Reads a connection from its input, checks it whole, and writes it out again.
            words = ("nmcli", "--offline", "connection", "modify", "connection.autoconnect-priority", "1")
            done = run(*words, stdin=file.read_text())
            assert (file.name, done.returncode, done.stderr) == (file.name, 0, "")


def networkd_says(directory: Path) -> list[str]:
    """The log of networkd, in a namespace without devices, until it has read all files of a directory."""
    script = (
        f"mount -t tmpfs none /run && mkdir -p /run/systemd /etc/systemd/network && mount --bind {directory} /etc/systemd/network"
        f" && SYSTEMD_LOG_TARGET=console SYSTEMD_LOG_LEVEL=info exec {NETWORKD}"
    )
    words = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]
    said = []
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line.strip())
            if "Enumeration completed" in line:
                break
        process.kill()
    assert "Enumeration completed" in said[-1], said
    return [line for line in said if "/etc/systemd/network/" in line]


needs_networkd = pytest.mark.skipif(
    not NETWORKD.exists() or os.geteuid() != 0, reason="needs systemd-networkd (Debian's systemd) and root"
)


@needs_networkd
@pytest.mark.parametrize("case", CASES)
def test_networkd_takes_our_files(case: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    files = put(case, "networkd", tmp_path)
    assert networkd_says(files[0].parent) == []


@needs_networkd
def test_networkd_complains_of_a_key_it_does_not_know(tmp_path: Path) -> None:
    """The check above can fail."""
    files = put("dhcp", "networkd", tmp_path)
    files[0].write_text(files[0].read_text().replace("DHCP=", "DHPC="))
    assert "Unknown key 'DHPC'" in networkd_says(files[0].parent)[0]
