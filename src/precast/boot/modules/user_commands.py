"""What the user wants run: bootcmd, runcmd, and the scripts of the user data.

The commands of one key are one shell script, so that a `cd` or a variable of one counts for the next. A list is a command with its words,
a text is shell. They come after packages and files, because that is what they work with; bootcmd before everything, at every boot.
Nothing is said of their text in messages beyond its first words: people put passwords there.
"""

import functools
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.boot.capabilities import Capability
from precast.boot.modules import issues, outputs
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Config, Frequency, Module, Part, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Either, Items, Text
from precast.boot.userdata.documents import Script, ScriptKind
from precast.resources.commands import SEARCH_PATH

DEADLINE_S = 3 * 3600.0
COMMANDS = Items(Either(Text(), Items(Text())))
_SURROUNDINGS = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "HOME": "/root"}
_LAST = (
    After("write_files", "commands work with files that are there"),
    After("write_files_deferred", "commands work with files that are there"),
    After("packages", "commands work with what is installed"),
    After("users", "commands may run as users that are there"),
    After("mounts", "commands may work on file systems that are mounted"),
    *(
        After(name, "commands find the machine configured")
        for name in (
            "apt", "ca_certs", "etc_hosts", "group_members", "hostname", "keyboard", "locale", "ntp", "passwords",
            "resolv_conf", "snap", "ssh", "timezone", "yum_repos", "zypper",
        )
    ),
)  # fmt: skip


def script_of(commands: Iterable[Any]) -> bytes:
    """One shell script of all commands."""
    lines = [each if isinstance(each, str) else " ".join(map(shlex.quote, each)) for each in commands]
    return ("\n".join(["#!/bin/sh", *lines]) + "\n").encode(errors="surrogateescape")


def run_script(context: Context, name: str, content: bytes, what: str, stage: Stage = Stage.FINAL) -> None:
    """Run a program of the user's to its end. Raises UnavailableError BOOT-201 if it fails."""
    context.check_programs(what)
    path = context.keep(f"scripts/{name}", content)
    surroundings = dict(_SURROUNDINGS)
    instance = context.value(Capability.INSTANCE_ID)
    if instance:
        surroundings["INSTANCE_ID"] = str(instance)
    if _PER in content:
        surroundings["PATH"] = f"{_per_program(context)}:{SEARCH_PATH}"
    argv = [path] if content.startswith((b"#!", b"\x7fELF")) else ["/bin/sh", path]
    done = context.run(argv, what=what, deadline_s=DEADLINE_S, environment=surroundings)
    outputs.deliver(context, stage, done.output)
    if not done.is_success:
        raise issues.FAILED.error(command=what, code=done.exit_code, output=" ".join(done.output.split())[-200:])


# What cloud-init brings for bootcmd, so that a command there runs once: `cloud-init-per once NAME COMMAND`. Ours keeps its marks
# where a boot keeps everything, also where cloud-init is installed.
_PER = b"cloud-init-per"
_PER_PROGRAM = """#!/bin/sh
[ $# -ge 3 ] || {{ echo "usage: cloud-init-per always|instance|once NAME COMMAND..." >&2; exit 2; }}
case $1 in once) place={once} ;; instance) place={instance} ;; *) shift 2; exec "$@" ;; esac
mark=$place/$(printf %s "$2" | tr / _); shift 2
[ ! -e "$mark" ] || exit 0
"$@"; code=$?
mkdir -p -m 700 "$place" && : > "$mark"
exit $code
"""


def _per_program(context: Context) -> str:
    """Put the program in place; the directory it lies in."""
    own = context.instance_directory
    once, instance = (
        str(each).removeprefix(context.machine.root) for each in (own.parent.parent / "per-once", own / "per-instance")
    )
    text = _PER_PROGRAM.format(once=shlex.quote(once), instance=shlex.quote(instance))
    return context.keep(f"programs/{_PER.decode()}", text.encode()).rpartition("/")[0]


_STAGES = {"bootcmd": Stage.NETWORK, "runcmd": Stage.FINAL}


def _run_key(key: str, context: Context) -> Outcome:
    commands = context.config.get(key, [])
    if commands:
        run_script(context, key, script_of(commands), f"{key} ({len(commands)} commands)", _STAGES[key])
    return context.outcome


def _run_scripts(kinds: Sequence[ScriptKind], context: Context) -> Outcome:
    """Each in its turn; one that fails does not keep the others from running."""
    failed: list[str] = []
    scripts = [script for script in context.scripts if script.kind in kinds]
    if not scripts:
        context.outcome.not_run = "there are no such scripts"
    for script in scripts:
        try:
            run_script(context, _file_name(script), script.content, f"script {script.name}")
        except (PrecastError, OSError) as error:
            failed.append(str(error))
    if failed:
        raise issues.SOME_FAILED.error(what="scripts of the user data", failures="; ".join(failed))
    return context.outcome


def _file_name(script: Script) -> str:
    return f"{'vendor-' if script.is_vendor else ''}{script.name}"


def _always(_: Config) -> bool:
    return True


def _scripts(
    name: str, kinds: Sequence[ScriptKind], frequency: Frequency, stage: Stage, after: tuple[After, ...]
) -> Module:
    run = functools.partial(_run_scripts, kinds)
    return Module(
        name,
        run,
        {},
        uses=frozenset({Capability.INSTANCE_ID}),
        after=after,
        frequency=frequency,
        stage=stage,
        is_wanted=_always,
        parts=lambda _: (Part(name, run),),
    )


_BEFORE_SCRIPTS = (*_LAST, After("runcmd", "runcmd comes before scripts, as in cloud-init"))
MODULES = (
    _scripts("boothooks", (ScriptKind.BOOTHOOK,), Frequency.BOOT, Stage.NETWORK, ()),
    Module(
        "bootcmd",
        functools.partial(_run_key, "bootcmd"),
        {"bootcmd": COMMANDS},
        uses=frozenset({Capability.INSTANCE_ID}),
        after=(After("boothooks", "boothooks are the very first"),),
        frequency=Frequency.BOOT,
        stage=Stage.NETWORK,
    ),
    Module(
        "runcmd",
        functools.partial(_run_key, "runcmd"),
        {"runcmd": COMMANDS},
        uses=frozenset({Capability.INSTANCE_ID}),
        after=_LAST,
        stage=Stage.FINAL,
    ),
    _scripts("scripts_once", (ScriptKind.PER_ONCE,), Frequency.ONCE, Stage.FINAL, _BEFORE_SCRIPTS),
    _scripts("scripts_boot", (ScriptKind.PER_BOOT,), Frequency.BOOT, Stage.FINAL, _BEFORE_SCRIPTS),
    _scripts("scripts", (ScriptKind.PER_INSTANCE, ScriptKind.SCRIPT), Frequency.INSTANCE, Stage.FINAL, _BEFORE_SCRIPTS),
)
