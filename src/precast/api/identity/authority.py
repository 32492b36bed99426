"""Routes about the authority: the certificates to trust, and the rotation of the authority."""

from precast.api.http.routes import ADMIN, PUBLIC, VIEWER, Call, route
from precast.services.identity import issues as identity_issues
from precast.services.identity.authority_files import LoadedAuthority
from precast.services.identity.rotation import RotationService
from precast.wire.identity.bodies import AuthorityBody, RetireBody, RotateBody, RotationBody


class AuthorityApi:
    """Handles the routes of the authority."""

    def __init__(self, authority: LoadedAuthority, rotation: RotationService) -> None:
        self._authority = authority
        self._rotation = rotation

    @route("GET", "/v1/authority", PUBLIC, "The certificates to trust", AuthorityBody)
    async def show(self, call: Call) -> AuthorityBody:
        return AuthorityBody(self._authority.current.pem)

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
        return await self._rotation.rotate(call.actor, prepare_only=call.body.prepare_only)

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
        return await self._rotation.finish(call.actor, is_forced=call.body.is_forced)
