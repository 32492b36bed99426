"""Routes about identity: enrolment, tokens, nodes, certificates."""

import logging

import msgspec

from precast.api.http.routes import ADMIN, OPERATOR, PUBLIC, VIEWER, Call, route
from precast.base.errors import PrecastError
from precast.services.identity import issues as identity_issues
from precast.services.identity.enrolment import EnrolmentService
from precast.services.identity.people import PeopleService
from precast.services.issues import BAD_VALUE, NO_SUCH_NODE, UNPRINTABLE
from precast.store.identity.certificates import NodeCertificates
from precast.wire import issues as wire_issues
from precast.wire.identity.bodies import (
    ActionResult,
    AuditReason,
    CertificateBody,
    CertificateRow,
    EnrolBody,
    NewEnrolmentToken,
    NewPersonToken,
    RenewBody,
    TokenBody,
    TokenRow,
)

log = logging.getLogger("precast.enrolment")

PAGE = 500


class IdentityApi:
    """Handles the routes of enrolment, certificates and tokens."""

    def __init__(self, enrolment: EnrolmentService, people: PeopleService, nodes: NodeCertificates) -> None:
        self._enrolment = enrolment
        self._people = people
        self._nodes = nodes

    @route(
        "POST",
        "/v1/enrolments",
        PUBLIC,
        "Enrol a node: issue its first certificate",
        CertificateBody,
        body=EnrolBody,
        errors=(
            identity_issues.BAD_REQUEST,
            identity_issues.NAME_TAKEN,
            identity_issues.ENROLMENT_DENIED,
            identity_issues.ISSUED_TOO_OFTEN,
            identity_issues.SIGNER_UNAVAILABLE,
            wire_issues.BAD_NAME,
            wire_issues.BAD_TOKEN,
        ),
    )
    async def enrol(self, call: Call) -> CertificateBody:
        try:
            return await self._enrolment.enrol(call.body, call.address)
        except PrecastError as error:
            log.warning("an enrolment from %s is refused: %s [%s]", call.address, error.message, error.code)
            raise

    @route(
        "POST",
        "/v1/renewals",
        PUBLIC,
        "Renew a node's certificate; the node proves that it has its key",
        CertificateBody,
        body=RenewBody,
        errors=(
            identity_issues.BAD_REQUEST,
            identity_issues.RENEWAL_DENIED,
            identity_issues.ISSUED_TOO_OFTEN,
            identity_issues.SIGNER_UNAVAILABLE,
            wire_issues.BAD_NAME,
        ),
    )
    async def renew(self, call: Call) -> CertificateBody:
        return await self._enrolment.renew(call.body)

    @route("GET", "/v1/certificates", VIEWER, "Certificates by node and age", list[CertificateRow], query=("after",))
    async def list_certificates(self, call: Call) -> list[CertificateRow]:
        after = await self._nodes.find(call.query["after"]) if "after" in call.query else None
        return [
            msgspec.convert(certificate, CertificateRow, from_attributes=True)
            for certificate in await self._nodes.list_certificates(after, PAGE)
        ]

    @route(
        "POST",
        "/v1/certificates/{node}/revocation",
        OPERATOR,
        "Revoke a node's certificates",
        ActionResult,
        body=AuditReason,
        errors=(NO_SUCH_NODE, BAD_VALUE, UNPRINTABLE),
    )
    async def revoke(self, call: Call) -> ActionResult:
        return ActionResult(await self._enrolment.revoke(call.path["node"], call.actor, call.body.why))

    @route(
        "POST",
        "/v1/certificates/{node}/cleaning",
        OPERATOR,
        "Revoke a node's certificates and allow its name to be enrolled again",
        ActionResult,
        body=AuditReason,
        errors=(NO_SUCH_NODE, BAD_VALUE, UNPRINTABLE),
    )
    async def clean(self, call: Call) -> ActionResult:
        return ActionResult(await self._enrolment.clean(call.path["node"], call.actor, call.body.why))

    @route(
        "POST",
        "/v1/tokens/enrolment",
        OPERATOR,
        "Create a token that enrols nodes",
        TokenBody,
        body=NewEnrolmentToken,
        errors=(BAD_VALUE, identity_issues.UNKNOWN_EXTENSION, UNPRINTABLE),
    )
    async def create_enrolment_token(self, call: Call) -> TokenBody:
        return await self._enrolment.create_token(call.body, call.actor, call.credential)

    @route(
        "POST",
        "/v1/tokens/person",
        ADMIN,
        "Create a token for a person",
        TokenBody,
        body=NewPersonToken,
        errors=(identity_issues.BAD_ROLE, BAD_VALUE, UNPRINTABLE),
    )
    async def create_person_token(self, call: Call) -> TokenBody:
        return await self._people.create(call.body, call.actor, call.credential)

    @route("GET", "/v1/tokens", ADMIN, "All tokens, without their secrets", list[TokenRow])
    async def list_tokens(self, call: Call) -> list[TokenRow]:
        return [*await self._people.list(), *await self._enrolment.list_tokens()]

    @route("DELETE", "/v1/tokens/{id}", ADMIN, "Revoke a token", ActionResult, errors=(identity_issues.NO_SUCH_TOKEN,))
    async def revoke_token(self, call: Call) -> ActionResult:
        await self._enrolment.revoke_token(call.path["id"], call.actor)
        return ActionResult([call.path["id"]])
