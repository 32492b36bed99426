"""Two people for a release, on both databases: granted once, for exactly what was approved, by people who count."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from lab.compile_services import CompileServices
from precast.base.clock import ManualClock, SystemClock
from precast.base.errors import PrecastError
from precast.base.ids import CountedIds, TimeOrderedIds
from precast.services.approvals import approvals as approvals_module
from precast.services.approvals.approvals import VALID, ApprovalService, Participant, RequestBook
from precast.services.catalogs.approved_releases import RELEASE, ApprovedReleases
from precast.services.catalogs.release_service import ReleaseService
from precast.services.catalogs.releases import Releases
from precast.services.query.known_nodes import KnownNodes
from precast.services.query.targets import TargetService
from precast.services.work_kinds import DECIDE
from precast.store.approvals.approvals import Approvals
from precast.store.engine.database import Database
from precast.store.identity.audit import AuditEntry, AuditLog
from precast.store.identity.tokens import PersonToken, Tokens
from precast.store.nodes.nodes import NodeClassification
from precast.store.sessions.sessions import Sessions
from precast.wire.approvals.bodies import DecisionBody
from precast.wire.catalogs.bodies import PendingApproval, ReleaseBody, ReleaseDone, RollbackBody
from precast.wire.nodes.bodies import TargetsBody

ALL = ReleaseBody(TargetsBody(all=True), why="new motd")
NO_WHY = DecisionBody()
ANN, BOB, CLEO = (Participant(f"person:{name}", "operator", (), f"token-of-{name}") for name in ("ann", "bob", "cleo"))


def code(motd: str) -> dict[str, str]:
    return {"manifests/site.pp": f"file {{ '/etc/motd': content => '{motd}' }}\n"}


class Site(CompileServices):
    """The services of one server. Ids are in the order of time, also those of two servers."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        ids = TimeOrderedIds(SystemClock())
        audit = AuditLog(database, ids)
        releases = Releases(database, self.catalogs, self.environments, audit, self.publisher)
        requests = RequestBook(database, Approvals(), audit, ids)
        approved = ApprovedReleases(self.catalogs, self.environments, releases, requests)
        targets = TargetService(KnownNodes(database, self.fleet, Sessions(database)), database.clock)
        self.releases = ReleaseService(database, self.catalogs, self.environments, targets, releases, approved)
        self.approvals = ApprovalService(database, Approvals(), Tokens(database), audit, {RELEASE: approved})

    async def need(self, count: int) -> None:
        await self.database.write(self.environments.set_release_approvals, "production", count)

    async def request(self, by: Participant = ANN, body: ReleaseBody = ALL) -> PendingApproval:
        (pending,) = (await self.releases.release(body, by.actor, by.token)).pending
        return pending

    async def served(self, node: str) -> str | None:
        release = await self.database.read(self.catalogs.released.find_served, node)
        return None if release is None else release.digest

    async def actions(self) -> list[str]:
        return [entry.action for entry in reversed(await self.audited())]

    async def audited(self) -> list[AuditEntry]:
        return await AuditLog(self.database, CountedIds()).read_latest()

    async def add_token(self, participant: Participant) -> None:
        at = self.database.clock.now() + timedelta(days=365)
        token = PersonToken(participant.token, b"hash", participant.actor, "operator", [], at, b"seal")
        await self.database.write(Tokens(self.database).add_person_token, token, "test")


@pytest.fixture
async def site(database: Database) -> AsyncIterator[Site]:
    made = Site(database)
    await made.deploy(code("one"))
    for name in ("web1", "web2"):
        await made.introduce(name)
        await made.submit(name, {"os": {"family": "Debian"}}, {})
    await made.settle()
    yield made
    await made.close()


async def code_of(attempt: object) -> str:
    with pytest.raises(PrecastError) as caught:
        await attempt  # type: ignore[misc] # any awaitable
    return caught.value.code


async def test_release_without_the_setting_needs_nobody(site: Site) -> None:
    done = await site.releases.release(ALL, ANN.actor)
    assert done == ReleaseDone(["web1", "web2"], [], {}, release=1, targets=2)


