"""Runs the user's commands of bootcmd and runcmd.

The commands of one key form one shell script, so that a `cd` or a variable of one command affects the next. A list is a command with its
arguments, a text is shell code. runcmd runs after packages and files, which its commands use; bootcmd runs before everything else, at
every boot. Messages do not contain the text of the commands, because people put passwords there.

Commands may reboot the machine, and many do. So whatever has begun counts as run, even if it never ended.
"""

import functools
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from precast.boot.capabilities import Capability
from precast.boot.modules import issues, outputs
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Frequency, Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Items, Text
from precast.resources.commands import SEARCH_PATH

DEADLINE_S = 3 * 3600.0
RUNCMD = "runcmd"
COMMANDS = Items(Either(Text(), Items(Text())))
_ENVIRONMENT = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "HOME": "/root"}
PREDECESSORS = (
    Predecessor("write_files", "commands may use the written files"),
    Predecessor("write_files_deferred", "commands may use the written files"),
    Predecessor("packages", "commands may use the installed packages"),
    Predecessor("users", "commands may run as the created users"),
    Predecessor("mounts", "commands may use the mounted file systems"),
    *(
        Predecessor(name, "commands run on a configured machine")
        for name in (
            "apt", "ca_certs", "disable_ec2_metadata", "platform_certificates", "etc_hosts", "group_members",
            "hostname", "keyboard", "locale", "lxd", "ntp", "passwords", "post_password", "resolv_conf", "snap", "rsyslog",
            "ssh", "ssh_import_id", "timezone", "wireguard", "yum_repos", "zypper",
        )
    ),
)  # fmt: skip


# The modules that run scripts, including runcmd, in cloud-init's order.
SCRIPTS = (
    "scripts_vendor", "scripts_once", "scripts_boot", "scripts_instance", "scripts", RUNCMD, "scripts_after_runcmd",
)  # fmt: skip


# In cloud-init these are one module, so that they count as run together once the first of them has begun.
USER_SCRIPTS = ("scripts", RUNCMD, "scripts_after_runcmd")


def require_turn(context: ModuleContext, name: str) -> None:
    """Raises ConflictError BOOT-212 if an earlier boot began the user's scripts, and was cut off before it came to this module."""
    earlier = [module for module in USER_SCRIPTS if module in context.begun_earlier and module != name]
    if name in USER_SCRIPTS and earlier:
        raise issues.BEGUN_EARLIER.error(earlier=" and ".join(earlier))


def list_predecessors(name: str) -> tuple[Predecessor, ...]:
    """Return the predecessors of a module in SCRIPTS."""
    earlier = SCRIPTS[: SCRIPTS.index(name)]
    return (*PREDECESSORS, *(Predecessor(module, "scripts run in cloud-init's order") for module in earlier))


def render_script(commands: Iterable[Any]) -> bytes:
    """Return one shell script with all commands."""
    lines = [command if isinstance(command, str) else shlex.join(command) for command in commands]
    return ("\n".join(["#!/bin/sh", *lines]) + "\n").encode(errors="surrogateescape")


def run_script(
    context: ModuleContext, name: str, content: bytes, what: str, stage: Stage = Stage.FINAL, prefix: Sequence[str] = ()
) -> None:
    """Run one of the user's scripts and wait for its end. Raises UnavailableError BOOT-201 if it fails."""
    context.require_programs(what)
    path = context.store_program(f"scripts/{name}", content)
    argv = [path] if content.startswith((b"#!", b"\x7fELF")) else ["/bin/sh", path]
    run_program(context, [*prefix, *argv], what, stage, has_per=_PER in content)


def run_program(
    context: ModuleContext, argv: Sequence[str], what: str, stage: Stage = Stage.FINAL, has_per: bool = False
) -> None:
    """Run a program in the environment of the user's programs and wait for its end. Raises UnavailableError BOOT-201 if it fails."""
    environment = dict(_ENVIRONMENT)
    instance = context.get_value(Capability.INSTANCE_ID)
    if instance:
        environment["INSTANCE_ID"] = str(instance)
    if has_per:
        environment["PATH"] = f"{_install_per_program(context)}:{SEARCH_PATH}"
    result = context.run(argv, what=what, deadline_s=DEADLINE_S, environment=environment)
    outputs.deliver(context, stage, result.output)
    if not result.is_success:
        output = " ".join(result.output.split())[-200:]
        raise issues.FAILED.error(command=what, code=result.exit_code, output=output)


# cloud-init provides this program so that a command of bootcmd runs only once: `cloud-init-per once NAME COMMAND`. Ours stores its
# marks in Precast's own state directory, also where cloud-init is installed. Unlike cloud-init's, it makes and flushes the mark before the
# command begins: a command that reboots the machine may never end.
_PER = b"cloud-init-per"
_PER_PROGRAM = """#!/bin/sh
[ $# -ge 3 ] || {{ echo "usage: cloud-init-per always|instance|once NAME COMMAND..." >&2; exit 2; }}
case $1 in once) place={once} ;; instance) place={instance} ;; *) shift 2; exec "$@" ;; esac
mark=$place/$(printf %s "$2" | tr / _); shift 2
[ ! -e "$mark" ] || exit 0
mkdir -p -m 700 "$place" && : > "$mark" || exit 1
sync "$mark" "$place" "${{place%/*}}" 2>/dev/null || sync
exec "$@"
"""


def _install_per_program(context: ModuleContext) -> str:
    """Write the program and return its directory."""
    own = context.instance_directory
    directories = (own.parent.parent / "per-once", own / "per-instance")
    once, instance = (str(directory).removeprefix(context.machine.root) for directory in directories)
    text = render_per_program(once, instance)
    return context.store_program(f"programs/{_PER.decode()}", text.encode()).rpartition("/")[0]


def render_per_program(once: str, instance: str) -> str:
    """Return the program with the directories of its marks."""
    return _PER_PROGRAM.format(once=shlex.quote(once), instance=shlex.quote(instance))


_STAGES = {"bootcmd": Stage.NETWORK, "runcmd": Stage.FINAL}


def _run_key(key: str, context: ModuleContext) -> ModuleOutcome:
    commands = context.config.get(key, [])
    if commands:
        require_turn(context, key)
        run_script(context, key, render_script(commands), f"{key} ({len(commands)} commands)", _STAGES[key])
    return context.outcome


MODULES = (
    Module(
        "bootcmd",
        functools.partial(_run_key, "bootcmd"),
        {"bootcmd": COMMANDS},
        uses=frozenset({Capability.INSTANCE_ID}),
        after=(Predecessor("boothooks", "boothooks run before everything else"),),
        frequency=Frequency.BOOT,
        is_repeatable=False,
        stage=Stage.NETWORK,
    ),
    Module(
        RUNCMD,
        functools.partial(_run_key, RUNCMD),
        {RUNCMD: COMMANDS},
        uses=frozenset({Capability.INSTANCE_ID}),
        after=list_predecessors(RUNCMD),
        is_repeatable=False,
        stage=Stage.FINAL,
    ),
)
