"""output: sends the output of the user's commands to a further destination besides the log of the boot.

The destination is `>> FILE`, `> FILE` or `| COMMAND`, for all stages or for each. The output is delivered when the command has ended.
"""

from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Stage
from precast.boot.modules.schema import Either, Fields, Items, Text, Unsupported

_NAMES = {Stage.LOCAL: "init", Stage.NETWORK: "init", Stage.CONFIG: "config", Stage.FINAL: "final"}


def deliver(context: ModuleContext, stage: Stage, text: str) -> None:
    """Send the output of a command to the user's destination for this stage. A failure there is a warning."""
    settings = context.config.get("output", {})
    setting = settings.get(_NAMES[stage], settings.get("all"))
    if isinstance(setting, dict):
        setting = setting.get("output")
    if isinstance(setting, list):
        setting = setting[0] if setting else None
    if not setting or not text or context.is_dry_run:
        return
    destination = setting.strip()
    data = text.encode(errors="surrogateescape")
    if destination.startswith("|"):
        result = context.machine.run(["/bin/sh", "-c", destination[1:]], stdin=data, deadline_s=60, umask=0o027)
        if not result.is_success:
            context.warn(f"output: {destination} failed with exit code {result.exit_code}")
        return
    path = destination.lstrip("> ")
    if not path.startswith("/"):
        context.warn(f"output: {destination!r} is neither > FILE, >> FILE nor | COMMAND")
        return
    is_truncating = destination.startswith(">") and not destination.startswith(">>")
    present = b"" if is_truncating else context.read(path) or b""
    context.write(path, present + data, 0o640)


_DESTINATION = Either(
    Text(), Items(Text()), Fields({"output": Text(), "error": Unsupported("errors go to the same place as the output")})
)
MODULES = (
    Module(
        "output",
        lambda context: context.outcome,
        {"output": Fields(dict.fromkeys(("all", "init", "config", "final"), _DESTINATION))},
        parts=lambda _: (),  # the modules that run commands read this key
    ),
)
