"""A plan that runs commands starts only with the role for commands, and on nodes that allow commands: otherwise nothing is started."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.jobs.run_fleet import Fleet, running_fleet

PLAN = "- {id: one, type: shell, roles: ['*'], parameters: {cmd: 'echo it ran'}}\n"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("consent"), "class profile { notify { 'hello': } }\n") as created:
        yield created


@pytest.fixture
def plan(fleet: Fleet) -> str:
    path = fleet.site.directory / "one.yaml"
    path.write_text(PLAN)
    return str(path)


def test_plan_that_runs_commands_needs_the_role(fleet: Fleet, plan: str) -> None:
    answer = fleet.command("plan", "start", plan, "--nodes", "web1", code=77)
    assert (
        "the tasks one run commands, which needs the role commands for all environments; nothing was started" in answer
    )
    assert fleet.read("plan", "list") == []


def test_plan_is_refused_whole_if_one_node_allows_no_commands(fleet: Fleet, plan: str) -> None:
    token = fleet.token("ann-consent")
    answer = fleet.command("plan", "start", plan, "--nodes", "web1,web3", code=64, token=token)
    assert "the plan would run commands on nodes that allow none (1), the first: one on web3" in answer
    assert fleet.read("plan", "list") == []


def test_node_that_allows_commands_since_now_says_so_by_itself(fleet: Fleet, plan: str) -> None:
    token = fleet.token("ann-later")
    with fleet.down("web3"):
        settings: Path = fleet.site.directory / "nodes/web3/etc/precast/agent.toml"
        settings.write_text("allow_exec = true\n")
    fleet.agents["web3"].until_settled()
    wanted = ("facts", "show", "web3", "precast_agent.allow_exec")
    assert fleet.until_true(lambda: "= true" in fleet.command(*wanted))
    answer = fleet.read("plan", "start", plan, "--nodes", "web1,web3", token=token)
    assert answer["run"]["counts"] == {"successful": 2}
