"""A whole boot of a Debian machine, in namespaces: from a seed or a metadata service to an enrolled node with its first catalog."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lab import debian_root, whole_boot

pytestmark = [
    pytest.mark.skipif(debian_root.why_not() is not None, reason=str(debian_root.why_not())),
    pytest.mark.needs("ip"),
    pytest.mark.timeout(400),
]


def experiment(directory: Path, name: str) -> Any:
    done = subprocess.run(whole_boot.enter(directory, name), capture_output=True, text=True, check=False, timeout=380)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def results(said: dict[str, Any]) -> dict[str, str]:
    """Return the result of each module, from the output of the boot."""
    rows = [line.split(": ") for line in said["out"].splitlines() if not line.startswith(" ")]
    return {row[0]: row[1].partition(",")[0] for row in rows if len(row) > 1}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return experiment(tmp_path_factory.mktemp("whole"), "whole")


def test_machine_is_what_its_seed_asks_for(whole: Any) -> None:
    assert (whole["first"]["code"], whole["first"]["error"]) == (0, "")
    seen = whole["seen"]
    assert "(ada)" in seen["user"]
    assert seen["is_password"]
    assert seen["keys"].strip() == whole_boot.KEY
    assert (seen["file"], seen["package"], seen["hostname"]) == ("port = 8080\n", "hello", "web1")
    assert "address 192.0.2.10/24\n    gateway 192.0.2.1\n" in seen["network"]
    assert seen["runcmd"] == "ran\n"
    assert seen["modes"] == {
        "etc/app.conf": "0640", "home/ada/.ssh/authorized_keys": "0600", "var/lib/precast/boot": "0700",
    }  # fmt: skip


def test_machine_is_a_node_with_its_first_catalog(whole: Any) -> None:
    assert whole["seen"]["motd"] == f"Welcome to {whole_boot.NODE}.\n"
    assert [node["name"] for node in whole["nodes"]] == [whole_boot.NODE]


def test_no_secret_is_in_a_file_that_others_read_or_in_what_is_said(whole: Any) -> None:
    assert whole["leaks"] == []
    assert whole_boot.PASSWORD not in whole["first"]["out"]


def test_second_boot_of_the_same_instance_does_nothing(whole: Any) -> None:
    assert whole["second"]["code"] == 0
    assert whole["changed"] == []
    assert "done" not in results(whole["second"]).values()


def test_new_instance_is_configured_again(whole: Any) -> None:
    assert whole["other"]["code"] == 0
    assert whole["other_seen"]["hostname"] == "web2"
    assert whole["other_seen"]["runcmd"] == "ran\nran\n"
    done = results(whole["other"])
    assert {done[name] for name in ("hostname", "network", "users/ada", "packages", "runcmd")} == {"done"}


def test_boot_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    result = experiment(tmp_path, "killed")
    assert (result["half"]["runcmd"], result["half"]["motd"].startswith("Welcome")) == ("begun\n", False)
    # Commands that had begun count as run, as in cloud-init, and the boot says so. What had not begun is done.
    assert result["again"]["code"] == 1
    assert {module["name"]: module["result"] for module in result["status"]["modules"]}["runcmd"] == "cut off"
    assert result["seen"]["runcmd"] == "begun\n"
    assert result["seen"]["motd"] == f"Welcome to {whole_boot.NODE}.\n"
    done = results(result["again"])
    assert done["runcmd"] == "cut off"
    assert {done[name] for name in ("hostname", "network", "users/ada", "packages")} == {"not run"}
    assert (result["retried"]["code"], result["retried_seen"]["runcmd"]) == (0, "begun\nbegun\nran\n")


def test_metadata_service_on_the_link_gives_keys_and_network(tmp_path: Path) -> None:
    result = experiment(tmp_path, "cloud")
    assert result["first"]["code"] == 0
    assert result["default_keys"].strip() == whole_boot.KEY
    assert "iface eth0 inet dhcp\n" in result["seen"]["network"]
    assert "address 10.0.0.6/20\n" in result["seen"]["network"]
    assert result["seen"]["motd"] == f"Welcome to {whole_boot.NODE}.\n"
    assert "/latest/user-data" in result["asked"]
