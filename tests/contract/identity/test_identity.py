"""Enrolment, renewal, people and the audit log on both databases."""

import asyncio
import base64
from collections.abc import Callable

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from precast.base.clock import ManualClock
from precast.base.errors import PrecastError
from precast.services.identity.authority import NODE_FOR, Authority
from precast.services.identity.enrolment import MAX_ISSUED_PER_DAY
from precast.services.identity.issuance import GRACE_S
from precast.store.engine.query import Transaction
from precast.store.schema.tables import TABLES
from precast.wire.identity import tokens as wire
from precast.wire.identity.bodies import NewEnrolmentToken, NewPersonToken, RenewBody
from tests.contract.identity.identity_site import Site, code_of, new_key, renewal, request_of

# enrolment


async def test_enrolment_with_a_valid_token_gives_a_certificate(site: Site, clock: ManualClock) -> None:
    token = await site.token("web*", pp_role="web")
    response = await site.enrol("web1.example.com", token)
    certificate = x509.load_pem_x509_certificate(response.certificate.encode())
    assert site.authority.has_signed(certificate)
    assert response.authority == site.authority.pem
    (row,) = await site.nodes.list_certificates()
    assert row.serial == f"{certificate.serial_number:x}"
    assert (row.node, row.extensions, row.issued_at) == ("web1.example.com", {"pp_role": "web"}, clock.now())
    assert [node.name for node in await site.fleet.list()] == ["web1.example.com"]
    assert [entry[:2] for entry in await site.audit_entries()] == [
        ("person:ann", "token.create"),
        ("node:web1.example.com", "certificate.enrol"),
    ]


async def test_concurrent_enrolments_on_two_servers_consume_exactly_the_uses(site: Site, other_site: Site) -> None:
    token = await site.token(uses=5)
    attempts = [(site, other_site)[n % 2].enrol(f"node{n}", token) for n in range(12)]
    results = await asyncio.gather(*attempts, return_exceptions=True)
    denied = [result.code for result in results if isinstance(result, PrecastError)]
    assert denied == ["CA-006"] * 7
    assert len(await site.nodes.list_certificates()) == 5
    assert await site.uses_left(token) == 0
    # A denied name does not become a node either.
    assert len(await site.fleet.list()) == 5


async def test_concurrent_requests_for_one_name_are_won_by_one(site: Site, other_site: Site) -> None:
    token = await site.token(uses=10)
    results = await asyncio.gather(
        *((site, other_site)[n % 2].enrol("web1", token) for n in range(6)), return_exceptions=True
    )
    assert sorted(result.code for result in results if isinstance(result, PrecastError)) == ["CA-005"] * 5
    assert len(await site.nodes.list_certificates()) == 1
    assert await site.uses_left(token) == 9


async def test_invalid_token_gets_the_same_error_for_every_reason(site: Site, clock: ManualClock) -> None:
    over = await site.token()
    clock.advance(3600)
    revoked = await site.token()
    await site.enrolment.revoke_token(wire.parse_enrolment(revoked).id, "person:ann")
    good = wire.parse_enrolment(await site.token("web*"))
    used = await site.token()
    await site.enrol("first", used)
    cases = {
        "expired": over,
        "revoked": revoked,
        "of another name": str(good),
        "with a wrong secret": str(good._replace(secret=bytes(32))),
        "unknown": str(good._replace(id="00000000-0000-7000-8000-000000000000")),
        "used up": used,
    }
    answers = set()
    for token in cases.values():
        with pytest.raises(PrecastError) as caught:
            await site.enrol("db1", token)
        answers.add((caught.value.code, caught.value.message, caught.value.hint))
    assert {answer[0] for answer in answers} == {"CA-006"}
    assert len(answers) == 1
    assert [node.name for node in await site.fleet.list()] == ["first"]


async def test_same_key_is_answered_again_without_a_further_use(site: Site) -> None:
    token, key = await site.token(), new_key()
    first = await site.enrol("web1", token, key)
    again = await site.enrol("web1", token, key)
    assert first.certificate != again.certificate
    assert await site.uses_left(token) == 0


async def test_same_key_with_a_revoked_token_is_denied(site: Site) -> None:
    token, key = await site.token(uses=2), new_key()
    await site.enrol("web1", token, key)
    await site.enrolment.revoke_token(wire.parse_enrolment(token).id, "person:ann")
    assert await code_of(site.enrol("web1", token, key)) == "CA-006"


async def test_same_key_with_a_used_up_token_of_other_extensions_gets_none_of_them(site: Site) -> None:
    powerful, key = await site.token(pp_role="vault"), new_key()
    await site.enrol("vault1", powerful)
    await site.enrol("web1", await site.token(pp_role="web"), key)
    assert await code_of(site.enrol("web1", powerful, key)) == "CA-005"
    assert [row.extensions for row in await site.nodes.list_certificates() if row.node == "web1"] == [
        {"pp_role": "web"}
    ]


