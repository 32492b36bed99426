"""Routes about catalogs. People see staged catalogs; a node downloads its released catalog and the contents that it names."""

from aiohttp import web

from precast.api.http.ranges import send_content
from precast.api.http.routes import NODE, OPERATOR, VIEWER, Call, Content, Document, NodeCaller, route
from precast.api.nodes.nodes import TARGETS
from precast.lang.issues import compiler as lang_issues
from precast.services.catalogs import issues as catalog_issues
from precast.services.catalogs.downloads import CatalogDownloads
from precast.services.catalogs.previews import ReleasePreviews
from precast.services.catalogs.problems import CatalogProblems
from precast.services.catalogs.views import CatalogViews
from precast.services.code import issues as code_issues
from precast.services.compile.input_views import CompileInputViews
from precast.services.compile.readiness import ReadinessService
from precast.services.compile.requests import CompileRequests
from precast.services.facts.issues import NO_FACTS
from precast.services.issues import NO_SUCH_NODE
from precast.store.code.blobs import Blobs
from precast.wire.catalogs.bodies import (
    CatalogError,
    CatalogExplanation,
    CatalogWarning,
    ChangeView,
    CompileInputsView,
    DeadCompile,
    FlappingFact,
    ParameterView,
    ProgressView,
    ReadinessBody,
    ReadinessView,
    StagedView,
)
from precast.wire.catalogs.release_pointer import HEADER
from precast.wire.secrets.delivery import SecretsBody, SecretValues

_NO_CATALOG = (catalog_issues.NO_CATALOG,)


