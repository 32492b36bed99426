"""power_state: shuts the machine down or reboots it when the boot has finished.

The machine must not shut down before the boot has written its results: otherwise every boot would run the modules and shut down again.
So a child process waits for this process to end and then calls shutdown.
"""

import os

from precast.boot.modules import issues
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Fields, Flag, Items, Number, Text
from precast.boot.modules.user_commands import DEADLINE_S, SCRIPTS

_OPTIONS = {"poweroff": "-P", "halt": "-H", "reboot": "-r"}
_WAIT_SCRIPT = """
setsid sh -c 'n=0; while kill -0 "$0" 2>/dev/null && [ "$n" -lt "$1" ]; do n=$((n+1)); sleep 1; done; shift; exec "$@"' "$@" \
    >/dev/null 2>&1 </dev/null &
"""


def shut_down(context: ModuleContext, mode: str, delay: str, message: str, timeout_s: int = 30) -> None:
    """Schedule a shutdown that starts after this process has ended."""
    when = delay if delay == "now" or ":" in delay else f"+{delay.removeprefix('+')}"
    shutdown = ["shutdown", _OPTIONS[mode], when, *([message] if message else [])]
    argv = ["/bin/sh", "-c", _WAIT_SCRIPT, "sh", str(os.getpid()), str(timeout_s), *shutdown]
    context.run(argv, what=f"{mode} {when} when the boot has finished", deadline_s=30)


def run(context: ModuleContext) -> ModuleOutcome:
    settings = context.config["power_state"]
    if context.machine.root:
        context.outcome.not_run = "only the machine itself can be shut down, not a root"
        return context.outcome
    condition = settings.get("condition", True)
    if isinstance(condition, bool):
        is_met = condition
    elif context.is_dry_run:
        is_met = True
    else:
        argv = condition if isinstance(condition, list) else ["/bin/sh", "-c", condition]
        is_met = context.query(argv, deadline_s=DEADLINE_S).is_success
    if not is_met:
        # As in cloud-init it counts as run: the condition of a later boot must not shut down a machine that is in use.
        context.outcome.remark = "its condition is not met"
        return context.outcome
    delay = settings.get("delay", "now")
    if not (delay == "now" or delay.removeprefix("+").isdecimal() or delay.replace(":", "").isdecimal()):
        raise issues.BAD_DELAY.error(delay=delay)
    shut_down(context, settings["mode"], delay, settings.get("message", ""), settings.get("timeout", 30))
    return context.outcome


MODULES = (
    Module(
        "power_state",
        run,
        {
            "power_state": Fields(
                {
                    "mode": Text(tuple(_OPTIONS)),
                    "delay": Text(),
                    "message": Text(),
                    "timeout": Number(0),
                    "condition": Either(Flag(), Text(), Items(Text())),
                },
                required=("mode",),
            )
        },
        stage=Stage.FINAL,
        is_repeatable=False,
        after=tuple(
            Predecessor(name, "the machine shuts down after all other modules")
            for name in (
                "packages", "write_files_deferred", "snap", *SCRIPTS, "final_message", "phone_home", "precast",
                "reboot_if_required",
            )
        ),
    ),
)  # fmt: skip
