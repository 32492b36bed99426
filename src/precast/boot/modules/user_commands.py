"""What the user wants run by bootcmd and runcmd.

The commands of one key are one shell script, so that a `cd` or a variable of one counts for the next. A list is a command with its words,
a text is shell. They come after packages and files, because that is what they work with; bootcmd before everything, at every boot.
Nothing is said of their text in messages beyond its first words: people put passwords there.
"""

import functools
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from precast.boot.capabilities import Capability
from precast.boot.modules import issues, outputs
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Frequency, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Either, Items, Text
from precast.resources.commands import SEARCH_PATH

DEADLINE_S = 3 * 3600.0
RUNCMD = "runcmd"
COMMANDS = Items(Either(Text(), Items(Text())))
_SURROUNDINGS = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "HOME": "/root"}
LAST = (
    After("write_files", "commands work with files that are there"),
    After("write_files_deferred", "commands work with files that are there"),
    After("packages", "commands work with what is installed"),
    After("users", "commands may run as users that are there"),
    After("mounts", "commands may work on file systems that are mounted"),
    *(
        After(name, "commands find the machine configured")
        for name in (
            "apt", "ca_certs", "disable_ec2_metadata", "platform_certificates", "etc_hosts", "group_members",
            "hostname", "keyboard", "locale", "lxd", "ntp", "passwords", "post_password", "resolv_conf", "snap", "rsyslog",
            "ssh", "ssh_import_id", "timezone", "wireguard", "yum_repos", "zypper",
        )
    ),
)  # fmt: skip


# The order in which cloud-init runs scripts: modules of `scripts`, and runcmd among them.
SCRIPTS = (
    "scripts_vendor", "scripts_once", "scripts_boot", "scripts_instance", "scripts", RUNCMD, "scripts_after_runcmd",
)  # fmt: skip


def last(name: str) -> tuple[After, ...]:
    """What a module of SCRIPTS comes after."""
    before = SCRIPTS[: SCRIPTS.index(name)]
    return (*LAST, *(After(one, "scripts run in the order in which cloud-init runs them") for one in before))


def script_of(commands: Iterable[Any]) -> bytes:
    """One shell script of all commands."""
    lines = [each if isinstance(each, str) else " ".join(map(shlex.quote, each)) for each in commands]
    return ("\n".join(["#!/bin/sh", *lines]) + "\n").encode(errors="surrogateescape")


def run_script(
    context: Context, name: str, content: bytes, what: str, stage: Stage = Stage.FINAL, prefix: Sequence[str] = ()
) -> None:
    """Run a script of the user's to its end. Raises UnavailableError BOOT-201 if it fails."""
    context.check_programs(what)
    path = context.keep(f"scripts/{name}", content)
    argv = [path] if content.startswith((b"#!", b"\x7fELF")) else ["/bin/sh", path]
    run_program(context, [*prefix, *argv], what, stage, has_per=_PER in content)


def run_program(
    context: Context, argv: Sequence[str], what: str, stage: Stage = Stage.FINAL, has_per: bool = False
) -> None:
    """Run a program as the user's programs are run, to its end. Raises UnavailableError BOOT-201 if it fails."""
    surroundings = dict(_SURROUNDINGS)
    instance = context.value(Capability.INSTANCE_ID)
    if instance:
        surroundings["INSTANCE_ID"] = str(instance)
    if has_per:
        surroundings["PATH"] = f"{_per_program(context)}:{SEARCH_PATH}"
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


MODULES = (
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
        RUNCMD,
        functools.partial(_run_key, RUNCMD),
        {RUNCMD: COMMANDS},
        uses=frozenset({Capability.INSTANCE_ID}),
        after=last(RUNCMD),
        stage=Stage.FINAL,
    ),
)