async def test_release_waits_for_another_person_and_happens_with_the_last_approval(site: Site) -> None:
    await site.need(2)
    done = await site.releases.release(ALL, ANN.actor, ANN.token)
    assert (done.released, [(each.environment, each.needed, each.nodes) for each in done.pending]) == (
        [],
        [("production", 2, 2)],
    )
    request = done.pending[0].request
    assert await site.served("web1") is None
    view = await site.approvals.approve(request, DecisionBody("looks fine"), BOB)
    assert (view.state, view.approvals, view.nodes) == ("open", 1, ["web1", "web2"])
    assert await site.served("web1") is None
    view = await site.approvals.approve(request, NO_WHY, CLEO)
    assert (view.state, view.outcome) == ("granted", "released to 2 nodes")
    assert await site.served("web1") == (await site.staged("web1")).digest
    release = await site.database.read(site.catalogs.released.find_served, "web1")
    assert release is not None
    assert release.released_by == ANN.actor
    assert await site.actions() == [
        "approval.request", "approval.approve", "approval.approve", "catalog.release", "approval.grant",
    ]  # fmt: skip
    (released,) = [entry for entry in await site.audited() if entry.action == "catalog.release"]
    assert released.detail["approved_by"] == [BOB.actor, CLEO.actor]
    assert released.detail["request"] == request


async def test_requester_cannot_approve_not_even_by_a_second_token_or_another_spelling(site: Site) -> None:
    await site.need(1)
    request = (await site.request()).request
    spellings = ("person:Ann", "person: ann", "person:ann ", "person:ANN")
    for same in (ANN, ANN._replace(token="second"), *(ANN._replace(actor=actor) for actor in spellings)):
        assert await code_of(site.approvals.approve(request, NO_WHY, same)) == "APPROVAL-003"
    assert await site.served("web1") is None


async def test_each_person_counts_once_whatever_token_they_use(site: Site) -> None:
    await site.need(2)
    request = (await site.request()).request
    await site.approvals.approve(request, NO_WHY, BOB)
    for again in (BOB, BOB._replace(token="another"), BOB._replace(actor="person:BOB")):
        assert await code_of(site.approvals.approve(request, NO_WHY, again)) == "APPROVAL-004"
    assert await site.served("web1") is None


async def test_changed_staged_catalog_makes_the_request_void(site: Site) -> None:
    await site.need(1)
    request = (await site.request()).request
    await site.deploy(code("another"))
    await site.settle()
    view = await site.approvals.approve(request, NO_WHY, BOB)
    assert (view.state, view.outcome) == ("void", "what would be done has changed since it was requested")
    assert await site.served("web1") is None
    assert await code_of(site.approvals.approve(request, NO_WHY, CLEO)) == "APPROVAL-002"
    # A new request is for the new catalogs.
    view = await site.approvals.approve((await site.request()).request, NO_WHY, BOB)
    assert view.state == "granted"


async def test_catalog_that_was_released_meanwhile_makes_the_request_void(site: Site) -> None:
    await site.need(1)
    first, second = await site.request(), await site.request(CLEO, ReleaseBody(TargetsBody(["web1"])))
    assert (await site.approvals.approve(second.request, NO_WHY, BOB)).state == "granted"
    assert (await site.approvals.approve(first.request, NO_WHY, BOB)).state == "void"
    assert await site.served("web2") is None


async def test_two_last_approvals_at_once_release_once(site: Site, other_database: Database) -> None:
    await site.need(1)
    request = (await site.request()).request
    other = Site(other_database)
    outcomes = await asyncio.gather(
        site.approvals.approve(request, NO_WHY, BOB),
        other.approvals.approve(request, NO_WHY, CLEO),
        return_exceptions=True,
    )
    await other.close()
    errors = [outcome for outcome in outcomes if isinstance(outcome, PrecastError)]
    assert [error.code for error in errors] == ["APPROVAL-002"]
    history = await site.database.read(site.catalogs.released.list_releases, "web1", 10)
    assert [release.number for release in history] == [1]
    assert (await site.actions()).count("catalog.release") == 1


async def test_two_of_two_approvals_at_once_release_once(site: Site, other_database: Database) -> None:
    await site.need(2)
    request = (await site.request()).request
    other = Site(other_database)
    views = await asyncio.gather(
        site.approvals.approve(request, NO_WHY, BOB), other.approvals.approve(request, NO_WHY, CLEO)
    )
    await other.close()
    assert sorted(view.state for view in views) == ["granted", "open"]
    assert (await site.actions()).count("catalog.release") == 1


