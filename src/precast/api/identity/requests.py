"""Routes about requests that an operator decides on."""

from precast.api.http.routes import PUBLIC, Call, Route, Routes, person
from precast.services import issues
from precast.services.identity.requests import RequestService
from precast.wire import issues as wire_issues
from precast.wire.identity.bodies import Done, Rejection, RequestAnswer, RequestBody, RequestRow, Signature

PAGE = 500


class RequestsApi:
    """Joins the service to its routes."""

    def __init__(self, requests: RequestService) -> None:
        self._requests = requests

    def declare(self, routes: Routes) -> None:
        for route in (
            Route(
                "POST",
                "/v1/requests",
                self.ask,
                PUBLIC,
                "Ask for a certificate that an operator decides on, or what came of it",
                RequestAnswer,
                body=RequestBody,
                errors=(
                    issues.BAD_REQUEST,
                    issues.NAME_TAKEN,
                    issues.REQUEST_REJECTED,
                    issues.TOO_MANY_REQUESTS,
                    wire_issues.BAD_NAME,
                ),
            ),
            Route(
                "GET",
                "/v1/requests",
                self.waiting,
                person("viewer"),
                "Requests that wait, by name and key",
                list[RequestRow],
                query=("after",),
            ),
            Route(
                "POST",
                "/v1/requests/{node}/signature",
                self.sign,
                person("operator"),
                "Give a waiting request its certificate",
                Done,
                body=Signature,
                errors=(
                    issues.NO_SUCH_REQUEST,
                    issues.WHICH_REQUEST,
                    issues.NAME_TAKEN,
                    issues.UNKNOWN_EXTENSION,
                    issues.BAD_VALUE,
                    issues.UNPRINTABLE,
                ),
            ),
            Route(
                "POST",
                "/v1/requests/{node}/rejection",
                self.reject,
                person("operator"),
                "Turn a waiting request down",
                Done,
                body=Rejection,
                errors=(issues.NO_SUCH_REQUEST, issues.BAD_VALUE, issues.UNPRINTABLE),
            ),
        ):
            routes.add(route)

    async def ask(self, call: Call) -> RequestAnswer:
        return await self._requests.ask(call.body, call.address)

    async def waiting(self, call: Call) -> list[RequestRow]:
        node, _, key = call.query.get("after", "").partition(":")
        return [
            RequestRow(one.node, one.key_digest, one.address, one.requested_at, one.expires_at)
            for one in await self._requests.waiting((node, key), PAGE)
        ]

    async def sign(self, call: Call) -> Done:
        wanted: Signature = call.body
        return Done([await self._requests.sign(call.path["node"], wanted.fingerprint, wanted.extensions, call.actor)])

    async def reject(self, call: Call) -> Done:
        wanted: Rejection = call.body
        return Done(await self._requests.reject(call.path["node"], wanted.fingerprint, wanted.why, call.actor))
