"""Scripts: those of the user data and the vendor's, and those that the image has in /var/lib/cloud/scripts/per-*.

The order is cloud-init's: the vendor's, then those that run once on a disk, at every boot, once for an instance, then the user's. Those
of one kind run by their names, one after the other, and one that fails does not keep the others from running. `runcmd` is one of
the user's, by that name: parts without a name of their own (part-001) come before it, `setup.sh` after it.
"""

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.boot.capabilities import Capability
from precast.boot.modules import issues
from precast.boot.modules.context import Context
from precast.boot.modules.contract import Frequency, Module, Part, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.user_commands import RUNCMD, last, run_program, run_script
from precast.boot.userdata.documents import Script, ScriptKind
from precast.resources.files import safe_paths

PLACE = "/var/lib/cloud/scripts"
_Choice = Callable[[Context, Script], bool]


class _Program(NamedTuple):
    name: str
    run: Callable[[], None]


def _run(is_chosen: _Choice, directory: str, context: Context) -> Outcome:
    chosen = [_of_data(context, script) for script in context.scripts if is_chosen(context, script)]
    programs = sorted([*chosen, *_of_image(context, directory)], key=lambda each: each.name)
    if not programs:
        context.outcome.not_run = "there are no such scripts"
    failed: list[str] = []
    for program in programs:
        try:
            program.run()
        except (PrecastError, OSError) as error:
            failed.append(str(error))
    if failed:
        raise issues.SOME_FAILED.error(what="these scripts", failures="; ".join(failed))
    return context.outcome


def _of_data(context: Context, script: Script) -> _Program:
    what = f"script {script.name}" if not script.is_vendor else f"the vendor's script {script.name}"
    file = f"vendor-{script.name}" if script.is_vendor else script.name
    prefix = _prefix(context) if script.is_vendor else []
    return _Program(script.name, lambda: run_script(context, file, script.content, what, prefix=prefix))


def _prefix(context: Context) -> list[str]:
    """What the user wants the vendor's scripts run by."""
    given = context.config.get("vendor_data")
    prefix = given.get("prefix") if isinstance(given, dict) else None
    words = [prefix] if isinstance(prefix, str) else prefix if isinstance(prefix, list) else []
    return [str(word) for word in words]


def _of_image(context: Context, directory: str) -> Iterable[_Program]:
    """Programs in a directory; what cannot be executed is no program."""
    if not directory:
        return
    place = Path(safe_paths.resolve(context.machine.root, f"{PLACE}/{directory}", is_followed=True))
    try:
        names = sorted(path.name for path in place.iterdir())
    except OSError:
        return
    for name in names:
        path = f"{PLACE}/{directory}/{name}"
        file = Path(safe_paths.resolve(context.machine.root, path, is_followed=True))
        if file.is_file() and os.access(file, os.X_OK):
            yield _Program(name, functools.partial(run_program, context, [path], path))
        elif file.is_file():
            context.warn(f"{path} cannot be executed, so it is not run")


# Which scripts belong to a module


def _of_kind(kind: ScriptKind, _: Context, script: Script) -> bool:
    return script.kind is kind


def _is_vendors(_: Context, script: Script) -> bool:
    return script.kind is ScriptKind.SCRIPT and script.is_vendor


def _is_users(is_before: bool, context: Context, script: Script) -> bool:
    """Those before runcmd are all there are if there is no runcmd."""
    if script.kind is not ScriptKind.SCRIPT or script.is_vendor:
        return False
    return is_before == (script.name < RUNCMD or RUNCMD not in context.config)


def _module(
    name: str,
    is_chosen: _Choice,
    frequency: Frequency,
    directory: str = "",
    stage: Stage = Stage.FINAL,
) -> Module:
    run = functools.partial(_run, is_chosen, directory)
    return Module(
        name,
        run,
        {},
        uses=frozenset({Capability.INSTANCE_ID}),
        after=last(name) if stage == Stage.FINAL else (),
        frequency=frequency,
        stage=stage,
        is_wanted=lambda _: True,
        parts=lambda _: (Part(name, run),),
    )


def _kind(kind: ScriptKind) -> _Choice:
    return functools.partial(_of_kind, kind)


_ONCE, _BOOT, _INSTANCE = Frequency.ONCE, Frequency.BOOT, Frequency.INSTANCE
MODULES: Sequence[Module] = (
    _module("boothooks", _kind(ScriptKind.BOOTHOOK), _BOOT, stage=Stage.NETWORK),
    _module("scripts_vendor", _is_vendors, _INSTANCE),
    _module("scripts_once", _kind(ScriptKind.PER_ONCE), _ONCE, "per-once"),
    _module("scripts_boot", _kind(ScriptKind.PER_BOOT), _BOOT, "per-boot"),
    _module("scripts_instance", _kind(ScriptKind.PER_INSTANCE), _INSTANCE, "per-instance"),
    _module("scripts", functools.partial(_is_users, True), _INSTANCE),
    _module("scripts_after_runcmd", functools.partial(_is_users, False), _INSTANCE),
)
