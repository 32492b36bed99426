"""Actions that start plans and tasks of modules, over real servers and daemons."""

import json
from pathlib import Path

from tests.e2e.plans.plan_fleet import PlanFleet


def test_plan_of_an_action_starts_and_is_followed_to_its_end(plans: PlanFleet) -> None:
    text = plans.command("action", "create", "plan", "web1", "web2", "--plan", "named", "--commands")
    assert "plan named enforce" in text
    assert "2 successful" in text
    listed = json.loads(plans.command("action", "list", "--commands", "--json"))
    assert [(action["kind"], action["due"][0]["state"]) for action in listed][:1] == [("plan", "started")]


def test_plan_with_commands_starts_at_its_time(plans: PlanFleet, tmp_path: Path) -> None:
    plan = plans.write(
        f"- {{id: touch, type: shell, roles: [web], parameters: {{cmd: 'echo done >> {tmp_path}/log'}}}}\n"
    )
    created = plans.read("action", "create", "plan", "web1", "--plan", plan, "--commands", "--at", "+1s")
    watched = plans.read("action", "watch", created["id"], "--commands")
    assert watched["run"]["counts"] == {"successful": 1}
    assert (tmp_path / "log").read_text() == "done\n"


def test_task_of_a_module_returns_json_that_is_stored(plans: PlanFleet) -> None:
    values = ["--param", "base:integer=80", "--param", "offset=8"]
    done = plans.read("action", "create", "task", "web1", "web2", "--task", "shop::port", *values)
    steps = plans.read("plan", "status", done["run"]["run"]["id"])["instances"]
    returned = {step["node"]: json.loads(step["result"]["returned"]) for step in steps}
    assert returned == {"web1": {"port": 808}, "web2": {"port": 808}}


def test_plan_or_task_that_does_not_exist_is_refused(plans: PlanFleet) -> None:
    _, error = plans.refused("action", "create", "plan", "web1", "--plan", "nothing", "--commands")
    assert "PLAN-102" in error
    code, error = plans.refused("action", "create", "task", "web1", "--task", "shop::nothing")
    assert (code, "the task shop::nothing cannot be started" in error, "ACTION-017" in error) == (64, True, True)
    assert "modules/MODULE/tasks/NAME" in error
    assert "precast plan" not in error
