"""The route that forges call after a push."""

import asyncio

from aiohttp import web

from precast.api.http import issues
from precast.api.http.quotas import MAX_STREAMED_BYTES
from precast.api.http.routes import ENVIRONMENT, PUBLIC, Call, person, route
from precast.services.code import issues as code_issues
from precast.services.code.hooks import HookService
from precast.wire.code.environments import DeployAnswer, HookAnswer

BODY_S = 30.0
# Fetching, reading and checking a large tree is slow.
DEPLOY_S = 280.0
# GitHub, Gitea and Forgejo send their signature in this header.
SIGNATURE = "X-Hub-Signature-256"


class HooksApi:
    """Handles the route of hooks."""

    def __init__(self, hooks: HookService) -> None:
        self._hooks = hooks

    @route(
        "POST",
        "/v1/hooks/{environment}",
        PUBLIC,
        f"Deploy an environment from its repository; the header {SIGNATURE} signs the body",
        HookAnswer,
        errors=(
            *(issues.BAD_CREDENTIALS, issues.TOO_LARGE, issues.TOO_SLOW, issues.BAD_BODY),
            code_issues.HOOK_TOO_OFTEN,
        ),
        is_stream=True,
    )
    async def call(self, call: Call) -> HookAnswer:
        """Start a deployment. A caller without a valid signature does not learn whether the hook exists."""
        request: web.BaseRequest = call.body
        environment = call.path["environment"]
        body = await _read(request)
        if not self._hooks.is_signed(environment, request.headers.get(SIGNATURE, ""), body):
            raise issues.BAD_CREDENTIALS.error()
        return HookAnswer(environment, await self._hooks.call(environment))

    @route(
        "POST",
        "/v1/environments/{environment}/deployments",
        person("operator", ENVIRONMENT),
        "Deploy an environment from the repository of its hook; the server fetches and verifies it",
        DeployAnswer,
        errors=(
            *(code_issues.NO_REPOSITORY, code_issues.HOOK_TOO_OFTEN, code_issues.GIT_FAILED, code_issues.NOT_SIGNED),
            *(code_issues.CANNOT_VERIFY, code_issues.BROKEN_TREE, code_issues.CHECK_FAILED),
            *(code_issues.BAD_TREE, code_issues.TREE_TOO_LARGE, code_issues.CONCURRENT_DEPLOYMENT),
        ),
        limit_s=DEPLOY_S,
    )
    async def deploy(self, call: Call) -> DeployAnswer:
        return await self._hooks.deploy(call.path["environment"], call.actor)


async def _read(request: web.BaseRequest) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            while part := await request.content.readany():
                body += part
                if len(body) > MAX_STREAMED_BYTES:
                    raise issues.TOO_LARGE.error(limit=MAX_STREAMED_BYTES)
    except TimeoutError:
        raise issues.TOO_SLOW.error(limit_s=BODY_S) from None
    except (web.RequestPayloadError, ConnectionError):
        raise issues.BAD_BODY.error(reason="it is incomplete") from None
    return bytes(body)
