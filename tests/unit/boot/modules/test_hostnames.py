"""The machine's name, below a root."""

from pathlib import Path
from typing import Any

import pytest

from precast.boot.capabilities import Capability
from tests.unit.boot.modules import scratch

ONLY = ("hostname", "etc_hosts")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return scratch.make_root(tmp_path)


@pytest.mark.parametrize(
    ("config", "source", "name"),
    [
        ({"hostname": "web"}, "other.example.com", "web"),
        ({"fqdn": "web.example.com"}, None, "web"),
        ({"hostname": "short", "fqdn": "web.example.com"}, None, "short"),
        ({"fqdn": "web.example.com", "prefer_fqdn_over_hostname": True}, None, "web.example.com"),
        ({"hostname": "web.example.com"}, None, "web"),
        ({}, "cloud-7.internal", "cloud-7"),
        ({"hostname": 12}, None, "12"),
    ],
)
def test_name_in_the_configuration_wins_over_the_data_sources_name(
    root: Path, config: dict[str, Any], source: str | None, name: str
) -> None:
    scratch.run(config, root, values={Capability.HOSTNAME: source} if source else {}, only=ONLY)
    assert (root / "etc/hostname").read_text() == f"{name}\n"


@pytest.mark.parametrize(
    "config", [{"hostname": "web", "preserve_hostname": True}, {}, {"hostname": "bad name"}, {"hostname": "../../x"}]
)
def test_name_stays_unchanged(root: Path, config: dict[str, Any]) -> None:
    ran = scratch.run(config, root, only=ONLY)
    assert not (root / "etc/hostname").exists()
    assert ran.outcomes["hostname"].remark


def test_hosts_file_is_written_or_only_its_line(root: Path) -> None:
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n127.0.1.1 old\n10.0.0.1 other\n")
    for _ in range(2):
        scratch.run({"fqdn": "web.example.com", "manage_etc_hosts": "localhost"}, root, only=ONLY)
        lines = (root / "etc/hosts").read_text().splitlines()
        assert lines == ["127.0.0.1 localhost", "127.0.1.1 old", "127.0.1.1 web.example.com web", "10.0.0.1 other"]
    scratch.run({"fqdn": "web.example.com", "manage_etc_hosts": True}, root, only=ONLY)
    text = (root / "etc/hosts").read_text()
    assert "127.0.1.1 web.example.com web\n127.0.0.1 localhost\n" in text
    assert "10.0.0.1" not in text
    scratch.run({"fqdn": "new.example.com", "manage_etc_hosts": False}, root, only=ONLY)
    assert (root / "etc/hosts").read_text() == text


@pytest.mark.parametrize("setting", [True, "template"])
@pytest.mark.parametrize(
    "template",
    ["## template:jinja\n{# a note -#}\n127.0.1.1 {{fqdn}} {{hostname}}\n192.0.2.1 gateway\n",
     "127.0.1.1 $fqdn ${hostname}\n192.0.2.1 gateway\n"],
)  # fmt: skip
def test_hosts_file_comes_from_the_template_of_the_image(root: Path, setting: Any, template: str) -> None:
    (root / "etc/cloud/templates").mkdir(parents=True)
    (root / "etc/cloud/templates/hosts.debian.tmpl").write_text(template)
    scratch.run({"fqdn": "web.example.com", "manage_etc_hosts": setting}, root, only=ONLY)
    assert (root / "etc/hosts").read_text() == "127.0.1.1 web.example.com web\n192.0.2.1 gateway\n"


def test_invalid_template_of_the_image_is_reported_and_the_default_is_written(root: Path) -> None:
    (root / "etc/cloud/templates").mkdir(parents=True)
    (root / "etc/cloud/templates/hosts.debian.tmpl").write_text("## template:jinja\n{% nonsense %}\n")
    ran = scratch.run({"fqdn": "web.example.com", "manage_etc_hosts": True}, root, only=ONLY)
    assert "127.0.1.1 web.example.com web\n" in (root / "etc/hosts").read_text()
    assert any("hosts.debian.tmpl is not used" in warning for warning in ran.warnings)


def test_full_name_is_the_data_sources_if_the_configuration_has_only_a_short_one(root: Path) -> None:
    values = {Capability.HOSTNAME: "node7.cloud.example"}
    scratch.run({"hostname": "web", "manage_etc_hosts": True}, root, only=ONLY, values=values)
    assert (root / "etc/hostname").read_text() == "web\n"
    assert "127.0.1.1 node7.cloud.example web\n" in (root / "etc/hosts").read_text()


def test_invalid_name_is_reported_and_the_data_sources_name_stays(root: Path) -> None:
    config = {"hostname": "${hostname}", "manage_etc_hosts": True}
    ran = scratch.run(config, root, only=ONLY, values={Capability.HOSTNAME: "node7"})
    assert (root / "etc/hostname").read_text() == "node7\n"
    assert "'${hostname}' is not a valid host name" in ran.warnings
