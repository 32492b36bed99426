"""Routes about the content of tasks and commands: a node fetches what its task needs, and sends what its task collects, or its output.

People with the role for commands read what nodes have sent.
"""

from aiohttp import web

from precast.api.http import issues as api_issues
from precast.api.http.ranges import send_content
from precast.api.http.routes import NODE, Call, Content, NodeCaller, person, route
from precast.api.http.uploads import UploadPlaces, read_content
from precast.services.code import issues as code_issues
from precast.services.identity.roles import COMMANDS
from precast.services.issues import BAD_VALUE
from precast.services.plans import issues_content as issues
from precast.services.plans.task_content import SentContent, TaskContentService
from precast.store.code.blobs import Blobs
from precast.wire.jobs.order_ids import MAX_TASK
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

    @route(
        "GET",
        "/v1/commands/{run}/content/{node}",
        person(COMMANDS),
        "The whole output of a node in a run, if it has more than the run shows; with path, a file that a task of a plan has collected",
        Content,
        query=("task", "path"),
        errors=(issues.NOT_STORED, BAD_VALUE),
        is_stream=True,
    )
    async def send_sent(self, call: Call) -> web.StreamResponse:
        sent = SentContent(call.path["run"], _read_task(call), call.path["node"], call.query.get("path", ""))
        stored = await self._service.find_sent(sent)
        return await send_content(call.body, self._blobs, stored.digest, stored.size)


def _read_task(call: Call) -> int:
    """The number of the task; a command is the only one of its run. Raises InputError AUTH-002."""
    text = call.query.get("task", "1")
    if text.isascii() and text.isdigit() and len(text) <= 6:
        return int(text)
    raise BAD_VALUE.error(what="task", least=1, most=MAX_TASK)


def _node(call: Call) -> str:
    assert isinstance(call.caller, NodeCaller), "the routes require it"
    return call.caller.name
