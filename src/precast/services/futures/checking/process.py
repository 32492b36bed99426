"""Has a child process check the catalogs of a job."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from precast.base import async_programs
from precast.base.confinement.children import command
from precast.base.confinement.confine import Level
from precast.base.frames import make_frame
from precast.services.futures.checking.messages import JointAnswer, JointRequest, decode_answer, encode

DEADLINE_S = 150.0
MAX_OUT_BYTES = 16 * 1024 * 1024

# Reads a document by its digest.
ReadDocument = Callable[[str], Awaitable[bytes]]


def checking_command(level: Level) -> list[str]:
    """The command that starts the child process."""
    return command("precast.services.futures.checking.child", level=level)


async def check_in_child(
    request: JointRequest, digests: Sequence[str], read: ReadDocument, level: Level = Level.STRICT
) -> JointAnswer:
    """Check catalogs; `digests` are those of the documents and source maps that the request announces, an empty one without content.

    If the process fails the answer has the reason. Cancelling ends the process. Documents are read one after the other.
    """

    async def read_input() -> AsyncIterator[bytes]:
        yield make_frame(encode(request))
        for digest in digests:
            yield make_frame(await read(digest) if digest else b"")

    ended = await async_programs.run(
        checking_command(level), deadline_s=DEADLINE_S, max_out_bytes=MAX_OUT_BYTES, environment={}, stdin=read_input()
    )
    if ended.trouble:
        return JointAnswer(reason=ended.trouble.splitlines()[-1])
    return decode_answer(ended.out)