async def test_expired_request_cannot_be_approved(site: Site, clock: ManualClock) -> None:
    await site.need(1)
    pending = await site.request()
    clock.advance(VALID.total_seconds())
    assert (await site.approvals.show(pending.request, ())).state == "expired"
    assert await code_of(site.approvals.approve(pending.request, NO_WHY, BOB)) == "APPROVAL-002"
    assert (await site.request()).request != pending.request


async def test_approval_of_a_token_that_was_revoked_does_not_count(site: Site) -> None:
    await site.need(2)
    for participant in (ANN, BOB, CLEO):
        await site.add_token(participant)
    request = (await site.request()).request
    await site.approvals.approve(request, NO_WHY, BOB)
    await site.database.write(Tokens(site.database).revoke, BOB.token)
    assert (await site.approvals.approve(request, NO_WHY, CLEO)).state == "open"
    assert await site.served("web1") is None
    dan = Participant("person:dan", "admin", ("production",), "t")
    assert (await site.approvals.approve(request, NO_WHY, dan)).state == "granted"


async def test_request_of_a_token_that_was_revoked_is_void(site: Site) -> None:
    await site.need(1)
    await site.add_token(ANN)
    request = (await site.request()).request
    await site.database.write(Tokens(site.database).revoke, ANN.token)
    assert (await site.approvals.approve(request, NO_WHY, BOB)).state == "void"
    assert await site.served("web1") is None


async def test_rejected_or_withdrawn_request_is_over(site: Site) -> None:
    await site.need(1)
    request = (await site.request()).request
    assert await code_of(site.approvals.withdraw(request, NO_WHY, BOB)) == "APPROVAL-005"
    assert await code_of(site.approvals.reject(request, NO_WHY, ANN)) == "APPROVAL-003"
    assert (await site.approvals.reject(request, DecisionBody("not now"), BOB)).state == "rejected"
    assert await code_of(site.approvals.approve(request, NO_WHY, CLEO)) == "APPROVAL-002"
    request = (await site.request()).request
    assert (await site.approvals.withdraw(request, NO_WHY, ANN)).state == "withdrawn"
    assert await code_of(site.approvals.approve(request, NO_WHY, CLEO)) == "APPROVAL-002"


async def test_role_and_environment_decide_who_may_approve(site: Site) -> None:
    await site.need(1)
    request = (await site.request()).request
    viewer, stranger = BOB._replace(role="viewer"), BOB._replace(environments=("other",))
    assert await code_of(site.approvals.approve(request, NO_WHY, viewer)) == "APPROVAL-008"
    assert await code_of(site.approvals.approve(request, NO_WHY, stranger)) == "APPROVAL-001"
    assert await code_of(site.approvals.show(request, ("other",))) == "APPROVAL-001"
    assert await site.approvals.list_page(("other",), "") == []
    assert [view.id for view in await site.approvals.list_page(("production",), "")] == [request]


async def test_approval_for_a_digest_approves_only_that(site: Site) -> None:
    await site.need(1)
    pending = await site.request()
    assert await code_of(site.approvals.approve(pending.request, DecisionBody(digest="0" * 64), BOB)) == "APPROVAL-007"
    assert (await site.approvals.approve(pending.request, DecisionBody(digest=pending.digest), BOB)).state == "granted"


async def test_same_request_again_is_the_same_and_requests_are_bounded(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approvals_module, "MAX_OPEN", 2)
    await site.need(1)
    first = await site.request()
    assert (await site.request()).request == first.request
    await site.request(BOB)
    assert await code_of(site.request(CLEO)) == "APPROVAL-006"


async def test_unknown_request_is_not_found(site: Site) -> None:
    assert await code_of(site.approvals.approve("nothing", NO_WHY, BOB)) == "APPROVAL-001"


async def test_environments_without_approvals_are_released_at_once(site: Site) -> None:
    """One release over two environments releases what may be released, and requests the rest."""
    await site.need(1)
    await site.deploy(code("free"), "staging")
    classification = NodeClassification("staging", None, True, {}, {})
    await site.database.write(site.fleet.set_classification, "web2", classification)
    await site.submit("web2", {"os": {"family": "Debian"}, "moved": 1}, {})
    await site.settle()
    assert (await site.staged("web2")).environment == "staging"
    done = await site.releases.release(ALL, ANN.actor)
    assert (done.released, [pending.nodes for pending in done.pending]) == (["web2"], [1])


