"""snap: assertions and commands, where there is a snap; elsewhere they are reported."""

from precast.boot.modules import issues
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Either, Fields, Items, Table, Text
from precast.resources.commands import has_program

_DEADLINE_S = 1800.0


def run(context: Context) -> Outcome:
    given = context.config["snap"]
    if not context.has_programs or not has_program("snap", context.machine.root):
        context.outcome.not_run = "there is no snap on this system"
        return context.outcome
    failures: list[str] = []
    assertions = given.get("assertions", [])
    texts = list(assertions.values()) if isinstance(assertions, dict) else assertions
    if texts:
        path = context.keep("snap.assertions", ("\n".join(texts) + "\n").encode())
        if not context.run(["snap", "ack", path], deadline_s=_DEADLINE_S).is_success:
            failures.append("assertions")
    commands = given.get("commands", [])
    ordered = [commands[key] for key in sorted(commands)] if isinstance(commands, dict) else commands
    for at, command in enumerate(ordered):
        words = command if isinstance(command, str) or command[:1] == ["snap"] else ["snap", *command]
        done = context.run(words, deadline_s=_DEADLINE_S, what=f"snap command {at + 1}")
        if not done.is_success:
            failures.append(f"command {at + 1}: {' '.join(done.output.split())[-200:]}")
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
        after=(After("packages", "snapd may be one of the packages"), After("users", "snaps may belong to users")),
    ),
)
