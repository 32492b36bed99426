"""Routes about environments and their content. The first ones that a token for some environments opens."""

import asyncio
from collections.abc import AsyncIterator

from aiohttp import web

from precast.api.http import issues as api_issues
from precast.api.http.ranges import send_content
from precast.api.http.routes import ENVIRONMENT, OWN, Call, Content, Route, Routes, person
from precast.base import digests
from precast.services import issues as service_issues
from precast.services.code import issues as issues
from precast.services.code.content import ContentService
from precast.services.code.environments import EnvironmentService, check_name
from precast.store.code.blobs import Blobs
from precast.store.engine.database import Database
from precast.wire.code.environments import (
    DeployAnswer,
    DeployBody,
    DifferenceAnswer,
    EnvironmentRow,
    EnvironmentView,
    MissingAnswer,
    MissingBody,
    ReceivedAnswer,
    ReleasePolicyBody,
    RollbackBody,
)

# Between two parts of a body.
STALL_S = 30.0
# To read and check a large tree takes its time.
DEPLOY_S = 280.0
_TEXT = (service_issues.BAD_VALUE, service_issues.UNPRINTABLE)


class EnvironmentsApi:
    """Joins environments and their content to their routes."""

    def __init__(self, database: Database, environments: EnvironmentService, content: ContentService) -> None:
        self._database = database
        self._blobs = Blobs(database)
        self._environments = environments
        self._content = content

    def declare(self, routes: Routes) -> None:
        viewer, operator = person("viewer", ENVIRONMENT), person("operator", ENVIRONMENT)
        place = "/v1/environments/{environment}"
        unknown = (issues.NO_ENVIRONMENT, issues.NO_VERSION, issues.MISSING_CONTENT)
        tree = (issues.BAD_TREE, issues.TREE_TOO_LARGE)
        for route in (
            Route(
                "GET",
                "/v1/environments",
                self.list,
                person("viewer", OWN),
                "All environments by name, as far as the token goes",
                list[EnvironmentRow],
                query=("after",),
            ),
            Route("GET", place, self.show, viewer, "An environment and its versions", EnvironmentView, errors=unknown),
            Route(
                "POST",
                f"{place}/missing",
                self.missing,
                operator,
                "Which content has to be sent",
                MissingAnswer,
                body=MissingBody,
                errors=(issues.BAD_DIGESTS, issues.BAD_NAME),
            ),
            Route(
                "POST",
                f"{place}/content",
                self.receive,
                operator,
                "Send contents, before each its sha256 (32 bytes) and its size (8 bytes, the highest first)",
                ReceivedAnswer,
                errors=(
                    *(issues.BAD_NAME, issues.WRONG_CONTENT, issues.CONTENT_TOO_LARGE),
                    *(issues.CONTENT_CUT_OFF, issues.NO_ROOM, api_issues.TOO_SLOW),
                ),
                is_stream=True,
            ),
            Route(
                "GET",
                f"{place}/content/{{digest}}",
                self.give,
                viewer,
                "Content of a file of the environment",
                Content,
                errors=(issues.NO_CONTENT,),
                is_stream=True,
            ),
            Route(
                "POST",
                f"{place}/versions",
                self.deploy,
                operator,
                "Make a tree current, once its manifest and its files were sent",
                DeployAnswer,
                body=DeployBody,
                errors=(
                    *(issues.BAD_NAME, issues.BROKEN_TREE, issues.CHECK_FAILED, issues.BAD_COMMIT),
                    *(issues.MISSING_CONTENT, issues.DEPLOYED_MEANWHILE, *tree, *_TEXT),
                ),
                limit_s=DEPLOY_S,
            ),
            Route(
                "POST",
                f"{place}/rollbacks",
                self.roll_back,
                operator,
                "Make an earlier version current again",
                DeployAnswer,
                body=RollbackBody,
                errors=(*unknown, issues.BAD_NAME, issues.DEPLOYED_MEANWHILE, *_TEXT),
            ),
            Route(
                "POST",
                f"{place}/policies",
                self.set_policy,
                operator,
                "Say what happens with what was compiled",
                EnvironmentRow,
                body=ReleasePolicyBody,
                errors=(issues.BAD_POLICY, issues.NO_ENVIRONMENT),
            ),
            Route(
                "GET",
                f"{place}/difference",
                self.differ,
                viewer,
                "Which files differ between two versions",
                DifferenceAnswer,
                query=("before", "after"),
                errors=(*unknown, issues.NO_NUMBER),
            ),
        ):
            routes.add(route)

    async def list(self, call: Call) -> list[EnvironmentRow]:
        return await self._environments.everyone(call.query.get("after", ""), call.environments)

    async def show(self, call: Call) -> EnvironmentView:
        return await self._environments.show(call.path["environment"])

    async def missing(self, call: Call) -> MissingAnswer:
        check_name(call.path["environment"])
        return MissingAnswer(await self._content.missing(call.body.digests))

    async def receive(self, call: Call) -> ReceivedAnswer:
        check_name(call.path["environment"])
        return ReceivedAnswer(await self._content.receive(_parts(call.body)))

    async def give(self, call: Call) -> web.StreamResponse:
        """Only what a version of this environment names: absent and denied look alike."""
        name, digest, request = call.path["environment"], call.path["digest"], call.body
        if not digests.is_digest(digest) or not await self._environments.is_of(name, digest):
            raise issues.NO_CONTENT.error()
        size = (await self._database.read(self._blobs.sizes, [digest])).get(digest)
        if size is None:
            raise issues.NO_CONTENT.error()
        return await send_content(request, self._blobs, digest, size)

    async def deploy(self, call: Call) -> DeployAnswer:
        return await self._environments.deploy(call.path["environment"], call.body, call.actor)

    async def roll_back(self, call: Call) -> DeployAnswer:
        return await self._environments.roll_back(call.path["environment"], call.body, call.actor)

    async def set_policy(self, call: Call) -> EnvironmentRow:
        return await self._environments.set_policy(call.path["environment"], call.body.policy, call.actor)

    async def differ(self, call: Call) -> DifferenceAnswer:
        before, after = (_number(call.query.get(name, "0")) for name in ("before", "after"))
        return await self._environments.differ(call.path["environment"], before, after)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise issues.NO_NUMBER.error(text=repr(text[:80]))
    return int(text)


async def _parts(request: web.BaseRequest) -> AsyncIterator[bytes]:
    """A body as it comes; whoever stops sending is not waited for."""
    try:
        while True:
            async with asyncio.timeout(STALL_S):
                part = await request.content.readany()
            if not part:
                return
            yield part
    except TimeoutError:
        raise api_issues.TOO_SLOW.error(limit_s=STALL_S) from None
    except (web.RequestPayloadError, ConnectionError):
        raise issues.CONTENT_CUT_OFF.error(reason="the connection ended") from None
