"""Runs of plans over real daemons: order over nodes, tests before and after, failures, resume."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.jobs.run_fleet import Fleet, running_fleet

PROFILE = """
class profile {
  file { "${facts['precast_test_root']}": ensure => absent }
}
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    directory = tmp_path_factory.mktemp("plans")
    with running_fleet(directory, "class profile { notify { 'hello': } }\n") as created:
        yield created


def write_plan(fleet: Fleet, name: str, text: str) -> str:
    path = fleet.site.directory / f"{name}.yaml"
    path.write_text(text)
    return str(path)


def instances_of(answer: Any) -> dict[str, Any]:
    return {f"{instance['task']} on {instance['node']}": instance for instance in answer["instances"]}


def test_plan_over_two_nodes_follows_its_order_and_gates(fleet: Fleet, tmp_path: Path) -> None:
    token, log = fleet.token("ann-order"), tmp_path / "log"
    plan = write_plan(
        fleet,
        "order",
        f"""
- id: first
  type: shell
  roles: ['*']
  parameters: {{cmd: 'echo first $(hostname) >> {log}'}}
  test_pre: {{cmd: 'test ! -e {tmp_path}/no'}}
  test_post: {{cmd: 'grep -q first {log}'}}
- id: second
  type: shell
  roles: ['*']
  cross_depends: [{{name: first}}]
  parameters: {{cmd: 'echo second >> {log}'}}
""",
    )
    answer = fleet.read("plan", "start", plan, "--nodes", "web1,web2", token=token)
    assert answer["run"]["counts"] == {"successful": 4}
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["first", "first", "second", "second"]
