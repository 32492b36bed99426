"""power_state: the machine goes down when the boot is over, if the user wants that.

It must not go down while the boot still writes what it has done: else it would do it again, and go down again, at each boot. So a child
waits for this process to end and then calls shutdown.
"""

import os

from precast.boot.modules import issues
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Either, Fields, Flag, Items, Number, Text
from precast.boot.modules.user_commands import DEADLINE_S, SCRIPTS

_OPTIONS = {"poweroff": "-P", "halt": "-H", "reboot": "-r"}
_WAIT = """
setsid sh -c 'n=0; while kill -0 "$0" 2>/dev/null && [ "$n" -lt "$1" ]; do n=$((n+1)); sleep 1; done; shift; exec "$@"' "$@" \
    >/dev/null 2>&1 </dev/null &
"""


def shut_down(context: Context, mode: str, delay: str, message: str, timeout_s: int = 30) -> None:
    """Have the machine go down after this process has ended."""
    minutes = delay if delay == "now" or ":" in delay else f"+{delay.removeprefix('+')}"
    argv = ["shutdown", _OPTIONS[mode], minutes, *([message] if message else [])]
    words = ["/bin/sh", "-c", _WAIT, "sh", str(os.getpid()), str(timeout_s), *argv]
    context.run(words, what=f"{mode} {minutes} when the boot is over", deadline_s=30)


def run(context: Context) -> Outcome:
    given = context.config["power_state"]
    if context.machine.root:
        context.outcome.not_run = "only the machine itself goes down, not a root"
        return context.outcome
    condition = given.get("condition", True)
    if isinstance(condition, bool):
        is_met = condition
    elif context.is_dry_run:
        is_met = True
    else:
        argv = condition if isinstance(condition, list) else ["/bin/sh", "-c", condition]
        is_met = context.ask(argv, deadline_s=DEADLINE_S).is_success
    if not is_met:
        context.outcome.not_run = "its condition is not met"
        return context.outcome
    delay = given.get("delay", "now")
    if not (delay == "now" or delay.removeprefix("+").isdecimal() or delay.replace(":", "").isdecimal()):
        raise issues.BAD_DELAY.error(delay=delay)
    shut_down(context, given["mode"], delay, given.get("message", ""), given.get("timeout", 30))
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
        after=tuple(
            After(name, "the machine goes down when all else is done")
            for name in (
                "packages", "write_files_deferred", "snap", *SCRIPTS, "final_message", "phone_home", "precast",
                "reboot_if_required",
            )
        ),
    ),
)  # fmt: skip
