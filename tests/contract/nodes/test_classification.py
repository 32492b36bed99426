"""Sources of classification on both databases: how they combine, and that a change enqueues a decision."""

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
from precast.store.identity.certificates import Certificate, NodeCertificates
from precast.store.nodes.classification import Classifications
from precast.store.nodes.nodes import Fleet, NodeClassification
from precast.store.queue.queue import WorkQueue
from precast.store.sessions.sessions import Sessions
from precast.wire.nodes.bodies import Classification, NodesAction, RuleBody, TargetsBody


class Site:
    """All sources of classification on a database."""

    def __init__(self, database: Database, program: Path) -> None:
        self.database = database
        self.program = program
        self.fleet, self.nodes, self.sources = Fleet(database), NodeCertificates(database), Classifications(database)
        self.work = WorkQueue(database, [DECIDE, RECLASSIFY, ASK_ENC])
        self.audit = AuditLog(database, CountedIds())
        self.classifier = Classifier(self.fleet, self.sources, self.work, has_enc=True)
        targets = TargetService(KnownNodes(database, self.fleet, Sessions(database)), database.clock)
        self.rules = RuleService(database, self.fleet, self.sources, self.classifier, targets, self.work, self.audit)
        self.enc = EncService(
            database, self.fleet, self.sources, self.classifier, self.work, program, timedelta(days=1)
        )

    async def add(self, name: str, **extensions: str) -> None:
        await self.database.write(self._add, name, extensions)

    def _add(self, name: str, extensions: dict[str, str]) -> Transaction[None]:
        now = self.database.clock.now()
        yield from self.nodes.lock_or_create(name)
        until = now.replace(year=now.year + 1)
        yield from self.nodes.add(Certificate(f"f{name}", f"5e{name}", name, f"key {name}", extensions, now, until))
        yield from self.classifier.admit(name, extensions)

    async def set(self, node: str, **values: Any) -> dict[str, Any]:
        return await self.database.write(self.classifier.set_by_operator, node, Classification(**values))

    async def classification_of(self, node: str) -> NodeClassification:
        current = await self.database.read(self.fleet.find_classification, node)
        assert current is not None
        return current

    async def waiting_keys(self, kind: str) -> list[str]:
        return [item.key for item in await self.work.list_waiting() if item.kind == kind]

    async def decided(self) -> list[str]:
        """The nodes that a decision was enqueued for since the last call."""
        claims = await self.work.claim(DECIDE.name, "test", limit=100, lease_s=60)
        for claim in claims:
            await self.work.complete(claim)
        return sorted(claim.key for claim in claims)

    def answer(self, text: str) -> None:
        """Set the answer of the external node classifier."""
        self.program.write_text(f"#!/bin/sh\n{text}\n")
        self.program.chmod(0o755)


@pytest.fixture
def site(database: Database, tmp_path: Path) -> Site:
    return Site(database, tmp_path / "enc")


async def test_operators_change_enqueues_a_decision_in_the_same_transaction(site: Site) -> None:
    await site.add("web1")
    assert await site.decided() == []
    await site.set("web1", environment="test", classes={"ntp": {"x": 1}}, parameters={"tier": "front"})
    current = await site.classification_of("web1")
    assert (current.environment, current.classes, current.parameters) == ("test", {"ntp": {"x": 1}}, {"tier": "front"})
    assert await site.decided() == ["web1"]
    assert await site.set("web1", environment="test") == {}
    assert await site.decided() == []
    assert await site.set("web1", environment=None) == {"environment": {"before": "test", "after": None}}
    assert (await site.classification_of("web1")).environment is None
    assert await site.decided() == ["web1"]


async def test_rules_are_tried_at_enrolment_and_when_they_change(site: Site) -> None:
    await site.rules.put(10, RuleBody(extensions={"pp_role": "web"}, environment="test", role="web"), "person:ann")
    await site.rules.work_off("worker")
    await site.add("web1", pp_role="web")
    await site.add("db1", pp_role="db")
    assert [(await site.classification_of(name)).role for name in ("web1", "db1")] == ["web", None]
    assert await site.decided() == ["web1"]
    await site.rules.put(5, RuleBody("*1", role="all"), "person:ann")
    assert await site.rules.work_off("worker") == 2
    assert [(await site.classification_of(name)).role for name in ("web1", "db1")] == ["all", "all"]
    assert (await site.classification_of("web1")).environment is None
    assert await site.decided() == ["db1", "web1"]
    await site.rules.remove(5, "person:ann")
    await site.rules.work_off("worker")
    assert [(await site.classification_of(name)).role for name in ("web1", "db1")] == ["web", None]
    assert [rule.number for rule in await site.rules.list_rules()] == [10]
    with pytest.raises(PrecastError) as caught:
        await site.rules.remove(5, "person:ann")
    assert caught.value.code == "NODE-008"
    audit_entries = [(entry.action, entry.target) for entry in reversed(await site.audit.read_latest())]
    assert audit_entries == [("rule.set", "10"), ("rule.set", "5"), ("rule.remove", "5")]


