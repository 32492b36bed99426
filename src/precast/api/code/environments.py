"""Routes about environments and their content. A token that is limited to some environments opens the routes of these."""

from aiohttp import web

from precast.api.http import issues as api_issues
from precast.api.http.ranges import send_content
from precast.api.http.routes import ENVIRONMENT, OWN, Call, Content, person, route
from precast.api.http.uploads import UploadPlaces, read_content
from precast.base import digests
from precast.services.code import issues
from precast.services.code.content import ContentScope, ContentService
from precast.services.code.environments import EnvironmentService, check_name
from precast.services.code.signing import SigningService
from precast.services.issues import BAD_VALUE, UNPRINTABLE
from precast.store.code.blobs import Blobs
from precast.store.engine.database import Database
from precast.wire.code.environments import (
    DeployAnswer,
    DeployBody,
    DifferenceAnswer,
    EnvironmentRow,
    EnvironmentView,
    MissingAnswer,
    MissingBody,
    ReceivedAnswer,
    ReleasePolicyBody,
    RequiredApprovalsBody,
    VersionRollback,
)
from precast.wire.code.signing import SigningBody, SigningView

# Reading and checking a large tree is slow.
DEPLOY_S = 280.0

_TEXT_ERRORS = (BAD_VALUE, UNPRINTABLE)
_VIEWER = person("viewer", ENVIRONMENT)
_OPERATOR = person("operator", ENVIRONMENT)
_ADMIN = person("admin", ENVIRONMENT)
_PATH = "/v1/environments/{environment}"
_NOT_FOUND = (issues.NO_ENVIRONMENT, issues.NO_VERSION, issues.MISSING_CONTENT)
_TREE_ERRORS = (issues.BAD_TREE, issues.TREE_TOO_LARGE)