class CatalogsApi:
    """Handles the routes of catalogs."""

    def __init__(
        self,
        views: CatalogViews,
        problems: CatalogProblems,
        requests: CompileRequests,
        previews: ReleasePreviews,
        downloads: CatalogDownloads,
        readiness: ReadinessService,
        inputs: CompileInputViews,
        blobs: Blobs,
    ) -> None:
        self._views, self._problems, self._requests = views, problems, requests
        self._previews, self._downloads = previews, downloads
        self._readiness, self._inputs, self._blobs = readiness, inputs, blobs

    @route(
        "GET",
        "/v1/nodes/{node}/catalog",
        VIEWER,
        "The staged and the served catalog of a node; with `entry`, the staged one of an entry point",
        StagedView,
        errors=_NO_CATALOG,
        query=("entry",),
    )
    async def show(self, call: Call) -> StagedView:
        return await self._views.show(call.path["node"], call.query.get("entry", ""))

    @route(
        "GET",
        "/v1/nodes/{node}/catalog/why",
        VIEWER,
        "The reads that determined the catalog of a node, or of an entry point",
        CatalogExplanation,
        errors=_NO_CATALOG,
        query=("entry",),
    )
    async def explain(self, call: Call) -> CatalogExplanation:
        return await self._views.why(call.path["node"], call.query.get("entry", ""))

    @route(
        "GET",
        "/v1/nodes/{node}/inputs",
        VIEWER,
        "What the next catalog of a node is compiled with: facts, trusted data and classification",
        CompileInputsView,
        errors=(NO_SUCH_NODE, NO_FACTS),
    )
    async def show_inputs(self, call: Call) -> CompileInputsView:
        return await self._inputs.show(call.path["node"])

    @route(
        "POST",
        "/v1/nodes/{node}/catalog/decision",
        OPERATOR,
        "Decide again which catalog a node gets; with `entry`, also for an entry point of its environment",
        ProgressView,
        errors=(*_NO_CATALOG, NO_SUCH_NODE, lang_issues.ENTRY_OUTSIDE),
        query=("entry",),
    )
    async def decide(self, call: Call) -> ProgressView:
        return await self._requests.ask(call.path["node"], call.actor, call.query.get("entry", ""))

    @route(
        "GET",
        "/v1/nodes/{node}/catalog/decision",
        VIEWER,
        "The progress of the decision about the catalog of a node, or of an entry point",
        ProgressView,
        query=("entry",),
    )
    async def show_progress(self, call: Call) -> ProgressView:
        return await self._requests.progress(call.path["node"], call.query.get("entry", ""))

    @route(
        "GET",
        "/v1/nodes/{node}/catalog/difference",
        VIEWER,
        "The difference between the staged and the served catalog of a node",
        list[ChangeView],
        errors=_NO_CATALOG,
    )
    async def compare(self, call: Call) -> list[ChangeView]:
        node = call.path["node"]
        difference = await self._previews.difference(node)
        return [
            ChangeView(
                change.ref,
                change.kind,
                [ParameterView(parameter.name, parameter.before, parameter.after) for parameter in change.parameters],
                [node],
                1,
            )
            for change in difference.changes
        ]

    @route(
        "GET",
        "/v1/catalogs/errors",
        VIEWER,
        "The nodes whose compile fails because of their code, by name; then entry points, by node and path",
        list[CatalogError],
        query=("after",),
    )
    async def list_errors(self, call: Call) -> list[CatalogError]:
        return await self._problems.list_errors(call.query.get("after", ""))

    @route(
        "GET",
        "/v1/catalogs/warnings",
        VIEWER,
        "The nodes whose staged catalog has problems that a run would meet, by name; then entry points, by node and path",
        list[CatalogWarning],
        query=("after",),
    )
    async def list_warnings(self, call: Call) -> list[CatalogWarning]:
        return await self._problems.list_warnings(call.query.get("after", ""))

    @route(
        "GET",
        "/v1/catalogs/dead",
        VIEWER,
        "The compiles that were given up for reasons other than the code, and the nodes that wait for them",
        list[DeadCompile],
    )
    async def list_dead(self, call: Call) -> list[DeadCompile]:
        return await self._problems.list_dead_compiles()

    @route(
        "GET",
        "/v1/catalogs/flapping",
        VIEWER,
        "The facts that change more often than their nodes may ask for a compile",
        list[FlappingFact],
    )
    async def list_flapping(self, call: Call) -> list[FlappingFact]:
        return await self._problems.list_flapping_facts()

    @route(
        "POST",
        "/v1/readiness",
        VIEWER,
        "How many of these nodes have a catalog staged from their newest code",
        ReadinessView,
        body=ReadinessBody,
        errors=TARGETS,
    )
    async def show_readiness(self, call: Call) -> ReadinessView:
        return await self._readiness.check(call.body)

    @route(
        "GET",
        "/v1/catalog",
        NODE,
        "The released catalog of the calling node, byte for byte, with its signed pointer; 304 if the node has it already",
        Document,
        errors=(*_NO_CATALOG, catalog_issues.HELD_NODE),
        headers=("If-None-Match",),
    )
    async def fetch(self, call: Call) -> Document:
        assert isinstance(call.caller, NodeCaller), "the route requires it"
        known = call.headers.get("If-None-Match", "").strip('"')
        download = await self._downloads.fetch(call.caller.name, known)
        return Document(download.release.digest, download.body, {HEADER: download.pointer})

    @route(
        "GET",
        "/v1/entries/{digest}",
        NODE,
        "The catalog of an entry point that a plan at work on the calling node applies, with its signed pointer",
        Document,
        errors=(catalog_issues.NO_ENTRY, catalog_issues.HELD_NODE),
        query=("entry",),
    )
    async def fetch_entry(self, call: Call) -> Document:
        assert isinstance(call.caller, NodeCaller), "the route requires it"
        node, entry = call.caller.name, call.query.get("entry", "")
        download = await self._downloads.fetch_entry(node, entry, call.path["digest"])
        return Document(download.digest, download.body, {HEADER: download.pointer})

    @route(
        "POST",
        "/v1/secrets",
        NODE,
        "Secrets of the served catalog of the calling node, or of the catalog of an entry point that it may fetch now",
        SecretValues,
        body=SecretsBody,
        errors=(
            catalog_issues.NOT_SERVED,
            catalog_issues.NO_SECRET,
            catalog_issues.NO_ENTRY,
            catalog_issues.HELD_NODE,
        ),
    )
    async def send_secrets(self, call: Call) -> SecretValues:
        """Values of secrets. A secret of another catalog is not found, whether it exists or not."""
        assert isinstance(call.caller, NodeCaller), "the route requires it"
        return await self._downloads.open_secrets(call.caller.name, call.body)

    @route(
        "GET",
        "/v1/content/{digest}",
        NODE,
        "Content that the released catalog of the calling node names, or the catalog of an entry point that it may fetch now",
        Content,
        errors=(code_issues.NO_CONTENT,),
        is_stream=True,
    )
    async def send_content(self, call: Call) -> web.StreamResponse:
        """Send content that a catalog names which the node may fetch. Other content is not found, whether it exists or not."""
        assert isinstance(call.caller, NodeCaller), "the route requires it"
        size = await self._downloads.size_of_content(call.caller.name, call.path["digest"])
        return await send_content(call.body, self._blobs, call.path["digest"], size)