async def test_other_key_for_a_live_name_is_refused_until_it_is_cleaned(site: Site, clock: ManualClock) -> None:
    token = await site.token(uses=3)
    await site.enrol("web1", token)
    assert await code_of(site.enrol("web1", token)) == "CA-005"
    assert await site.uses_left(token) == 2
    (serial,) = await site.enrolment.clean("web1", "person:ann", "made anew")
    await site.enrol("web1", token)
    rows = {row.serial: row.revoked_why for row in await site.nodes.list_certificates()}
    assert len(rows) == 2
    assert rows[serial] == "made anew"


@pytest.mark.parametrize("name", ["nobody", "../x", "a\0b", "*"])
async def test_revocation_of_an_unknown_name_is_not_found(site: Site, name: str) -> None:
    assert await code_of(site.enrolment.revoke(name, "person:ann", "")) == "NODE-001"
    assert await site.audit_entries() == []


@pytest.mark.parametrize("text", ["a\0b", "line\nend", "\x1b[2J"])
async def test_text_with_a_control_character_is_refused_before_it_is_stored(site: Site, text: str) -> None:
    await site.enrol("web1", await site.token())
    before = await site.audit_entries()
    attempts: list[object] = [
        site.enrolment.revoke("web1", "person:ann", text),
        site.people.create(NewPersonToken(text, "viewer"), "system"),
        site.people.create(NewPersonToken("ann", "viewer", [text]), "system"),
        site.token(text),
        site.token(pp_role=text),
    ]
    assert [await code_of(attempt) for attempt in attempts] == ["AUTH-005"] * 5
    assert await site.audit_entries() == before


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (NewEnrolmentToken("*", {"role": "x"}), "AUTH-004"),
        (NewEnrolmentToken("*", {"pp_role": "x" * 501}), "AUTH-002"),
        (NewEnrolmentToken("*", uses=0), "AUTH-002"),
        (NewEnrolmentToken("*", uses=10**30), "AUTH-002"),
        (NewEnrolmentToken("*", valid_s=-1), "AUTH-002"),
        (NewEnrolmentToken(""), "AUTH-002"),
    ],
)
async def test_enrolment_token_beyond_the_limits_is_refused(site: Site, wanted: NewEnrolmentToken, code: str) -> None:
    assert await code_of(site.enrolment.create_token(wanted, "person:ann")) == code
    assert await site.tokens.list_enrolment_tokens() == []


# renewal


async def test_renewal_by_proof_gives_the_same_name_and_extensions_to_the_new_key(site: Site) -> None:
    key, new = new_key(), new_key()
    old = (await site.enrol("web1", await site.token(pp_role="web"), key)).certificate
    response = await site.enrolment.renew(renewal(key, old, new, "web1"))
    assert x509.load_pem_x509_certificate(response.certificate.encode()).public_key() == new.public_key()
    assert [row.extensions for row in await site.nodes.list_certificates()] == [{"pp_role": "web"}] * 2
    assert (await site.audit_entries())[-1] == ("node:web1", "certificate.renew", "web1")


async def test_renewal_is_granted_until_the_grace_period_ends(site: Site, clock: ManualClock) -> None:
    key = new_key()
    old = (await site.enrol("web1", await site.token(), key)).certificate
    clock.advance(NODE_FOR.total_seconds() + GRACE_S - 1)
    await site.enrolment.renew(renewal(key, old, new_key(), "web1"))
    clock.advance(1)
    assert await code_of(site.enrolment.renew(renewal(key, old, new_key(), "web1"))) == "CA-007"


async def test_renewal_without_a_valid_proof_is_denied(site: Site, clock: ManualClock) -> None:
    key = new_key()
    old = (await site.enrol("web1", await site.token(), key)).certificate
    other = (await site.enrol("web2", await site.token())).certificate
    foreign = Authority.new(clock.now())
    strange = foreign.sign_node(x509.load_pem_x509_csr(request_of(key, "web1").encode()), clock.now(), {})
    good = renewal(key, old, new_key(), "web1")
    bad: dict[str, RenewBody] = {
        "another's certificate": renewal(key, other, new_key(), "web2"),
        "wrong key": renewal(new_key(), old, new_key(), "web1"),
        "other name": renewal(key, old, new_key(), "web2"),
        "foreign authority": renewal(key, strange.public_bytes(serialization.Encoding.PEM).decode(), new_key(), "web1"),
        "authority itself": renewal(key, site.authority.pem, new_key(), "web1"),
        "proof of another request": RenewBody(request_of(new_key(), "web1"), old, good.proof),
        "no base64": RenewBody(good.request, old, "ü"),
        "empty proof": RenewBody(good.request, old, ""),
        "no certificate": RenewBody(good.request, "x", good.proof),
    }
    codes = {name: await code_of(site.enrolment.renew(body)) for name, body in bad.items()}
    assert codes == dict.fromkeys(bad, "CA-007")
    await site.enrolment.renew(good)