class EnvironmentsApi:
    """Handles the routes of environments and their content."""

    def __init__(
        self, database: Database, environments: EnvironmentService, content: ContentService, signing: SigningService
    ) -> None:
        self._database = database
        self._signing = signing
        self._blobs = Blobs(database)
        self._environments = environments
        self._content = content
        self._uploads = UploadPlaces()

    @route(
        "GET",
        "/v1/environments",
        person("viewer", OWN),
        "The environments that the token may see, by name",
        list[EnvironmentRow],
        query=("after",),
    )
    async def list_environments(self, call: Call) -> list[EnvironmentRow]:
        return await self._environments.list_page(call.query.get("after", ""), call.environments)

    @route("GET", _PATH, _VIEWER, "An environment and its versions", EnvironmentView, errors=_NOT_FOUND)
    async def show(self, call: Call) -> EnvironmentView:
        return await self._environments.show(call.path["environment"])

    @route(
        "POST",
        f"{_PATH}/missing",
        _OPERATOR,
        "The contents that the caller must upload: those that no environment has that the token may read",
        MissingAnswer,
        body=MissingBody,
        errors=(issues.BAD_DIGESTS, issues.BAD_NAME),
    )
    async def list_missing(self, call: Call) -> MissingAnswer:
        check_name(call.path["environment"])
        return MissingAnswer(await self._content.find_missing(call.body.digests, _scope(call)))

    @route(
        "POST",
        f"{_PATH}/content",
        _OPERATOR,
        "Upload contents, each preceded by its SHA-256 (32 bytes) and its size (8 bytes, big-endian)",
        ReceivedAnswer,
        errors=(
            *(issues.BAD_NAME, issues.WRONG_CONTENT, issues.CONTENT_TOO_LARGE),
            *(issues.CONTENT_INCOMPLETE, issues.NO_DISK_SPACE, api_issues.TOO_SLOW),
        ),
        is_stream=True,
    )
    async def receive(self, call: Call) -> ReceivedAnswer:
        check_name(call.path["environment"])
        async with self._uploads.place(call.actor):
            return ReceivedAnswer(await self._content.receive(read_content(call.body), _scope(call)))

    @route(
        "GET",
        f"{_PATH}/content/{{digest}}",
        _VIEWER,
        "The content of a file of the environment",
        Content,
        errors=(issues.NO_CONTENT,),
        is_stream=True,
    )
    async def send_content(self, call: Call) -> web.StreamResponse:
        """Send content that a version of this environment names. Other content is reported as not found, whether it exists or not."""
        name, digest, request = call.path["environment"], call.path["digest"], call.body
        if not digests.is_digest(digest) or not await self._environments.has_file(name, digest):
            raise issues.NO_CONTENT.error()
        size = (await self._database.read(self._blobs.find_sizes, [digest])).get(digest)
        if size is None:
            raise issues.NO_CONTENT.error()
        return await send_content(request, self._blobs, digest, size)

    @route(
        "POST",
        f"{_PATH}/versions",
        _OPERATOR,
        "Deploy a tree whose manifest and files have been uploaded",
        DeployAnswer,
        body=DeployBody,
        errors=(
            *(issues.BAD_NAME, issues.BROKEN_TREE, issues.CHECK_FAILED, issues.BAD_COMMIT),
            *(issues.MISSING_CONTENT, issues.CONCURRENT_DEPLOYMENT, issues.SIGNED_ONLY),
            *(*_TREE_ERRORS, *_TEXT_ERRORS),
        ),
        limit_s=DEPLOY_S,
    )
    async def deploy(self, call: Call) -> DeployAnswer:
        return await self._environments.deploy(call.path["environment"], call.body, call.actor, call.environments)

    @route(
        "POST",
        f"{_PATH}/rollbacks",
        _OPERATOR,
        "Make an earlier version current again",
        DeployAnswer,
        body=VersionRollback,
        errors=(*_NOT_FOUND, issues.BAD_NAME, issues.CONCURRENT_DEPLOYMENT, issues.SIGNED_ONLY, *_TEXT_ERRORS),
    )
    async def roll_back(self, call: Call) -> DeployAnswer:
        return await self._environments.roll_back(call.path["environment"], call.body, call.actor)

    @route(
        "POST",
        f"{_PATH}/policies",
        _OPERATOR,
        "Set whether staged catalogs are released automatically",
        EnvironmentRow,
        body=ReleasePolicyBody,
        errors=(issues.BAD_POLICY, issues.NO_ENVIRONMENT, issues.APPROVALS_AND_AUTOMATIC),
    )
    async def set_policy(self, call: Call) -> EnvironmentRow:
        return await self._environments.set_policy(call.path["environment"], call.body.policy, call.actor)

    @route(
        "POST",
        f"{_PATH}/approvals",
        _ADMIN,
        "Set how many other people must approve a release, or an action, in this environment",
        EnvironmentRow,
        body=RequiredApprovalsBody,
        errors=(issues.BAD_APPROVALS, issues.NO_ENVIRONMENT, issues.APPROVALS_AND_AUTOMATIC),
    )
    async def set_required_approvals(self, call: Call) -> EnvironmentRow:
        return await self._environments.set_required_approvals(call.path["environment"], call.body, call.actor)

    @route(
        "GET",
        f"{_PATH}/signing",
        _VIEWER,
        "What must be signed before it is deployed, and the keys that are allowed",
        SigningView,
    )
    async def show_signing(self, call: Call) -> SigningView:
        return await self._signing.show(call.path["environment"])

    @route(
        "POST",
        f"{_PATH}/signing",
        _ADMIN,
        "Set what must be signed before it is deployed, and the keys that are allowed",
        SigningView,
        body=SigningBody,
        errors=(issues.BAD_SIGNING, issues.BAD_NAME),
    )
    async def set_signing(self, call: Call) -> SigningView:
        check_name(call.path["environment"])
        return await self._signing.set(call.path["environment"], call.body, call.actor)

    @route(
        "GET",
        f"{_PATH}/difference",
        _VIEWER,
        "The files that differ between two versions",
        DifferenceAnswer,
        query=("before", "after"),
        errors=(*_NOT_FOUND, issues.BAD_VERSION_NUMBER),
    )
    async def differ(self, call: Call) -> DifferenceAnswer:
        before, after = (_number(call.query.get(name, "0")) for name in ("before", "after"))
        return await self._environments.compare(call.path["environment"], before, after)


def _scope(call: Call) -> ContentScope:
    return ContentScope(call.path["environment"], tuple(call.environments))


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise issues.BAD_VERSION_NUMBER.error(text=repr(text[:80]))
    return int(text)
