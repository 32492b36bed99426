"""Asks a program of ours how it is confined.

A child process that confines itself takes the word `confinement` as its last argument: then it confines itself as usual, prints its
measures as JSON and ends. So the answer comes from the same code, in the same circumstances, as the real work.
"""

import sys
from collections.abc import AsyncIterator, Sequence

import msgspec

from precast.base import async_programs
from precast.base.confinement import issues
from precast.base.confinement.confine import Confinement, Level, Measure, confine
from precast.base.errors import PrecastError

ASK = "confinement"
ASK_S = 30.0
MAX_OUT_BYTES = 64 * 1024
# The exit code of a child that could not be confined.
UNCONFINED = 75


async def probe(level: Level) -> tuple[Measure, ...]:
    """How this system confines a child that only computes. Raises UnavailableError CONFINE-001 if it cannot do it."""
    return await ask(command(__name__, level=level))


async def ask(argv: Sequence[str], stdin: bytes = b"") -> tuple[Measure, ...]:
    """How the child process that this command starts is confined. Raises UnavailableError CONFINE-001 if it cannot be."""

    async def read_input() -> AsyncIterator[bytes]:
        yield stdin

    ended = await async_programs.run(
        [*argv, ASK], deadline_s=ASK_S, max_out_bytes=MAX_OUT_BYTES, environment={}, stdin=read_input()
    )
    if ended.trouble:
        raise issues.NOT_CONFINED.error(missing=ended.trouble.splitlines()[-1])
    return msgspec.json.decode(ended.out, type=tuple[Measure, ...])


def confine_or_exit(wanted: Confinement) -> tuple[Measure, ...]:
    """Confine this child process. It ends with one line on standard error if that is not possible."""
    try:
        return confine(wanted)
    except PrecastError as error:
        print(error.message.partition(": ")[2], file=sys.stderr)  # noqa: T201 - for the process that started this one
        sys.exit(UNCONFINED)


def write_answer(measures: tuple[Measure, ...]) -> None:
    """Answer the question of `ask`, on standard output."""
    sys.stdout.buffer.write(msgspec.json.encode(measures))
    sys.stdout.flush()


def command(module: str, *words: str, level: Level) -> list[str]:
    """The command that starts a module of ours as a confined child: isolated from the environment, with the level as first argument."""
    return [sys.executable, "-I", "-m", module, level.value, *words]


if __name__ == "__main__":
    write_answer(confine_or_exit(Confinement(level=Level(sys.argv[1]))))
