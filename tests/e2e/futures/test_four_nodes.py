"""Four nodes with a real server and real agents: a database promises its endpoint, two web nodes use it, a load balancer gathers both."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.server_process import PRECAST
from tests.e2e.jobs.run_fleet import Fleet, running_fleet, state_of, steps_of

pytestmark = pytest.mark.timeout(300)

NODES = ("db1", "lb1", "web1", "web2")
# All say why within so many seconds of a failure of the database; the deadlines of the futures are far later.
EXPLAINED_S = 30.0
PROFILE = """class profile {
  case $trusted['certname'] {
    'db1': {
      file { '/srv/data/ready': content => 'x' }
      promise { 'db/endpoint': value => {'host' => 'db1', 'port' => 5432}, require => File['/srv/data/ready'] }
    }
    'lb1': {
      $template = '<% $backends.keys.sort.each |$name| { -%><%= $name %> <%= $backends[$name] %>; <% } -%>'
      file { '/etc/lb.conf':
        content => Deferred('inline_epp', [$template, {'backends' => futures('web/endpoint', {timeout => 200})}]),
      }
    }
    default: {
      file { '/etc/app.conf': content => "db = ${future('db/endpoint', {timeout => 200})}\\n" }
      file { '/etc/other': content => 'x' }
      promise { 'web/endpoint': value => "${trusted['certname']}:80", require => File['/etc/app.conf'] }
    }
  }
}
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("futures"), PROFILE, nodes=NODES) as created:
        yield created


def root(fleet: Fleet, node: str) -> Path:
    return fleet.agents[node].root


def value(fleet: Fleet, node: str, key: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PRECAST, "value", "get", key, "--root", root(fleet, node), *words], capture_output=True, text=True, timeout=60
    )


def test_no_op_run_fulfils_nothing_and_waits_for_nothing(fleet: Fleet) -> None:
    began_s = time.monotonic()
    fleet.read("run", *NODES, "--noop")
    assert time.monotonic() - began_s < EXPLAINED_S
    assert value(fleet, "web1", "db/endpoint").returncode == 1
    assert not (root(fleet, "web1") / "etc/app.conf").exists()


def test_all_four_nodes_start_at_once_and_have_each_others_values(fleet: Fleet) -> None:
    (root(fleet, "db1") / "srv/data").mkdir(parents=True, exist_ok=True)
    answer = fleet.read("run", *NODES, "--why", "all at once")
    assert {node: state_of(step) for node, step in steps_of(answer).items()} == dict.fromkeys(NODES, "COMPLETED")
    for name in ("web1", "web2"):
        assert (root(fleet, name) / "etc/app.conf").read_text() == "db = {host => db1, port => 5432}\n"
    assert (root(fleet, "lb1") / "etc/lb.conf").read_text() == "web1 web1:80; web2 web2:80; "


def test_standing_values_are_there_for_programs_on_the_node(fleet: Fleet) -> None:
    waited = value(fleet, "web1", "db/endpoint", "--wait", "--timeout", "30")
    assert json.loads(waited.stdout) == {"host": "db1", "port": 5432}
    both = value(fleet, "lb1", "web/endpoint", "--json")
    assert json.loads(both.stdout) == {"key": "web/endpoint", "values": {"web1": "web1:80", "web2": "web2:80"}}
    assert value(fleet, "lb1", "web/endpoint", "--node", "web2").stdout == "web2:80\n"
    several = value(fleet, "lb1", "web/endpoint")
    assert (several.returncode, several.stderr.count("\n")) == (1, 1)
    assert "2 nodes have promised web/endpoint: web1, web2" in several.stderr
    absent = value(fleet, "db1", "db/endpoint")
    assert absent.returncode == 1
    assert "needs no values of other nodes" in absent.stderr


def test_failed_producer_is_explained_by_all_who_wait_within_seconds(fleet: Fleet) -> None:
    shutil.rmtree(root(fleet, "db1") / "srv/data")
    began_s = time.monotonic()
    answer = fleet.read("run", *NODES, "--why", "the database fails", code=4)
    assert time.monotonic() - began_s < EXPLAINED_S
    assert {node: state_of(step) for node, step in steps_of(answer).items()} == dict.fromkeys(NODES, "FAILED(failed)")
    for name, expected in (
        ("web1", r"there will be no value of db/endpoint, promised by db1: .*File\[/srv/data/ready\]"),
        ("lb1", r"web/endpoint is needed of 2 of 2 nodes, and \d failed: web\d: .*File\[/etc/app.conf\]"),
    ):
        report = steps_of(answer)[name]["report"]
        shown = fleet.command("report", "show", report, code=4)
        assert re.search(expected, shown), shown
    assert (root(fleet, "web1") / "etc/app.conf").read_text() == "db = {host => db1, port => 5432}\n"