async def test_certificates_of_a_node_are_limited_by_day_also_with_two_servers(
    site: Site, other_site: Site, clock: ManualClock
) -> None:
    key = new_key()
    first = (await site.enrol("web1", await site.token(), key)).certificate
    results = await asyncio.gather(
        *(
            (site, other_site)[number % 2].enrolment.renew(renewal(key, first, new_key(), "web1"))
            for number in range(MAX_ISSUED_PER_DAY + 4)
        ),
        return_exceptions=True,
    )
    assert [result.code for result in results if isinstance(result, PrecastError)] == ["CA-017"] * 5
    assert len(await site.nodes.list_certificates()) == MAX_ISSUED_PER_DAY
    # Another node is not concerned, and the node itself gets its certificate the next day.
    await site.enrol("web2", await site.token())
    clock.advance(86400)
    await site.enrolment.renew(renewal(key, first, new_key(), "web1"))


async def test_repeated_enrolments_of_one_key_are_limited(site: Site) -> None:
    key, token = new_key(), await site.token()
    for _ in range(MAX_ISSUED_PER_DAY):
        await site.enrol("web1", token, key)
    assert await code_of(site.enrol("web1", token, key)) == "CA-017"


async def test_renewal_after_revocation_is_denied(site: Site) -> None:
    key = new_key()
    old = (await site.enrol("web1", await site.token(), key)).certificate
    await site.enrolment.revoke("web1", "person:ann", "")
    assert await code_of(site.enrolment.renew(renewal(key, old, new_key(), "web1"))) == "CA-007"


# audit


async def test_audit_entry_exists_exactly_if_the_operation_is_committed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await site.token()
    before = await site.audit_entries()
    add: Callable[..., Transaction[None]] = site.nodes.add

    def fail(*arguments: object) -> Transaction[None]:
        yield from add(*arguments)
        raise ZeroDivisionError

    monkeypatch.setattr(site.nodes, "add", fail)
    key = new_key()  # a machine keeps its key: the signer has counted its use of the token already
    with pytest.raises(ZeroDivisionError):
        await site.enrol("web1", token, key)
    assert (await site.audit_entries(), await site.fleet.list(), await site.uses_left(token)) == (before, [], 1)

    def fail_audit(*arguments: object, **detail: object) -> Transaction[None]:
        raise ZeroDivisionError
        yield

    monkeypatch.setattr(site.nodes, "add", add)
    monkeypatch.setattr(site.audit, "add", fail_audit)
    with pytest.raises(ZeroDivisionError):
        await site.enrol("web1", token, key)
    assert (await site.nodes.list_certificates(), await site.uses_left(token)) == ([], 1)


# people


async def test_person_is_recognised_until_the_token_expires(site: Site, clock: ManualClock) -> None:
    made = await site.people.create(NewPersonToken("ann", "operator", ["test"], valid_s=60), "system")
    who = await site.people.recognise(made.token)
    assert who is not None
    assert (who.name, who.role, who.environments, who.actor) == ("ann", "operator", ["test"], "person:ann")
    clock.advance(60)
    assert await site.people.recognise(made.token) is None


async def test_person_with_a_revoked_token_is_not_recognised(site: Site) -> None:
    made = await site.people.create(NewPersonToken("ann", "viewer"), "system")
    await site.enrolment.revoke_token(made.id, "person:bob")
    assert await site.people.recognise(made.token) is None
    assert await code_of(site.enrolment.revoke_token(made.id, "person:bob")) == "AUTH-003"
    assert [entry[:2] for entry in await site.audit_entries()] == [
        ("system", "token.create"),
        ("person:bob", "token.revoke"),
    ]


async def test_unknown_token_and_wrong_secret_get_the_same_answer(site: Site) -> None:
    made = wire.parse_person((await site.people.create(NewPersonToken("ann", "viewer"), "system")).token)
    assert await site.people.recognise(str(made._replace(secret=bytes(32)))) is None
    assert await site.people.recognise(str(made._replace(id="00000000-0000-7000-8000-000000000000"))) is None


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (NewPersonToken("ann", "root"), "AUTH-001"),
        (NewPersonToken("", "viewer"), "AUTH-002"),
        (NewPersonToken("a" * 101, "viewer"), "AUTH-002"),
        (NewPersonToken("ann", "viewer", valid_s=0), "AUTH-002"),
    ],
)
async def test_person_token_beyond_the_limits_is_refused(site: Site, wanted: NewPersonToken, code: str) -> None:
    assert await code_of(site.people.create(wanted, "system")) == code
    assert await site.tokens.list_person_tokens() == []


# secrets


def everything() -> Transaction[list[object]]:
    values: list[object] = []
    for table in TABLES:
        for row in (yield table.first_page(1000)):
            values += list(row)
    return values


async def test_database_contains_no_secret(site: Site) -> None:
    token = await site.token()
    person = (await site.people.create(NewPersonToken("ann", "admin"), "system")).token
    await site.enrol("web1", token)
    values = await site.database.read(everything)
    stored = b"\n".join(value if isinstance(value, bytes) else str(value).encode() for value in values)
    ids = [wire.parse_enrolment(token).id, wire.parse_person(person).id]
    assert all(id_.encode() in stored for id_ in ids)
    for text, secret in (
        (token, wire.parse_enrolment(token).secret),
        (person, wire.parse_person(person).secret),
    ):
        for form in (secret, secret.hex().encode(), text.split(".")[2].encode(), base64.b64encode(secret)):
            assert form not in stored
