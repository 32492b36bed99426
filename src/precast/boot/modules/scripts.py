"""Runs scripts: from the user data, from the vendor data, and from the image's directories /var/lib/cloud/scripts/per-*.

The order is cloud-init's: the vendor's scripts, then the scripts that run once per disk, at every boot and once per instance, then the
user's scripts. Scripts of one kind run one after the other, sorted by name, and a failure does not prevent the next script. `runcmd`
counts as a user script with that name: unnamed parts (part-001) run before it, `setup.sh` after it.
"""

import functools
import stat
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.boot.capabilities import Capability
from precast.boot.modules import issues
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Frequency, Module, ModulePart, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.user_commands import (
    RUNCMD,
    USER_SCRIPTS,
    list_predecessors,
    require_turn,
    run_program,
    run_script,
)
from precast.boot.userdata.documents import Script, ScriptKind
from precast.resources.files import safe_reads

DIRECTORY = "/var/lib/cloud/scripts"
_NO_SCRIPTS = "there are no scripts of this kind"
_ScriptFilter = Callable[[ModuleContext, Script], bool]


class _Program(NamedTuple):
    name: str
    run: Callable[[], None]


def _run(
    name: str, is_chosen: _ScriptFilter, frequency: Frequency, directory: str, context: ModuleContext
) -> ModuleOutcome:
    chosen = [_load_data_script(context, script) for script in context.scripts if is_chosen(context, script)]
    programs = sorted([*chosen, *_list_image_scripts(context, directory)], key=lambda program: program.name)
    if not programs and (name in USER_SCRIPTS or frequency is Frequency.BOOT):
        context.outcome.not_run = _NO_SCRIPTS
    elif not programs:
        context.outcome.remark = _NO_SCRIPTS  # as in cloud-init, what somebody adds to the directory later is too late
    else:
        require_turn(context, name)
    failed: list[str] = []
    for program in programs:
        try:
            program.run()
        except (PrecastError, OSError) as error:
            failed.append(str(error))
    if failed:
        raise issues.SOME_FAILED.error(what="the scripts", failures="; ".join(failed))
    return context.outcome


def _load_data_script(context: ModuleContext, script: Script) -> _Program:
    what = f"script {script.name}" if not script.is_vendor else f"the vendor's script {script.name}"
    file = f"vendor-{script.name}" if script.is_vendor else script.name
    prefix = _read_vendor_prefix(context) if script.is_vendor else []
    return _Program(script.name, lambda: run_script(context, file, script.content, what, prefix=prefix))


def _read_vendor_prefix(context: ModuleContext) -> list[str]:
    """Return the command that the user wants to run the vendor's scripts with."""
    settings = context.config.get("vendor_data")
    prefix = settings.get("prefix") if isinstance(settings, dict) else None
    words = [prefix] if isinstance(prefix, str) else prefix if isinstance(prefix, list) else []
    return [str(word) for word in words]


def _list_image_scripts(context: ModuleContext, directory: str) -> Iterable[_Program]:
    """Yield the executable files of a directory that no other user can change."""
    if not directory:
        return
    parents = safe_reads.node_parents(context.machine)
    for name in safe_reads.list_names(parents, f"{DIRECTORY}/{directory}"):
        path = f"{DIRECTORY}/{directory}/{name}"
        status = safe_reads.find_status(parents, path, is_followed=True)
        if status is None or not stat.S_ISREG(status.st_mode):
            continue
        if (reason := safe_reads.find_distrust(parents, path)) is not None:
            context.warn(f"{path} is not run: {reason}")
        elif status.st_mode & 0o111:
            yield _Program(name, functools.partial(run_program, context, [path], path))
        else:
            context.warn(f"{path} is not executable, so it is not run")


# Filters that decide which scripts belong to a module


def _is_of_kind(kind: ScriptKind, _: ModuleContext, script: Script) -> bool:
    return script.kind is kind


def _is_vendor_script(_: ModuleContext, script: Script) -> bool:
    return script.kind is ScriptKind.SCRIPT and script.is_vendor


def _is_user_script(is_before: bool, context: ModuleContext, script: Script) -> bool:
    """Return whether a user script runs before (or after) runcmd. Without runcmd, all scripts count as before."""
    if script.kind is not ScriptKind.SCRIPT or script.is_vendor:
        return False
    return is_before == (script.name < RUNCMD or RUNCMD not in context.config)


def _declare_module(
    name: str,
    is_chosen: _ScriptFilter,
    frequency: Frequency,
    directory: str = "",
    stage: Stage = Stage.FINAL,
) -> Module:
    run = functools.partial(_run, name, is_chosen, frequency, directory)
    return Module(
        name,
        run,
        {},
        uses=frozenset({Capability.INSTANCE_ID}),
        after=list_predecessors(name) if stage == Stage.FINAL else (),
        frequency=frequency,
        is_repeatable=False,
        stage=stage,
        has_work=lambda _: True,
        parts=lambda _: (ModulePart(name, run),),
    )


def _filter_kind(kind: ScriptKind) -> _ScriptFilter:
    return functools.partial(_is_of_kind, kind)


_ONCE, _BOOT, _INSTANCE = Frequency.ONCE, Frequency.BOOT, Frequency.INSTANCE
MODULES: Sequence[Module] = (
    _declare_module("boothooks", _filter_kind(ScriptKind.BOOTHOOK), _BOOT, stage=Stage.NETWORK),
    _declare_module("scripts_vendor", _is_vendor_script, _INSTANCE),
    _declare_module("scripts_once", _filter_kind(ScriptKind.PER_ONCE), _ONCE, "per-once"),
    _declare_module("scripts_boot", _filter_kind(ScriptKind.PER_BOOT), _BOOT, "per-boot"),
    _declare_module("scripts_instance", _filter_kind(ScriptKind.PER_INSTANCE), _INSTANCE, "per-instance"),
    _declare_module("scripts", functools.partial(_is_user_script, True), _INSTANCE),
    _declare_module("scripts_after_runcmd", functools.partial(_is_user_script, False), _INSTANCE),
)
