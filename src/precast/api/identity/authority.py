"""Routes about the authority: whom to trust, and its rotation."""

from precast.api.http.routes import PUBLIC, Call, Route, Routes, person
from precast.services import issues
from precast.services.identity.authority_files import HeldAuthority
from precast.services.identity.rotation import RotationService
from precast.wire.identity.bodies import AuthorityBody, Retire, Rotate, RotationBody


class AuthorityApi:
    """Joins authority and rotation to their routes."""

    def __init__(self, authority: HeldAuthority, rotation: RotationService) -> None:
        self._authority = authority
        self._rotation = rotation

    def declare(self, routes: Routes) -> None:
        for route in (
            Route("GET", "/v1/authority", self.show, PUBLIC, "The certificates to trust", AuthorityBody),
            Route(
                "GET",
                "/v1/authority/rotation",
                self.status,
                person("viewer"),
                "How far a rotation of the authority is",
                RotationBody,
            ),
            Route(
                "POST",
                "/v1/authority/rotation",
                self.rotate,
                person("admin"),
                "Let a new authority take the place of the present one",
                RotationBody,
                body=Rotate,
                errors=(issues.ROTATING,),
            ),
            Route(
                "POST",
                "/v1/authority/retirement",
                self.finish,
                person("admin"),
                "Trust the new authority alone",
                RotationBody,
                body=Retire,
                errors=(issues.ROTATING, issues.STILL_IN_USE, issues.NOT_ROTATING),
            ),
        ):
            routes.add(route)

    async def show(self, call: Call) -> AuthorityBody:
        return AuthorityBody(self._authority.current.pem)

    async def status(self, call: Call) -> RotationBody:
        return await self._rotation.status()

    async def rotate(self, call: Call) -> RotationBody:
        return await self._rotation.rotate(call.actor, prepare_only=call.body.prepare_only)

    async def finish(self, call: Call) -> RotationBody:
        return await self._rotation.finish(call.actor, is_forced=call.body.is_forced)
