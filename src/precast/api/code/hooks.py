"""The route that forges call when something was pushed."""

import asyncio

from aiohttp import web

from precast.api.http import issues
from precast.api.http.routes import PUBLIC, Call, Route, Routes
from precast.services.code import issues as issues_environments
from precast.services.code.hooks import HookService
from precast.wire.code.environments import HookAnswer

# A forge describes what was pushed at length.
MAX_BODY_BYTES = 1024 * 1024
BODY_S = 30.0
# As GitHub, Gitea and Forgejo sign.
SIGNATURE = "X-Hub-Signature-256"


class HooksApi:
    """Joins hooks to their route."""

    def __init__(self, hooks: HookService) -> None:
        self._hooks = hooks

    def declare(self, routes: Routes) -> None:
        routes.add(
            Route(
                "POST",
                "/v1/hooks/{environment}",
                self.call,
                PUBLIC,
                f"Deploy an environment from its repository; the body is signed in {SIGNATURE}",
                HookAnswer,
                errors=(
                    *(issues.BAD_CREDENTIALS, issues.TOO_LARGE, issues.TOO_SLOW, issues.BAD_BODY),
                    issues_environments.HOOK_TOO_OFTEN,
                ),
                is_stream=True,
            )
        )

    async def call(self, call: Call) -> HookAnswer:
        """Who has not signed well learns nothing, not even whether there is such a hook."""
        request: web.BaseRequest = call.body
        environment = call.path["environment"]
        body = await _read(request)
        if not self._hooks.is_signed(environment, request.headers.get(SIGNATURE, ""), body):
            raise issues.BAD_CREDENTIALS.error()
        return HookAnswer(environment, await self._hooks.call(environment))


async def _read(request: web.BaseRequest) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            while part := await request.content.readany():
                body += part
                if len(body) > MAX_BODY_BYTES:
                    raise issues.TOO_LARGE.error(limit=MAX_BODY_BYTES)
    except TimeoutError:
        raise issues.TOO_SLOW.error(limit_s=BODY_S) from None
    except (web.RequestPayloadError, ConnectionError):
        raise issues.BAD_BODY.error(reason="it is cut off") from None
    return bytes(body)
