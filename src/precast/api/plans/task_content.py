"""Routes of nodes about the content of tasks: a node fetches what its task needs, and sends what its task collects."""

from aiohttp import web

from precast.api.http import issues as api_issues
from precast.api.http.ranges import send_content
from precast.api.http.routes import NODE, Call, Content, NodeCaller, route
from precast.api.http.uploads import UploadPlaces, read_content
from precast.services.code import issues as code_issues
from precast.services.plans import issues_content as issues
from precast.services.plans.task_content import TaskContentService
from precast.store.code.blobs import Blobs
from precast.wire.plans.task_content import PATH, StoredContent

# A node collects one file after the other; a second place is for one that has given up a connection and tries again.
PLACES = 2


class TaskContentApi:
    """Handles the routes of the content of tasks."""

    def __init__(self, service: TaskContentService, blobs: Blobs) -> None:
        self._service, self._blobs = service, blobs
        self._uploads = UploadPlaces(PLACES)

    @route(
        "GET",
        f"{PATH}/{{digest}}",
        NODE,
        "Content that the task needs which the calling node carries out",
        Content,
        errors=(code_issues.NO_CONTENT,),
        is_stream=True,
    )
    async def send_content(self, call: Call) -> web.StreamResponse:
        """Send content that a job allows. Other content is reported as not found, whether it exists or not."""
        size = await self._service.find_size(_node(call), call.path["digest"])
        return await send_content(call.body, self._blobs, call.path["digest"], size)

    @route(
        "PUT",
        f"{PATH}/{{digest}}",
        NODE,
        "Store content that the task collects which the calling node carries out",
        StoredContent,
        errors=(
            *(issues.NOT_COLLECTING, issues.QUOTA_REACHED, code_issues.BAD_DIGESTS, code_issues.WRONG_CONTENT),
            *(code_issues.CONTENT_TOO_LARGE, code_issues.CONTENT_INCOMPLETE, code_issues.NO_DISK_SPACE),
            api_issues.TOO_SLOW,
        ),
        is_stream=True,
    )
    async def receive(self, call: Call) -> StoredContent:
        node, request = _node(call), call.body
        async with self._uploads.place(node):
            return await self._service.receive(node, call.path["digest"], request.content_length, read_content(request))


def _node(call: Call) -> str:
    assert isinstance(call.caller, NodeCaller), "the routes require it"
    return call.caller.name
