"""Runs of plans over real daemons: order over nodes, tests before and after, failures, resume."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.jobs.run_fleet import Fleet
from tests.e2e.plans.plan_fleet import PlanFleet


@pytest.fixture(scope="module")
def fleet(plans: PlanFleet) -> Fleet:
    return plans.fleet


def write_plan(fleet: Fleet, name: str, text: str) -> str:
    path = fleet.site.directory / f"{name}.yaml"
    path.write_text(text)
    return str(path)


def instances_of(answer: Any) -> dict[str, Any]:
    return {f"{instance['task']} on {instance['node']}": instance for instance in answer["instances"]}


def test_start_prints_the_warnings_of_its_plan(plans: PlanFleet) -> None:
    misspelt = "- {id: one, type: skipped, roles: [web], test_pre: {fact: os.name}, requires: [onee]}\n"
    output = plans.command("plan", "start", plans.write(misspelt), "--nodes", "web1")
    assert "warning: task one names onee in requires; it matches no task, so the dependency is dropped" in output
    assert "done: 1 successful" in output
    many = "".join(
        f"- {{id: t{n}, type: skipped, roles: [web], test_pre: {{fact: os.name}}, requires: [none{n}]}}\n"
        for n in range(12)
    )
    output = plans.command("plan", "start", plans.write(many), "--nodes", "web1", "--detach")
    assert output.count("warning: ") == 10
    assert "2 more warnings; the same `precast plan start` with --dry-run prints all" in output


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


def test_run_is_drawn_by_states_and_its_tasks_are_explained(fleet: Fleet) -> None:
    token = fleet.token("ann-views")
    plan = write_plan(
        fleet,
        "views",
        """
- {id: both, type: group, roles: ['*']}
- id: fine
  type: shell
  roles: ['*']
  condition: {yaql_exp: '$.name != "web2"'}
  parameters: {cmd: 'true'}
- id: broken
  type: shell
  roles: ['*']
  requires: [fine]
  parameters: {cmd: 'true'}
  test_post: {cmd: 'false'}
""",
    )
    run = fleet.read("plan", "start", plan, "--nodes", "web1,web2", token=token, code=4)["run"]["run"]["id"]
    picture = fleet.command("plan", "draw", "--run", run, token=token)
    assert "1 successful, 1 skipped" in picture
    assert "2 failed" in picture
    assert "1 skipped" in fleet.command("plan", "draw", "--run", run, "--node", "web2", token=token)
    told = fleet.command("plan", "explain", "broken", "--run", run, token=token)
    assert "on web1: failed, post-test" in told
    told = fleet.command("plan", "explain", "fine", "--run", run, token=token)
    assert 'on web2: skipped, condition, its condition is false\n  saw name: "web2"' in told
