"""output: where what the user's commands print goes besides the log of the boot.

`>> FILE`, `> FILE` or `| COMMAND`, for all stages or for each. It is delivered when the command has ended.
"""

from precast.boot.modules.context import Context
from precast.boot.modules.contract import Module, Stage
from precast.boot.modules.shapes import Either, Fields, Items, Text, Unused

_NAMES = {Stage.LOCAL: "init", Stage.NETWORK: "init", Stage.CONFIG: "config", Stage.FINAL: "final"}


def deliver(context: Context, stage: Stage, text: str) -> None:
    """Hand what a command printed to where the user wants it; what goes wrong there is a warning."""
    given = context.config.get("output", {})
    wish = given.get(_NAMES[stage], given.get("all"))
    if isinstance(wish, dict):
        wish = wish.get("output")
    if isinstance(wish, list):
        wish = wish[0] if wish else None
    if not wish or not text or context.is_dry_run:
        return
    word = wish.strip()
    data = text.encode(errors="surrogateescape")
    if word.startswith("|"):
        done = context.machine.run(["/bin/sh", "-c", word[1:]], stdin=data, deadline_s=60, umask=0o027)
        if not done.is_success:
            context.warn(f"output: {word} failed with exit code {done.exit_code}")
        return
    path = word.lstrip("> ")
    if not path.startswith("/"):
        context.warn(f"output: {word!r} is neither > FILE, >> FILE nor | COMMAND")
        return
    present = b"" if word.startswith(">") and not word.startswith(">>") else context.read(path) or b""
    context.write(path, present + data, 0o640)


_ONE = Either(Text(), Items(Text()), Fields({"output": Text(), "error": Unused("errors go where the output goes")}))
MODULES = (
    Module(
        "output",
        lambda context: context.outcome,
        {"output": Fields({"all": _ONE, "init": _ONE, "config": _ONE, "final": _ONE})},
        parts=lambda _: (),  # it is read by what runs commands
    ),
)
