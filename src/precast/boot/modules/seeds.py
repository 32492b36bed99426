"""random_seed: chance from outside for the kernel's pool, before keys are made."""

import base64
import binascii

from precast.boot.modules import issues
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Binary, Fields, Flag, Items, Text
from precast.boot.userdata import encodings
from precast.resources.commands import has_program


def run(context: Context) -> Outcome:
    given = context.config["random_seed"]
    path = given.get("file", "/dev/urandom")
    data = given.get("data", b"")
    content = _decoded(data if isinstance(data, bytes) else data.encode(), given.get("encoding", "raw"))
    if content and path == "/dev/urandom" and not context.machine.root:
        context.changed("seed the kernel's pool")
        if not context.is_dry_run:
            with open(path, "ab", buffering=0) as pool:  # noqa: PTH123 - a device
                pool.write(content)
    elif content and path != "/dev/urandom":
        context.write(path, content, 0o600)
    command = given.get("command")
    if command and (not context.has_programs or not has_program(command[0], context.machine.root)):
        if given.get("command_required"):
            raise issues.NO_PROGRAM.error(program=command[0], what="random_seed.command")
        context.warn(f"random_seed.command: there is no {command[0]} to run")
    elif command:
        context.must_run(command, environment={"RANDOM_SEED_FILE": path}, deadline_s=300)
    return context.outcome


def _decoded(data: bytes, encoding: str) -> bytes:
    if encoding in ("base64", "b64"):
        try:
            return base64.b64decode(data)
        except binascii.Error as error:
            raise issues.BAD_CONTENT.error(path="random_seed", encoding=encoding, reason=error) from None
    return encodings.gunzip(data, "random_seed") if encoding in ("gzip", "gz") else data


MODULES = (
    Module(
        "random_seed",
        run,
        {
            "random_seed": Fields(
                {
                    "file": Text(),
                    "data": Binary(),
                    "encoding": Text(("raw", "base64", "b64", "gzip", "gz")),
                    "command": Items(Text()),
                    "command_required": Flag(),
                }
            )
        },
        stage=Stage.NETWORK,
        after=(After("bootcmd", "bootcmd comes before everything that configures"),),
    ),
)
