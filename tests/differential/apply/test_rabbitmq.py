"""rabbitmq_plugin and rabbitmq_vhost: the module under real Puppet and Precast run the same commands, in the same order.

The commands are scripts that keep their state in files and answer as RabbitMQ 3.10 does.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from precast.agent.applying.machine import Machine
from precast.base.clock import SystemClock
from precast.catalog.envelope import seal
from precast.resources.contract import CommandResult
from tests.differential.apply.comparison import with_precast, with_puppet
from tests.unit.lang.small_manifests import compiled

MODULES = Path("/usr/share/puppet/modules")
CODE = """
rabbitmq_plugin { 'rabbitmq_management': umask => '0077' }
-> rabbitmq_plugin { 'rabbitmq_stomp': ensure => present }
-> rabbitmq_plugin { 'rabbitmq_shovel': ensure => absent }
-> rabbitmq_plugin { 'rabbitmq_top': ensure => absent }
-> rabbitmq_vhost { '/app': }
-> rabbitmq_vhost { '/': ensure => present }
-> rabbitmq_vhost { 'old': ensure => absent }
"""
PLUGINS = """#!/bin/sh
cd "$STATE" || exit 1
case $1 in
  list) cat plugins ;;
  enable) echo "$2 $(umask)" >> changes; echo "$2" >> plugins ;;
  disable) echo "$*" >> changes; grep -vx "$2" plugins > new; mv new plugins ;;
esac
"""
CONTROL = """#!/bin/sh
cd "$STATE" || exit 1
case $1 in
  -q) echo "RabbitMQ version: 3.10.8" ;;
  list_vhosts) [ "$*" = "list_vhosts -q --no-table-headers" ] || echo name; cat vhosts ;;
  add_vhost) echo "$*" >> changes; echo "$2" >> vhosts ;;
  delete_vhost) echo "$*" >> changes; grep -vx "$2" vhosts > new; mv new vhosts ;;
esac
"""


class ScriptedMachine(Machine):
    """A machine that finds the scripts instead of RabbitMQ's programs."""

    def __init__(self, state: Path, programs: Path, server: Path) -> None:
        super().__init__("", str(state), SystemClock())
        self._variables = {"PATH": f"{programs}:/usr/bin:/bin", "STATE": str(server)}

    def run(self, argv: Any, **options: Any) -> CommandResult:
        return super().run(argv, **{**options, "environment": {**options.pop("environment"), **self._variables}})


def prepare(place: Path) -> Path:
    place.mkdir()
    (place / "plugins").write_text("rabbitmq_shovel\nrabbitmq_web\n")
    (place / "vhosts").write_text("/\nold\n")
    return place


@pytest.mark.needs("ruby")
@pytest.mark.needs("puppet")
def test_commands_are_those_of_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (MODULES / "rabbitmq").is_dir():
        pytest.skip("needs puppet-module-puppetlabs-rabbitmq (a Debian package)")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("rabbitmq-plugins", PLUGINS), ("rabbitmqctl", CONTROL)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    places = (MODULES / "rabbitmq/lib/puppet").rglob("*.rb")
    body = compiled(CODE, {f"modules/{place.relative_to(MODULES)}": place.read_text() for place in places}).body
    sealed = seal(body, body.digest(), name="node", environment="production", code_id=None)
    for resource in sealed["resources"]:
        if resource["type"].startswith("Rabbitmq_"):
            resource["kind"] = "compilable_type"
    catalog = tmp_path / "catalog.json"
    catalog.write_text(json.dumps(sealed))
    puppets, own = prepare(tmp_path / "puppet"), prepare(tmp_path / "precast")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("STATE", str(puppets))
    theirs = with_puppet(tmp_path / "state", [MODULES], [catalog] * 2, [puppets] * 2)
    ours = [
        with_precast(tmp_path / "ours", [MODULES], catalog, own, ScriptedMachine(tmp_path / "ours", programs, own))
        for _ in range(2)
    ]
    for name in ("plugins", "vhosts", "changes"):
        assert (own / name).read_text() == (puppets / name).read_text()
    assert ours == theirs
    assert [len(each.changed) for each in ours] == [5, 0]
    assert "rabbitmq_management 0077" in (own / "changes").read_text()
