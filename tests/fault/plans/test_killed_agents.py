"""Agents killed at random moments of tasks, alone and with everything that they have started: no attempt has its effect twice.

A task whose process was killed is answered as interrupted; what its daemon alone was killed for goes on. Each attempt appends at most one
line, and after enough resumes every task has succeeded, in the order of the plan.
"""

import contextlib
import itertools
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.agent_process import AgentProcess
from tests.e2e.jobs.run_fleet import Fleet, running_fleet
from tests.fault.jobs.failing_servers import make_chance

NODES = ("web1", "web2")
TASKS = ("one", "two", "three")
ROUNDS = 6
LONG_ROUNDS = int(os.environ.get("PRECAST_AGENT_KILLS", "100"))
DEADLINE_S = 120.0


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with running_fleet(tmp_path_factory.mktemp("fleet"), "class profile { notify { 'hello': } }\n") as created:
        yield created


def plan_text(log: Path) -> str:
    """Three tasks in their order, each over both nodes. The shell appends each line with one system call."""
    lines = ["- {id: both, type: group, roles: ['*']}"]
    for before, task in zip(("", *TASKS), TASKS, strict=False):
        waits = f"cross_depends: [{{name: {before}}}], " if before else ""
        command = f"sleep 0.2; echo {task} $(basename $PWD) >> {log}; sleep 0.2"
        lines.append(f"- {{id: {task}, type: shell, roles: ['*'], {waits}parameters: {{cmd: '{command}'}}}}")
    return "\n".join(lines) + "\n"


def children_of(pid: int) -> list[int]:
    """All processes below one, those of other sessions too."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for parent in found:
        found += [child for child, above in parents.items() if above == parent]
    return found[1:]


def kill(agent: AgentProcess, *, with_children: bool) -> None:
    """Kill a daemon, with everything below it or alone, and start it again."""
    assert agent.process is not None
    below = children_of(agent.process.pid) if with_children else []
    agent.kill()
    for pid in below:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    agent.start()


def show(fleet: Fleet, run: str, token: str) -> Any:
    return fleet.read("plan", "status", run, token=token)


def until_ended(fleet: Fleet, run: str, token: str) -> Any:
    end_s = time.monotonic() + DEADLINE_S
    while (answer := show(fleet, run, token))["run"]["run"]["ended_at"] is None:
        assert time.monotonic() < end_s, answer
    return answer


def kill_agents_during_plans(fleet: Fleet, directory: Path, rounds: int, chance: random.Random) -> None:
    log, plan, token = directory / "log", directory / "plan.yaml", fleet.token(f"kim{chance.randrange(10**6)}")
    plan.write_text(plan_text(log))
    words = ["plan", "start", str(plan), "--nodes", ",".join(NODES), "--detach"]
    run = fleet.read(*words, token=token)["run"]["run"]["id"]
    killed = Counter[str]()
    for _ in range(rounds):
        time.sleep(chance.uniform(0, 1.5))
        with_children = chance.random() < 0.6
        kill(fleet.agents[chance.choice(NODES)], with_children=with_children)
        killed["with its tasks" if with_children else "alone"] += 1
        if show(fleet, run, token)["run"]["run"]["ended_at"] is not None:
            answer = show(fleet, run, token)
            if answer["run"]["counts"] == {"successful": len(TASKS) * len(NODES)}:
                break
            fleet.command("plan", "resume", run, "--detach", token=token)
    answer = finish(fleet, run, token)
    expect_effects(log, answer)
    print(f"\nkilled: {dict(killed)}")


def finish(fleet: Fleet, run: str, token: str) -> Any:
    """Resume the run until everything has succeeded; returns its last view."""
    for _ in range(len(TASKS) + 1):
        answer = until_ended(fleet, run, token)
        if answer["run"]["counts"] == {"successful": len(TASKS) * len(NODES)}:
            return answer
        reasons = {instance.get("reason") for instance in answer["instances"] if instance["state"] == "failed"}
        assert reasons == {"interrupted"}, answer
        fleet.command("plan", "resume", run, "--detach", token=token)
    raise AssertionError(answer)


def expect_effects(log: Path, answer: Any) -> None:
    """No attempt has its effect twice, each task its effect, and none before the one it waits for."""
    lines = [tuple(line.split()) for line in log.read_text().splitlines()]
    for instance in answer["instances"]:
        count = lines.count((instance["task"], instance["node"]))
        assert 1 <= count <= instance.get("attempt", 1), (instance, lines)
    tasks = [task for task, _ in lines]
    for before, task in itertools.pairwise(TASKS):
        assert {node for name, node in lines[: tasks.index(task)] if name == before} == {*NODES}, lines
        assert before not in tasks[tasks.index(task) :], lines


@pytest.mark.timeout(400)
def test_tasks_have_their_effect_once_though_agents_are_killed(fleet: Fleet, tmp_path: Path) -> None:
    kill_agents_during_plans(fleet, tmp_path, ROUNDS, make_chance())


@pytest.mark.soak
@pytest.mark.timeout(6 * 3600)
def test_tasks_have_their_effect_once_for_long(fleet: Fleet, tmp_path: Path) -> None:
    chance = make_chance()
    for number in range(LONG_ROUNDS // ROUNDS):
        (tmp_path / str(number)).mkdir()
        kill_agents_during_plans(fleet, tmp_path / str(number), ROUNDS, chance)
