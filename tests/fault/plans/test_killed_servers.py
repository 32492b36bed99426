"""Servers killed and paused at random moments while plans run over light agents: every run ends as an undisturbed one.

What the agents have written, flush by flush, is the log of effects: no task begins before what it waits for has ended everywhere, no node
has two tasks at once, a task is at work on no more nodes than its amount, and nothing is carried out twice.
"""

import os
import random
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from lab import fleet
from lab.postgres import PostgresServer
from precast.wire.jobs.order_ids import parse_order_id
from precast.wire.jobs.orders import TASK_ENDED, TASK_PHASE, TaskEnded, TaskPhase
from precast.wire.sessions import Record
from tests.fault.jobs.failing_servers import Person, disturb, failing_sites, make_chance, restarted, until

NODES = 12
RUNS = 2
AMOUNT, AT_ONCE = 2, 3
LOOK = "type: skipped, roles: ['*'], test_pre: {fact: os.name}"
# Each task waits for the one before it on all nodes, but the second of them for that on its own node.
PLAN = f"""
- {{id: fetch, {LOOK}}}
- {{id: unpack, {LOOK}, requires: [fetch]}}
- {{id: migrate, {LOOK}, cross_depends: [{{name: unpack}}], parameters: {{strategy: {{type: parallel, amount: {AMOUNT}}}}}}}
- {{id: switch, {LOOK}, cross_depends: [{{name: migrate}}]}}
"""
FETCH, UNPACK, MIGRATE, SWITCH = 1, 2, 3, 4
LONG_ROUNDS = int(os.environ.get("PRECAST_PLAN_KILLS", "40"))


class Effect(NamedTuple):
    """A task that a node has carried out."""

    job: str
    task: int
    node: str
    began_at: datetime
    ended_at: datetime


def read_effects(directory: Path) -> list[Effect]:
    """What an agent has written, in its order. Fails if two tasks overlap, or one is begun or ended twice."""
    effects: list[Effect] = []
    begun: dict[str, datetime] = {}
    for line in (directory / "orders").read_bytes().splitlines():
        record = msgspec.json.decode(line, type=Record)
        if record.kind == TASK_PHASE:
            phase = msgspec.json.decode(record.body, type=TaskPhase)
            begun.setdefault(phase.order, phase.at)
            assert list(begun) == [phase.order], f"{directory.name} has two tasks at once"
        elif record.kind == TASK_ENDED:
            ended = msgspec.json.decode(record.body, type=TaskEnded)
            parsed = parse_order_id(ended.order)
            assert parsed is not None
            effects.append(Effect(parsed.job, parsed.task, directory.name, begun.pop(ended.order), ended.at))
    assert not begun
    return effects


def expect_order(effects: list[Effect]) -> None:
    """Check one run: each task once on each node, in the order of the plan, and no more at once than the amount."""
    assert Counter((effect.task, effect.node) for effect in effects).most_common(1)[0][1] == 1
    by_task: dict[int, list[Effect]] = defaultdict(list)
    for effect in effects:
        by_task[effect.task].append(effect)
    for task, needed in ((MIGRATE, UNPACK), (SWITCH, MIGRATE)):
        last_at = max(effect.ended_at for effect in by_task[needed])
        assert all(effect.began_at >= last_at for effect in by_task[task])
    fetched = {effect.node: effect.ended_at for effect in by_task[FETCH]}
    assert all(effect.began_at >= fetched[effect.node] for effect in by_task[UNPACK])
    for effect in by_task[MIGRATE]:
        at_once = [other for other in by_task[MIGRATE] if other.began_at <= effect.began_at < other.ended_at]
        assert len(at_once) <= AMOUNT


def run_plans_while_servers_fail(
    directory: Path, database: str | None, count: int, rounds: int, chance: random.Random
) -> None:
    plan, names, done, runs = directory / "plan.yaml", fleet.names(NODES), Counter[str](), list[str]()
    plan.write_text(PLAN)
    with failing_sites(directory, database, count, NODES) as sites:
        person = Person(sites)
        for number in range(rounds):
            if number % 2 == 0 and len(runs) < RUNS:
                words = ["--nodes", "node*", "--at-once", str(AT_ONCE), "--detach"]
                started = person.call("plan", "start", "--json", str(plan), *words)
                runs.append(started["run"]["run"]["id"])
            done[disturb(sites, chance)] += 1
        until(lambda: all(person.view("plan", "status", run, "--json")["run"]["run"]["ended_at"] for run in runs))
    with restarted(sites[0]):
        for run in runs:
            view = person.view("plan", "status", run, "--json")["run"]
            assert (view["run"]["state"], view["counts"]) == ("done", {"successful": 4 * NODES})
    effects = [effect for name in names for effect in read_effects(directory / "nodes" / name)]
    for run in runs:
        of_run = [effect for effect in effects if effect.job == run]
        assert len(of_run) == 4 * NODES
        expect_order(of_run)
    print(f"\n{RUNS} plans on {NODES} nodes of {count} servers, which were {dict(done)}")


@pytest.mark.timeout(600)
def test_plans_keep_their_order_though_their_server_is_killed(tmp_path: Path) -> None:
    run_plans_while_servers_fail(tmp_path, None, 1, 4, make_chance())


@pytest.mark.timeout(600)
def test_plans_keep_their_order_though_one_of_two_servers_is_killed_or_paused(tmp_path: Path) -> None:
    with PostgresServer(is_in_memory=True) as server:
        run_plans_while_servers_fail(tmp_path, server.url(server.create_database()), 2, 4, make_chance())


@pytest.mark.soak
@pytest.mark.timeout(6 * 3600)
def test_plans_keep_their_order_for_long(tmp_path: Path) -> None:
    run_plans_while_servers_fail(tmp_path, None, 1, LONG_ROUNDS, make_chance())


@pytest.mark.soak
@pytest.mark.timeout(6 * 3600)
def test_plans_on_two_servers_keep_their_order_for_long(tmp_path: Path) -> None:
    with PostgresServer() as server:
        run_plans_while_servers_fail(tmp_path, server.url(server.create_database()), 2, LONG_ROUNDS, make_chance())
