"""A type in Ruby from its environment to a node: staged, released, fetched by digest, refused without a policy, applied with one."""

import json
import time
from pathlib import Path

import pytest

from lab import ruby_module
from lab.private_machine import MISSING, PrivateMachine
from lab.site import Site
from precast.resources.bridge.installation import find_puppet

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(bool(MISSING), reason=MISSING or "available"),
    pytest.mark.skipif(find_puppet() is None, reason="needs a Puppet (Debian: puppet-agent)"),
]


def test_type_in_ruby_is_applied_on_a_node_whose_policy_trusts_code(tmp_path: Path) -> None:
    code, store = tmp_path / "code", tmp_path / "cells.json"
    ruby_module.write_module(code / "modules")
    (code / "manifests").mkdir()
    (code / "manifests/site.pp").write_text(
        f"bridge_cell {{ 'a': ensure => present, store => '{store}', value => 'ONE' }}\n"
    )
    with Site(tmp_path / "site") as site:
        site.run("env", "deploy", "production", "--from", str(code))
        machine = PrivateMachine(tmp_path / "node", site.environment)
        assert (
            machine.precast(
                "agent", "enrol", "--token", site.run("token", "enrol", "web")["token"], "--name", "web"
            ).returncode
            == 0
        )
        assert machine.precast("agent", "facts").returncode == 0
        _release(machine)
        assert machine.precast("agent", "fetch").returncode == 0
        looked = json.loads(machine.precast("agent", "apply", "--reason", "released", "--json").stdout)
        assert (looked["summary"]["skipped"], store.exists()) == (1, False)
        site.run("node", "policy", "set", "web", "--enforce", "always")
        assert machine.precast("agent", "fetch").returncode == 0
        applied = json.loads(machine.precast("agent", "apply", "--reason", "released", "--json").stdout)
    (report,) = applied["resources"]
    assert (report["status"], report["applied_by"][:8]) == ("changed", "Puppet 7")
    assert json.loads(store.read_text()) == {"a": {"value": "one"}}


def _release(machine: PrivateMachine) -> None:
    end_s = time.monotonic() + 60
    while time.monotonic() < end_s:
        done = machine.precast("release", "web", "--json")
        if done.returncode == 0 and json.loads(done.stdout)["released"]:
            return
    raise AssertionError(machine.precast("catalog", "errors").stdout)
