"""snap: acknowledges assertions and runs snap commands. Without snap the module fails."""

from precast.boot.modules import issues
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Fields, Items, Table, Text
from precast.resources.commands import has_program

_DEADLINE_S = 1800.0


def run(context: ModuleContext) -> ModuleOutcome:
    """Run the commands. Raises UnavailableError BOOT-208 without snap: somebody who installs it later must not have them run by a boot."""
    settings = context.config["snap"]
    if not context.has_programs or not has_program("snap", context.machine.root):
        raise issues.NO_PROGRAM.error(what="snap", program="snap")
    failures: list[str] = []
    assertions = settings.get("assertions", [])
    texts = list(assertions.values()) if isinstance(assertions, dict) else assertions
    if texts:
        path = context.store_program("snap.assertions", ("\n".join(texts) + "\n").encode())
        if not context.run(["snap", "ack", path], deadline_s=_DEADLINE_S).is_success:
            failures.append("assertions")
    commands = settings.get("commands", [])
    ordered = [commands[key] for key in sorted(commands)] if isinstance(commands, dict) else commands
    for number, command in enumerate(ordered, 1):
        argv = command if isinstance(command, str) or command[:1] == ["snap"] else ["snap", *command]
        result = context.run(argv, deadline_s=_DEADLINE_S, what=f"snap command {number}")
        if not result.is_success:
            failures.append(f"command {number}: {' '.join(result.output.split())[-200:]}")
    if failures:
        raise issues.SOME_FAILED.error(what="snap", failures="; ".join(failures))
    return context.outcome


_COMMAND = Either(Text(), Items(Text()))
MODULES = (
    Module(
        "snap",
        run,
        {
            "snap": Fields(
                {
                    "assertions": Either(Items(Text()), Table(Text())),
                    "commands": Either(Items(_COMMAND), Table(_COMMAND)),
                }
            )
        },
        stage=Stage.FINAL,
        is_repeatable=False,  # it runs the user's commands
        after=(
            Predecessor("packages", "snapd may be one of the packages"),
            Predecessor("users", "snaps may belong to users"),
        ),
    ),
)
