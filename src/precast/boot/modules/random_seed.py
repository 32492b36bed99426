"""random_seed: adds entropy from the configuration to the kernel's pool, before keys are generated."""

import base64
import binascii

from precast.boot.modules import issues
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Binary, Fields, Flag, Items, Text
from precast.boot.userdata import encodings
from precast.resources.commands import has_program


def run(context: ModuleContext) -> ModuleOutcome:
    settings = context.config["random_seed"]
    path = settings.get("file", "/dev/urandom")
    data = settings.get("data", b"")
    content = _decode(data if isinstance(data, bytes) else data.encode(), settings.get("encoding", "raw"))
    if content and path == "/dev/urandom" and not context.machine.root:
        context.record_change("seed the kernel's entropy pool")
        if not context.is_dry_run:
            with open(path, "ab", buffering=0) as pool:  # noqa: PTH123 - a device
                pool.write(content)
    elif content and path != "/dev/urandom":
        context.write(path, content, 0o600)
    command = settings.get("command")
    if command and (not context.has_programs or not has_program(command[0], context.machine.root)):
        if settings.get("command_required"):
            raise issues.NO_PROGRAM.error(program=command[0], what="random_seed.command")
        context.warn(f"random_seed.command: {command[0]} is not installed")
    elif command:
        context.must_run(command, environment={"RANDOM_SEED_FILE": path}, deadline_s=300)
    return context.outcome


def _decode(data: bytes, encoding: str) -> bytes:
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
        after=(Predecessor("bootcmd", "bootcmd runs before every module that configures something"),),
    ),
)
