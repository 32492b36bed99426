"""Routes about catalogs: for people what is staged, why, how it differs, and the release; for a node its released catalog."""

from aiohttp import web

from precast.api.http.ranges import send_content
from precast.api.http.routes import NODE, Call, Content, Document, Node, Route, Routes, person
from precast.api.nodes.nodes import TARGETS
from precast.services import issues
from precast.services.catalogs.releases import ReleaseService
from precast.services.catalogs.troubles import CatalogTroubles
from precast.services.catalogs.views import CatalogViews
from precast.services.code import issues as more_issues
from precast.services.compile.readiness import ReadinessService
from precast.services.compile.requests import CompileRequests
from precast.store.code.blobs import Blobs
from precast.wire.catalogs.bodies import (
    CatalogError,
    ChangeView,
    DeadCompile,
    Flapping,
    ParameterView,
    PreviewView,
    ProgressView,
    ReadinessBody,
    ReadinessView,
    ReleaseBody,
    ReleaseDone,
    StagedView,
    WhyView,
)
from precast.wire.nodes.bodies import NodesDeed


class CatalogsApi:
    """Joins the services of catalogs to their routes."""

    def __init__(
        self,
        views: CatalogViews,
        troubles: CatalogTroubles,
        requests: CompileRequests,
        releases: ReleaseService,
        readiness: ReadinessService,
        blobs: Blobs,
    ) -> None:
        self._views, self._troubles, self._requests = views, troubles, requests
        self._releases, self._readiness, self._blobs = releases, readiness, blobs

    def declare(self, routes: Routes) -> None:
        viewer, operator = person("viewer"), person("operator")
        deed = (*TARGETS, issues.BAD_VALUE, issues.UNPRINTABLE)
        nobody = (issues.NO_CATALOG,)
        for route in (
            Route(
                "GET",
                "/v1/nodes/{node}/catalog",
                self.show,
                viewer,
                "What is staged for a node, and what it is served",
                StagedView,
                errors=nobody,
            ),
            Route(
                "GET",
                "/v1/nodes/{node}/catalog/why",
                self.why,
                viewer,
                "The reads that decided a node's catalog",
                WhyView,
                errors=nobody,
            ),
            Route(
                "POST",
                "/v1/nodes/{node}/catalog/decision",
                self.decide,
                operator,
                "Have it decided anew which catalog a node gets",
                ProgressView,
                errors=(*nobody, issues.NO_SUCH_NODE),
            ),
            Route(
                "GET",
                "/v1/nodes/{node}/catalog/decision",
                self.progress,
                viewer,
                "How far the decision about a node's catalog is",
                ProgressView,
            ),
            Route(
                "GET",
                "/v1/nodes/{node}/catalog/difference",
                self.difference,
                viewer,
                "How what is staged for a node differs from what it is served",
                list[ChangeView],
                errors=nobody,
            ),
            Route(
                "GET",
                "/v1/catalogs/errors",
                self.errors,
                viewer,
                "Nodes whose code gives an error, by name",
                list[CatalogError],
                query=("after",),
            ),
            Route(
                "GET",
                "/v1/catalogs/dead",
                self.dead,
                viewer,
                "Compiles that were given up, by no fault of the code, and who waits for them",
                list[DeadCompile],
            ),
            Route(
                "GET",
                "/v1/catalogs/flapping",
                self.flapping,
                viewer,
                "Facts that change more often than their nodes may ask for",
                list[Flapping],
            ),
            Route(
                "POST",
                "/v1/previews",
                self.preview,
                viewer,
                "What a release would change, grouped over the nodes",
                PreviewView,
                body=ReleaseBody,
                errors=TARGETS,
            ),
            Route(
                "POST",
                "/v1/readiness",
                self.look,
                viewer,
                "How many of these nodes have what their newest code gives them",
                ReadinessView,
                body=ReadinessBody,
                errors=TARGETS,
            ),
            Route(
                "POST",
                "/v1/releases",
                self.release,
                operator,
                "Serve what is staged for nodes",
                ReleaseDone,
                body=ReleaseBody,
                errors=deed,
            ),
            Route(
                "POST",
                "/v1/rollbacks",
                self.rollback,
                operator,
                "Serve nodes what they were served before",
                ReleaseDone,
                body=NodesDeed,
                errors=deed,
            ),
            Route(
                "GET",
                "/v1/catalog",
                self.fetch,
                NODE,
                "The calling node's released catalog, byte for byte; 304 if it has that one",
                Document,
                errors=nobody,
                headers=("If-None-Match",),
            ),
            Route(
                "GET",
                "/v1/content/{digest}",
                self.give,
                NODE,
                "A content that the calling node's released catalog names",
                Content,
                errors=(more_issues.NO_CONTENT,),
                is_stream=True,
            ),
        ):
            routes.add(route)

    async def show(self, call: Call) -> StagedView:
        return await self._views.show(call.path["node"])

    async def why(self, call: Call) -> WhyView:
        return await self._views.why(call.path["node"])

    async def difference(self, call: Call) -> list[ChangeView]:
        node = call.path["node"]
        found = await self._releases.difference(node)
        return [
            ChangeView(
                one.ref,
                one.kind,
                [ParameterView(each.name, each.before, each.after) for each in one.parameters],
                [node],
                1,
            )
            for one in found.changes
        ]

    async def errors(self, call: Call) -> list[CatalogError]:
        return await self._troubles.errors(call.query.get("after", ""))

    async def dead(self, call: Call) -> list[DeadCompile]:
        return await self._troubles.dead()

    async def flapping(self, call: Call) -> list[Flapping]:
        return await self._troubles.flapping()

    async def decide(self, call: Call) -> ProgressView:
        return await self._requests.ask(call.path["node"], call.actor)

    async def progress(self, call: Call) -> ProgressView:
        return await self._requests.progress(call.path["node"])

    async def preview(self, call: Call) -> PreviewView:
        return await self._releases.preview(call.body)

    async def look(self, call: Call) -> ReadinessView:
        return await self._readiness.look(call.body)

    async def release(self, call: Call) -> ReleaseDone:
        return await self._releases.release(call.body, call.actor)

    async def rollback(self, call: Call) -> ReleaseDone:
        return await self._releases.rollback(call.body, call.actor)

    async def give(self, call: Call) -> web.StreamResponse:
        """Only what the node's released catalog names: absent and denied look alike."""
        assert isinstance(call.caller, Node), "the route requires it"
        size = await self._releases.size_of_content(call.caller.name, call.path["digest"])
        return await send_content(call.body, self._blobs, call.path["digest"], size)

    async def fetch(self, call: Call) -> Document:
        assert isinstance(call.caller, Node), "the route requires it"
        known = call.headers.get("If-None-Match", "").strip('"')
        found = await self._releases.fetch(call.caller.name, known)
        release = found.release
        about = {
            "Precast-Environment": release.environment,
            "Precast-Code-Version": release.version,
            "Precast-Release": str(release.number),
        }
        return Document(release.digest, found.body, about)