async def test_rules_that_change_nothing_enqueue_no_decision(site: Site) -> None:
    await site.add("web1")
    await site.set("web1", role="mine")
    await site.decided()
    await site.rules.put(10, RuleBody("web*", role="web"), "person:ann")
    await site.rules.work_off("worker")
    assert await site.decided() == []
    assert [source.source for source in await site.database.read(site.classifier.list_sources, "web1")] == [
        "operator",
        "rules",
    ]


async def test_external_classifier_is_asked_at_enrolment_and_its_answer_stays(site: Site) -> None:
    site.answer("echo 'environment: test'; echo \"parameters: {name: $1}\"")
    await site.add("web1")
    assert await site.waiting_keys("enc") == ["web1"]
    assert await site.enc.work_off("worker") == 1
    current = await site.classification_of("web1")
    assert (current.environment, current.parameters) == ("test", {"name": "web1"})
    assert await site.decided() == ["web1"]
    assert await site.enc.work_off("worker") == 0


async def test_last_answer_of_a_failing_external_classifier_stays_and_the_reason_is_shown(
    site: Site, clock: ManualClock
) -> None:
    site.answer("echo 'environment: test'")
    await site.add("web1")
    await site.enc.work_off("worker")
    await site.decided()
    site.answer("echo 'the database of nodes is away' >&2; exit 1")
    await site.rules.refresh(NodesAction(TargetsBody(["web1"])), "person:ann")
    await site.enc.work_off("worker")
    assert (await site.classification_of("web1")).environment == "test"
    assert await site.decided() == []
    (source,) = await site.database.read(site.classifier.list_sources, "web1")
    assert source.problem == "the database of nodes is away"
    assert await site.database.read(site.sources.count_problems) == 1
    # The item is retried by itself, and then the reason is cleared.
    site.answer("echo 'environment: other'")
    clock.advance(60)
    await site.enc.work_off("worker")
    (source,) = await site.database.read(site.classifier.list_sources, "web1")
    assert (source.problem, source.values.environment) == (None, "other")
    assert await site.decided() == ["web1"]


async def test_node_without_any_answer_shows_the_problem(site: Site) -> None:
    site.answer("exit 1")
    await site.add("web1")
    await site.enc.work_off("worker")
    (source,) = await site.database.read(site.classifier.list_sources, "web1")
    assert source.values.is_empty
    assert source.problem == "the process ended with exit code 1"


async def test_stale_answers_are_requested_again(site: Site, clock: ManualClock) -> None:
    site.answer("echo 'environment: test'")
    await site.add("web1")
    await site.enc.work_off("worker")
    await site.enc.work_off("worker")
    assert await site.enc.enqueue_stale() == 0
    clock.advance(2 * 86400)
    assert await site.enc.enqueue_stale() == 1
    assert await site.waiting_keys("enc") == ["web1"]


async def test_nodes_without_an_answer_are_enqueued(site: Site) -> None:
    site.answer("echo 'environment: test'")
    await site.add("web1")
    (claim,) = await site.work.claim("enc", "worker", limit=1, lease_s=60)
    await site.work.complete(claim)
    assert await site.enc.enqueue_stale() == 1


async def test_refresh_applies_the_rules_at_once_and_is_audited(site: Site) -> None:
    await site.add("web1")
    await site.rules.put(10, RuleBody("web*", role="web"), "person:ann")
    done = await site.rules.refresh(NodesAction(TargetsBody(["web1"]), "now"), "person:ann")
    assert done.touched == ["web1"]
    assert (await site.classification_of("web1")).role == "web"
    assert (await site.audit.read_latest())[0].action == "node.refresh"


async def test_answer_about_a_deleted_node_is_dropped(site: Site) -> None:
    site.answer("echo 'environment: test'")
    await site.work.enqueue(ASK_ENC.name, "gone", b"")
    assert await site.enc.work_off("worker") == 1
    assert await site.waiting_keys("enc") == []
