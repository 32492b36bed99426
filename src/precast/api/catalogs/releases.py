"""Routes about releases: operators release and roll back pages of nodes; viewers see previews, the log, and the history of a node."""

from precast.api.http.routes import OPERATOR, VIEWER, Call, route
from precast.api.nodes.nodes import TARGETS
from precast.services.approvals import issues as approval_issues
from precast.services.catalogs import issues
from precast.services.catalogs.previews import ReleasePreviews
from precast.services.catalogs.release_service import ReleaseService
from precast.services.catalogs.release_views import ReleaseViews
from precast.services.issues import BAD_VALUE, NO_SUCH_NODE, UNPRINTABLE
from precast.wire import issues as wire_issues
from precast.wire.catalogs.bodies import (
    NodeReleaseView,
    PreviewView,
    ReleaseBody,
    ReleaseDone,
    ReleaseView,
    RollbackBody,
)

MAX_NUMBER = 2**62
_CHANGE_ERRORS = (*TARGETS, BAD_VALUE, UNPRINTABLE, issues.NO_SUCH_RELEASE, issues.NOT_CONTINUED)
_POINT_ERRORS = (wire_issues.BAD_RELEASE_POINT, issues.NO_SUCH_RELEASE)


class ReleasesApi:
    """Handles the routes of releases."""

    def __init__(self, releases: ReleaseService, previews: ReleasePreviews, views: ReleaseViews) -> None:
        self._releases, self._previews, self._views = releases, previews, views

    @route(
        "POST",
        "/v1/previews",
        VIEWER,
        "The changes that a release would make, grouped over the nodes",
        PreviewView,
        body=ReleaseBody,
        errors=TARGETS,
    )
    async def preview(self, call: Call) -> PreviewView:
        return await self._previews.preview(call.body)

    @route(
        "POST",
        "/v1/previews/rollback",
        VIEWER,
        "The changes that a rollback would make, grouped over the nodes, and the releases it would serve",
        PreviewView,
        body=RollbackBody,
        errors=(*TARGETS, *_POINT_ERRORS),
    )
    async def preview_rollback(self, call: Call) -> PreviewView:
        return await self._previews.preview_rollback(call.body)

    @route(
        "GET",
        "/v1/releases",
        VIEWER,
        "The releases and rollbacks, newest first",
        list[ReleaseView],
        query=("before",),
        errors=(BAD_VALUE,),
    )
    async def list_releases(self, call: Call) -> list[ReleaseView]:
        before = call.query.get("before")
        return await self._views.list_releases(None if before is None else _number(before))

    @route(
        "GET",
        "/v1/releases/{release}",
        VIEWER,
        "One release or rollback",
        ReleaseView,
        errors=(BAD_VALUE, issues.NO_SUCH_RELEASE),
    )
    async def show(self, call: Call) -> ReleaseView:
        return await self._views.show(_number(call.path["release"]))

    @route(
        "GET",
        "/v1/nodes/{node}/releases",
        VIEWER,
        "The releases of a node, newest first, with their states",
        list[NodeReleaseView],
        errors=(NO_SUCH_NODE,),
    )
    async def list_of_node(self, call: Call) -> list[NodeReleaseView]:
        return await self._views.list_of_node(call.path["node"])

    @route(
        "POST",
        "/v1/releases",
        OPERATOR,
        "Release a page of staged catalogs, or request approval where their environment needs it",
        ReleaseDone,
        body=ReleaseBody,
        errors=(*_CHANGE_ERRORS, approval_issues.TOO_MANY),
    )
    async def release(self, call: Call) -> ReleaseDone:
        return await self._releases.release(call.body, call.actor, call.token)

    @route(
        "POST",
        "/v1/rollbacks",
        OPERATOR,
        "Roll a page of nodes back along their releases",
        ReleaseDone,
        body=RollbackBody,
        errors=(*_CHANGE_ERRORS, wire_issues.BAD_RELEASE_POINT),
    )
    async def rollback(self, call: Call) -> ReleaseDone:
        return await self._releases.rollback(call.body, call.actor)


def _number(text: str) -> int:
    """Raises InputError AUTH-002."""
    if not text.isascii() or not text.isdecimal() or not 0 < len(text) < 19:
        raise BAD_VALUE.error(what="the number of a release", least=1, most=MAX_NUMBER)
    return int(text)
