"""Browser sessions on both databases: they end with their token, are limited in number, and have the role viewer."""

import secrets
from datetime import timedelta

import pytest

from precast.base.clock import ManualClock
from precast.base.errors import DeniedError, UnauthenticatedError
from precast.base.ids import CountedIds, TimeOrderedIds
from precast.services.identity.people import PeopleService
from precast.services.identity.signer.client import SignerClient
from precast.services.identity.web_sessions import MAX_OF_TOKEN, SESSION_FOR, WebSessionService
from precast.store.engine.database import Database
from precast.store.identity.audit import AuditLog
from precast.store.identity.tokens import Tokens
from precast.store.identity.web_sessions import WebSessions
from precast.wire.identity.bodies import NewPersonToken, TokenBody
from tests.contract.identity.identity_site import Site


class Browsers:
    """The service with people who have tokens."""

    def __init__(self, database: Database, signer: SignerClient) -> None:
        self.database, tokens, audit = database, Tokens(database), AuditLog(database, CountedIds())
        ids = TimeOrderedIds(database.clock)
        self.tokens = tokens
        self.people = PeopleService(database, tokens, audit, ids, secrets, signer)
        self.service = WebSessionService(database, WebSessions(database), tokens, self.people, audit, ids, secrets)

    async def token(self, role: str = "admin", valid_s: int = 30 * 86400, **more: list[str]) -> TokenBody:
        return await self.people.create(NewPersonToken("ann", role, valid_s=valid_s, **more), "system")


@pytest.fixture
def browsers(database: Database, site: Site) -> Browsers:
    return Browsers(database, site.signer)


async def test_session_has_the_role_viewer_in_the_same_environments(browsers: Browsers) -> None:
    made = await browsers.token("admin", environments=["test"])
    session = await browsers.service.begin(made.token)
    shown = await browsers.service.recognise(session.cookie)
    assert shown is not None
    assert (shown.person.name, shown.person.role, shown.person.environments) == ("ann", "viewer", ["test"])
    assert session.seconds == SESSION_FOR.total_seconds()


async def test_session_ends_by_time_by_sign_out_and_with_its_token(browsers: Browsers, clock: ManualClock) -> None:
    made = await browsers.token()
    first, second, third = [(await browsers.service.begin(made.token)).cookie for _ in range(3)]
    await browsers.service.end(first)
    assert await browsers.service.recognise(first) is None
    assert await browsers.service.recognise(second) is not None
    await browsers.database.write(browsers.tokens.revoke, made.id)
    assert await browsers.service.recognise(second) is None
    another = (await browsers.service.begin((await browsers.token()).token)).cookie
    clock.advance(SESSION_FOR.total_seconds() + 1)
    assert await browsers.service.recognise(another) is None
    assert await browsers.service.recognise(third) is None


async def test_session_lasts_no_longer_than_its_token(browsers: Browsers, clock: ManualClock) -> None:
    session = await browsers.service.begin((await browsers.token(valid_s=600)).token)
    assert session.seconds == 600
    clock.advance(timedelta(seconds=601).total_seconds())
    assert await browsers.service.recognise(session.cookie) is None


async def test_oldest_session_of_a_token_ends_when_there_are_too_many(browsers: Browsers, clock: ManualClock) -> None:
    made = await browsers.token()
    cookies = []
    for _ in range(MAX_OF_TOKEN + 2):
        clock.advance(1)
        cookies.append((await browsers.service.begin(made.token)).cookie)
    alive = [await browsers.service.recognise(cookie) is not None for cookie in cookies]
    assert alive == [False, False] + [True] * MAX_OF_TOKEN


async def test_invalid_token_begins_no_session(browsers: Browsers) -> None:
    made = await browsers.token()
    for wrong in (
        "",
        "x",
        made.token[:-1] + ("A" if made.token[-1] != "A" else "B"),
        made.token.replace("pcu1", "pce1"),
    ):
        with pytest.raises(UnauthenticatedError) as caught:
            await browsers.service.begin(wrong)
        assert caught.value.code == "AUTH-006"
    with pytest.raises(DeniedError) as denied:
        await browsers.service.begin((await browsers.token("commands")).token)
    assert denied.value.code == "AUTH-007"
    # A token is not accepted as a cookie, nor a cookie as a token.
    assert await browsers.service.recognise(made.token) is None
    assert await browsers.people.recognise((await browsers.service.begin(made.token)).cookie) is None
