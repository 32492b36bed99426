"""Who is calling: a person by token, a node by certificate, or nobody."""

import ssl
from typing import Any
from weakref import WeakKeyDictionary

from precast.api import issues
from precast.api.routes import ENVIRONMENT, SITE, Caller, Node, Requirement
from precast.base.errors import PrecastError
from precast.services import roles
from precast.services.people import PeopleService, Person
from precast.services.recognition import RecognitionService
from precast.wire import issues as wire_issues


class Callers:
    """Recognises callers and holds them to what a route requires. Denies by default."""

    def __init__(self, people: PeopleService, nodes: RecognitionService) -> None:
        self._people = people
        self._nodes = nodes
        self._serials: WeakKeyDictionary[ssl.SSLObject, str | None] = WeakKeyDictionary()

    async def authorise(
        self,
        requires: Requirement,
        header: str | None,
        connection: ssl.SSLObject | None,
        environment: str | None = None,
    ) -> Caller:
        """The caller, if they are what is required, for the environment that the path names, if it names one.

        Raises UnauthenticatedError API-001, API-002 or DeniedError API-003.
        """
        if requires.sort == "public":
            return None
        if requires.sort == "node":
            return await self._node(requires, connection)
        return await self._person(requires, header, environment)

    async def _person(self, requires: Requirement, header: str | None, environment: str | None) -> Person:
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise issues.NO_CREDENTIALS.error(needed=requires)
        try:
            who = await self._people.recognise(token)
        except PrecastError as error:
            if not wire_issues.BAD_TOKEN.matches(error):
                raise
            who = None
        if who is None:
            raise issues.BAD_CREDENTIALS.error()
        if not roles.includes(who.role, requires.role):
            raise issues.NOT_ALLOWED.error(needed=requires)
        if who.environments:
            _hold_to(who, requires.scope, environment)
        return who

    async def _node(self, requires: Requirement, connection: ssl.SSLObject | None) -> Node:
        serial = self._serial(connection) if connection is not None else None
        if serial is None:
            raise issues.NO_CREDENTIALS.error(needed=requires)
        # TLS has checked signature and time when the connection began; it may have ended or been taken back since.
        known = await self._nodes.recognise(serial)
        if known is None:
            raise issues.BAD_CREDENTIALS.error()
        return Node(known.node, known.extensions, known.serial, known.not_after)

    def _serial(self, connection: ssl.SSLObject) -> str | None:
        """The serial of the certificate that was shown, if any. It stays for as long as the connection: it is read once."""
        if connection not in self._serials:
            shown: dict[str, Any] | None = connection.getpeercert()
            self._serials[connection] = str(shown["serialNumber"]).lower().lstrip("0") if shown else None
        return self._serials[connection]


def _hold_to(who: Person, scope: str, environment: str | None) -> None:
    """A token for some environments opens what is inside one of them, and lists that show no others. Raises DeniedError API-003."""
    if scope == SITE:
        raise issues.NOT_ALLOWED.error(needed="a token for all environments")
    if scope == ENVIRONMENT and environment not in who.environments:
        raise issues.NOT_ALLOWED.error(needed=f"a token for the environment {(environment or '')[:100]}")