async def test_rollback_serves_what_was_served_before_without_approval(site: Site) -> None:
    await site.releases.release(ALL, ANN.actor)
    before = await site.served("web1")
    await site.deploy(code("two"))
    await site.settle()
    await site.releases.release(ALL, ANN.actor)
    await site.need(1)
    done = await site.releases.rollback(RollbackBody(TargetsBody(["web1"])), ANN.actor)
    assert (done.released, await site.served("web1")) == (["web1"], before)


async def move(site: Site, name: str, environment: str) -> None:
    classification = NodeClassification(environment, None, True, {}, {})
    await site.database.write(site.fleet.set_classification, name, classification)
    await site.work.enqueue(DECIDE.name, name, b"")
    await site.settle()
    assert (await site.staged(name)).environment == environment


async def test_node_that_is_moved_away_keeps_what_people_approved_until_they_approve_more(site: Site) -> None:
    """An operator alone may move a node; what replaces an approved catalog needs approval wherever it comes from."""
    await site.releases.release(ALL, ANN.actor)
    await site.need(1)
    before = await site.served("web2")
    await site.deploy(code("mine"), "staging")
    await move(site, "web2", "staging")
    (pending,) = (await site.releases.release(ALL, ANN.actor, ANN.token)).pending
    assert (pending.environment, pending.nodes, await site.served("web2")) == ("production", 1, before)
    assert (await site.approvals.approve(pending.request, NO_WHY, BOB)).state == "granted"
    assert await site.served("web2") != before


async def test_automatic_environment_does_not_replace_what_people_approved(site: Site) -> None:
    await site.releases.release(ALL, ANN.actor)
    await site.need(1)
    before = await site.served("web2")
    await site.deploy(code("mine"), "staging")
    await site.database.write(site.environments.set_policy, "staging", "automatic")
    await move(site, "web2", "staging")
    assert await site.served("web2") == before


async def test_rollback_does_not_lead_to_another_environment_where_approvals_are_needed(site: Site) -> None:
    await site.deploy(code("mine"), "staging")
    await move(site, "web2", "staging")
    await site.releases.release(ALL, ANN.actor)
    await move(site, "web2", "production")
    await site.releases.release(ALL, ANN.actor)
    before = await site.served("web2")
    await site.need(1)
    done = await site.releases.rollback(RollbackBody(TargetsBody(["web2"])), ANN.actor)
    assert (done.released, await site.served("web2")) == ([], before)
    await site.need(0)
    done = await site.releases.rollback(RollbackBody(TargetsBody(["web2"])), ANN.actor)
    assert done.released == ["web2"]


async def test_more_approvals_that_are_needed_meanwhile_are_needed_for_open_requests_too(site: Site) -> None:
    await site.need(1)
    request = (await site.request()).request
    await site.need(2)
    assert (await site.approvals.approve(request, NO_WHY, BOB)).state == "open"
    assert await site.served("web1") is None
    assert (await site.approvals.approve(request, NO_WHY, CLEO)).state == "granted"


async def test_same_catalogs_of_other_code_make_the_request_void(site: Site) -> None:
    """People approved a version of the code: what else it contains, such as plug-ins, may be another."""
    await site.need(1)
    request = (await site.request()).request
    await site.deploy({**code("one"), "modules/a/facts.d/evil.sh": "#!/bin/sh"})
    await site.settle()
    state = (await site.approvals.approve(request, NO_WHY, BOB)).state
    assert (state, await site.served("web1")) == ("void", None)


@pytest.mark.parametrize(
    "name", ["\uff41nn", "a\u3164nn", "ann\u2800", "ANN", "\u212bnn-\u00c5", "ann\ufe0f", "ﬀ"], ids=ascii
)
def test_name_that_only_looks_another_is_the_same_person(name: str) -> None:
    plain = {"\u212bnn-\u00c5": "a\u030ann-\u00e5", "ﬀ": "FF"}.get(name, "ann")
    assert Participant(f"person:{name}", "", ()).person == Participant(f"person:{plain}", "", ()).person
