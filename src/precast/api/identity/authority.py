"""Routes about the authority: the certificates to trust, and the rotation of the authority."""

from aiohttp import web

from precast.api.http.routes import ADMIN, PUBLIC, VIEWER, Call, Media, route
from precast.services.identity import issues as identity_issues
from precast.services.identity.crl import CrlService
from precast.services.identity.rotation import RotationService
from precast.services.identity.signer.client import SignerClient
from precast.wire.identity.bodies import AuthorityBody, RetireBody, RotateBody, RotationBody

_CACHED = {"Cache-Control": "public, max-age=60"}
_DER, _PEM = "application/pkix-crl", "application/x-pem-file"


class AuthorityApi:
    """Handles the routes of the authority."""

    def __init__(self, signer: SignerClient, rotation: RotationService, crl: CrlService) -> None:
        self._crl = crl
        self._signer = signer
        self._rotation = rotation

    @route("GET", "/v1/authority", PUBLIC, "The certificates to trust", AuthorityBody)
    async def show(self, call: Call) -> AuthorityBody:
        return AuthorityBody(self._signer.current.pem)

    @route(
        "GET",
        "/v1/crl",
        PUBLIC,
        "The certificates that are revoked (X.509 CRL, DER)",
        Media(_DER),
        errors=(identity_issues.SIGNER_UNAVAILABLE,),
    )
    async def read_crl(self, call: Call) -> web.Response:
        return web.Response(body=await self._crl.read(), content_type=_DER, headers=_CACHED)

    @route(
        "GET",
        "/v1/crl.pem",
        PUBLIC,
        "The certificates that are revoked (X.509 CRL, PEM)",
        Media(_PEM),
        errors=(identity_issues.SIGNER_UNAVAILABLE,),
    )
    async def read_crl_pem(self, call: Call) -> web.Response:
        body = (await self._crl.read_pem()).encode()
        return web.Response(body=body, content_type=_PEM, headers=_CACHED)

    @route("GET", "/v1/authority/rotation", VIEWER, "The progress of a rotation of the authority", RotationBody)
    async def show_rotation(self, call: Call) -> RotationBody:
        return await self._rotation.status()

    @route(
        "POST",
        "/v1/authority/rotation",
        ADMIN,
        "Replace the authority by a new one",
        RotationBody,
        body=RotateBody,
        errors=(identity_issues.ROTATION_IN_PROGRESS,),
    )
    async def rotate(self, call: Call) -> RotationBody:
        return await self._rotation.rotate(call.actor, call.credential, prepare_only=call.body.prepare_only)

    @route(
        "POST",
        "/v1/authority/retirement",
        ADMIN,
        "Retire the old authority: only the new one is trusted",
        RotationBody,
        body=RetireBody,
        errors=(identity_issues.ROTATION_IN_PROGRESS, identity_issues.STILL_IN_USE, identity_issues.NOT_ROTATING),
    )
    async def finish(self, call: Call) -> RotationBody:
        return await self._rotation.finish(call.actor, call.credential, is_forced=call.body.is_forced)
