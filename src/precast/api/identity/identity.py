"""Routes about identity: enrolment, tokens, nodes, certificates, the audit log."""

import msgspec

from precast.api.http.routes import PUBLIC, Call, Route, Routes, person
from precast.services import issues
from precast.services.identity.enrolment import EnrolmentService
from precast.services.identity.people import PeopleService
from precast.store.identity.audit import END, AuditLog
from precast.store.identity.certificates import Nodes
from precast.wire import issues as wire_issues
from precast.wire.identity.bodies import (
    AuditRow,
    CertificateBody,
    CertificateRow,
    Deed,
    Done,
    EnrolBody,
    NewEnrolmentToken,
    NewPersonToken,
    RenewBody,
    TokenBody,
    TokenRow,
)

PAGE = 500


class IdentityApi:
    """Joins the services of identity to their routes."""

    def __init__(self, enrolment: EnrolmentService, people: PeopleService, nodes: Nodes, audit: AuditLog) -> None:
        self._enrolment = enrolment
        self._people = people
        self._nodes = nodes
        self._audit = audit

    def declare(self, routes: Routes) -> None:
        for route in (
            Route(
                "POST",
                "/v1/enrolments",
                self.enrol,
                PUBLIC,
                "Give a node its first certificate",
                CertificateBody,
                body=EnrolBody,
                errors=(
                    issues.BAD_REQUEST,
                    issues.NAME_TAKEN,
                    issues.ENROLMENT_DENIED,
                    wire_issues.BAD_NAME,
                    wire_issues.BAD_TOKEN,
                ),
            ),
            Route(
                "POST",
                "/v1/renewals",
                self.renew,
                PUBLIC,
                "Give a node its next certificate, by proof of its key",
                CertificateBody,
                body=RenewBody,
                errors=(issues.BAD_REQUEST, issues.RENEWAL_DENIED, wire_issues.BAD_NAME),
            ),
            Route(
                "GET",
                "/v1/certificates",
                self.certificates,
                person("viewer"),
                "Certificates by node and age",
                list[CertificateRow],
                query=("after",),
            ),
            Route(
                "POST",
                "/v1/certificates/{node}/revocation",
                self.revoke,
                person("operator"),
                "Take a node's certificates back",
                Done,
                body=Deed,
                errors=(issues.NO_SUCH_NODE, issues.BAD_VALUE, issues.UNPRINTABLE),
            ),
            Route(
                "POST",
                "/v1/certificates/{node}/cleaning",
                self.clean,
                person("operator"),
                "Let a name be enrolled anew",
                Done,
                body=Deed,
                errors=(issues.NO_SUCH_NODE, issues.BAD_VALUE, issues.UNPRINTABLE),
            ),
            Route(
                "POST",
                "/v1/tokens/enrolment",
                self.create_enrolment,
                person("operator"),
                "Make a token that enrols nodes",
                TokenBody,
                body=NewEnrolmentToken,
                errors=(issues.BAD_VALUE, issues.UNKNOWN_EXTENSION, issues.UNPRINTABLE),
            ),
            Route(
                "POST",
                "/v1/tokens/person",
                self.create_person,
                person("admin"),
                "Make a token for a person",
                TokenBody,
                body=NewPersonToken,
                errors=(issues.BAD_ROLE, issues.BAD_VALUE, issues.UNPRINTABLE),
            ),
            Route(
                "GET", "/v1/tokens", self.tokens, person("admin"), "All tokens, without their secrets", list[TokenRow]
            ),
            Route(
                "DELETE",
                "/v1/tokens/{id}",
                self.revoke_token,
                person("admin"),
                "End a token",
                Done,
                errors=(issues.NO_SUCH_TOKEN,),
            ),
            Route(
                "GET",
                "/v1/audit",
                self.audit,
                person("admin"),
                "Deeds, newest first",
                list[AuditRow],
                query=("before",),
            ),
        ):
            routes.add(route)

    async def enrol(self, call: Call) -> CertificateBody:
        return await self._enrolment.enrol(call.body)

    async def renew(self, call: Call) -> CertificateBody:
        return await self._enrolment.renew(call.body)

    async def certificates(self, call: Call) -> list[CertificateRow]:
        after = await self._nodes.certificate(call.query["after"]) if "after" in call.query else None
        return [
            msgspec.convert(one, CertificateRow, from_attributes=True)
            for one in await self._nodes.certificates(after, PAGE)
        ]

    async def revoke(self, call: Call) -> Done:
        return Done(await self._enrolment.revoke(call.path["node"], call.actor, call.body.why))

    async def clean(self, call: Call) -> Done:
        return Done(await self._enrolment.clean(call.path["node"], call.actor, call.body.why))

    async def create_enrolment(self, call: Call) -> TokenBody:
        return await self._enrolment.create_token(call.body, call.actor)

    async def create_person(self, call: Call) -> TokenBody:
        return await self._people.create(call.body, call.actor)

    async def tokens(self, call: Call) -> list[TokenRow]:
        return [*await self._people.list(), *await self._enrolment.list_tokens()]

    async def revoke_token(self, call: Call) -> Done:
        await self._enrolment.revoke_token(call.path["id"], call.actor)
        return Done([call.path["id"]])

    async def audit(self, call: Call) -> list[AuditRow]:
        entries = await self._audit.latest(call.query.get("before", END), PAGE)
        return [AuditRow(one.id, one.at, one.actor, one.action, one.target, one.detail) for one in entries]
