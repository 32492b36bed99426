"""Sources of classification on both databases: what is said, what follows, and that the node is decided anew."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.base.ids import CountedIds
from precast.services.nodes.classification import Classifier
from precast.services.nodes.enc import EncService
from precast.services.nodes.rules import RuleService
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.work_kinds import ASK_ENC, DECIDE, RECLASSIFY
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.audit import AuditLog
from precast.store.identity.certificates import Certificate, Nodes
from precast.store.nodes.classification import Classifications
from precast.store.nodes.nodes import Fleet, Said
from precast.store.queue.queue import WorkQueue
from precast.store.sessions.sessions import Sessions
from precast.wire.nodes.bodies import Classification, NodesDeed, RuleBody, TargetsBody


class House:
    """Everybody who says what nodes are, on a database."""

    def __init__(self, database: Database, program: Path) -> None:
        self.database = database
        self.program = program
        self.fleet, self.nodes, self.said = Fleet(database), Nodes(database), Classifications(database)
        self.work = WorkQueue(database, [DECIDE, RECLASSIFY, ASK_ENC])
        self.audit = AuditLog(database, CountedIds())
        self.classifier = Classifier(self.fleet, self.said, self.work, has_enc=True)
        targets = TargetService(KnownNodes(database, self.fleet, Sessions(database)), database.clock)
        self.rules = RuleService(database, self.fleet, self.said, self.classifier, targets, self.work, self.audit)
        self.enc = EncService(database, self.fleet, self.said, self.classifier, self.work, program, timedelta(days=1))

    async def add(self, name: str, **extensions: str) -> None:
        await self.database.write(self._adding, name, extensions)

    def _adding(self, name: str, extensions: dict[str, str]) -> Transaction[None]:
        now = self.database.clock.now()
        yield from self.nodes.taking(name)
        until = now.replace(year=now.year + 1)
        yield from self.nodes.adding(Certificate(f"5e{name}", name, f"key {name}", extensions, now, until))
        yield from self.classifier.admitting(name, extensions)

    async def set(self, node: str, **values: Any) -> dict[str, Any]:
        return await self.database.write(self.classifier.setting, node, Classification(**values))

    async def is_said(self, node: str) -> Said:
        found = await self.database.read(self.fleet.said, node)
        assert found is not None
        return found

    async def waiting(self, kind: str) -> list[str]:
        return [one.key for one in await self.work.waiting() if one.kind == kind]

    async def decided(self) -> list[str]:
        """Whom the question was asked for since the last time."""
        claims = await self.work.claim(DECIDE.name, "test", limit=100, lease_s=60)
        for claim in claims:
            await self.work.complete(claim)
        return sorted(claim.key for claim in claims)

    def answer(self, text: str) -> None:
        """What the external classifier says from now on."""
        self.program.write_text(f"#!/bin/sh\n{text}\n")
        self.program.chmod(0o755)


@pytest.fixture
def house(database: Database, tmp_path: Path) -> House:
    return House(database, tmp_path / "enc")


async def test_what_an_operator_says_is_decided_anew_in_the_same_transaction(house: House) -> None:
    await house.add("web1")
    assert await house.decided() == []
    await house.set("web1", environment="test", classes={"ntp": {"x": 1}}, parameters={"tier": "front"})
    said = await house.is_said("web1")
    assert (said.environment, said.classes, said.parameters) == ("test", {"ntp": {"x": 1}}, {"tier": "front"})
    assert await house.decided() == ["web1"]
    assert await house.set("web1", environment="test") == {}
    assert await house.decided() == []
    assert await house.set("web1", environment=None) == {"environment": {"before": "test", "after": None}}
    assert (await house.is_said("web1")).environment is None
    assert await house.decided() == ["web1"]


async def test_rules_are_tried_at_enrolment_and_when_they_change(house: House) -> None:
    await house.rules.put(10, RuleBody(extensions={"pp_role": "web"}, environment="test", role="web"), "person:ann")
    await house.rules.work_off("worker")
    await house.add("web1", pp_role="web")
    await house.add("db1", pp_role="db")
    assert [(await house.is_said(name)).role for name in ("web1", "db1")] == ["web", None]
    assert await house.decided() == ["web1"]
    await house.rules.put(5, RuleBody("*1", role="all"), "person:ann")
    assert await house.rules.work_off("worker") == 2
    assert [(await house.is_said(name)).role for name in ("web1", "db1")] == ["all", "all"]
    assert (await house.is_said("web1")).environment is None
    assert await house.decided() == ["db1", "web1"]
    await house.rules.remove(5, "person:ann")
    await house.rules.work_off("worker")
    assert [(await house.is_said(name)).role for name in ("web1", "db1")] == ["web", None]
    assert [one.number for one in await house.rules.everything()] == [10]
    with pytest.raises(PrecastError) as caught:
        await house.rules.remove(5, "person:ann")
    assert caught.value.code == "NODE-008"
    deeds = [(one.action, one.target) for one in reversed(await house.audit.latest())]
    assert deeds == [("rule.set", "10"), ("rule.set", "5"), ("rule.remove", "5")]


async def test_rules_that_change_nothing_decide_nobody_anew(house: House) -> None:
    await house.add("web1")
    await house.set("web1", role="mine")
    await house.decided()
    await house.rules.put(10, RuleBody("web*", role="web"), "person:ann")
    await house.rules.work_off("worker")
    assert await house.decided() == []
    assert [one.source for one in await house.database.read(house.classifier.sources, "web1")] == [
        "operator",
        "rules",
    ]


async def test_external_classifier_is_asked_at_enrolment_and_its_answer_stays(house: House) -> None:
    house.answer("echo 'environment: test'; echo \"parameters: {name: $1}\"")
    await house.add("web1")
    assert await house.waiting("enc") == ["web1"]
    assert await house.enc.work_off("worker") == 1
    said = await house.is_said("web1")
    assert (said.environment, said.parameters) == ("test", {"name": "web1"})
    assert await house.decided() == ["web1"]
    assert await house.enc.work_off("worker") == 0


async def test_external_classifier_that_fails_keeps_its_last_answer_and_the_reason_is_shown(
    house: House, clock: ManualClock
) -> None:
    house.answer("echo 'environment: test'")
    await house.add("web1")
    await house.enc.work_off("worker")
    await house.decided()
    house.answer("echo 'the database of nodes is away' >&2; exit 1")
    await house.rules.refresh(NodesDeed(TargetsBody(["web1"])), "person:ann")
    await house.enc.work_off("worker")
    assert (await house.is_said("web1")).environment == "test"
    assert await house.decided() == []
    (source,) = await house.database.read(house.classifier.sources, "web1")
    assert source.problem == "the database of nodes is away"
    assert await house.database.read(house.said.problems) == 1
    # It is tried again by itself, and then the reason is gone.
    house.answer("echo 'environment: other'")
    clock.advance(60)
    await house.enc.work_off("worker")
    (source,) = await house.database.read(house.classifier.sources, "web1")
    assert (source.problem, source.saying.environment) == (None, "other")
    assert await house.decided() == ["web1"]


async def test_node_about_which_nothing_was_ever_said_shows_the_problem(house: House) -> None:
    house.answer("exit 1")
    await house.add("web1")
    await house.enc.work_off("worker")
    (source,) = await house.database.read(house.classifier.sources, "web1")
    assert source.saying.is_empty
    assert source.problem == "it ended with 1"


async def test_answers_that_became_old_are_asked_for_again(house: House, clock: ManualClock) -> None:
    house.answer("echo 'environment: test'")
    await house.add("web1")
    await house.enc.work_off("worker")
    await house.enc.work_off("worker")
    assert await house.enc.ask_again() == 0
    clock.advance(2 * 86400)
    assert await house.enc.ask_again() == 1
    assert await house.waiting("enc") == ["web1"]


async def test_nodes_that_nobody_asked_about_are_asked_about(house: House) -> None:
    house.answer("echo 'environment: test'")
    await house.add("web1")
    (claim,) = await house.work.claim("enc", "worker", limit=1, lease_s=60)
    await house.work.complete(claim)
    assert await house.enc.ask_again() == 1


async def test_refresh_holds_against_the_rules_at_once_and_is_noted(house: House) -> None:
    await house.add("web1")
    await house.rules.put(10, RuleBody("web*", role="web"), "person:ann")
    done = await house.rules.refresh(NodesDeed(TargetsBody(["web1"]), "now"), "person:ann")
    assert done.touched == ["web1"]
    assert (await house.is_said("web1")).role == "web"
    assert (await house.audit.latest())[0].action == "node.refresh"


async def test_saying_of_a_node_that_is_gone_is_dropped(house: House) -> None:
    house.answer("echo 'environment: test'")
    await house.work.enqueue(ASK_ENC.name, "gone", b"")
    assert await house.enc.work_off("worker") == 1
    assert await house.waiting("enc") == []
