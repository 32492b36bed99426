"""Finds the work of each kind, and describes it for people. A reboot is none of these: it ends the process that asks for it."""

from collections.abc import Mapping
from typing import Any

from precast.agent.tasks.catalogs import CatalogAccess
from precast.agent.tasks.context import StepOutcome, TaskContext
from precast.catalog.part import PartSelection
from precast.wire.jobs.programs import (
    AnyWork,
    CatalogWork,
    CollectWork,
    CopyWork,
    ExecutableWork,
    ManifestWork,
    NoWork,
    RebootWork,
    ShellWork,
    SyncWork,
    UploadWork,
)


def carry_out_work(
    context: TaskContext, work: AnyWork, inputs: Mapping[str, Any], access: CatalogAccess
) -> StepOutcome:
    """Carry out a work once. Raises what the parts of the agent raise that do it."""
    match work:
        case NoWork():
            return StepOutcome(True)
        case ShellWork():
            from precast.agent.tasks.works.commands import run_shell

            return run_shell(context, work, inputs)
        case ExecutableWork():
            from precast.agent.tasks.works.commands import run_executable

            return run_executable(context, work, inputs)
        case CatalogWork() | ManifestWork():
            from precast.agent.tasks.works.catalogs import apply_catalog

            return apply_catalog(context, work, access)
        case RebootWork():
            raise TypeError("a reboot is no step")
        case _:
            return _carry_out_files(context, work, inputs)


def _carry_out_files(
    context: TaskContext, work: UploadWork | CollectWork | CopyWork | SyncWork, inputs: Mapping[str, Any]
) -> StepOutcome:
    match work:
        case UploadWork():
            from precast.agent.tasks.files.upload_work import upload_file

            return upload_file(context, work, inputs)
        case CollectWork():
            from precast.agent.tasks.files.collect_work import collect_files

            return collect_files(context, work)
        case CopyWork():
            from precast.agent.tasks.files.copy_work import copy_files

            return copy_files(context, work, inputs)
        case SyncWork():
            from precast.agent.tasks.files.sync_work import sync_directory

            return sync_directory(context, work)


def describe_work(work: AnyWork) -> str:
    """What a work does, in a few words."""
    match work:
        case NoWork():
            return "nothing but tests"
        case ShellWork():
            return f"shell: {work.cmd.strip().splitlines()[0][:200] if work.cmd.strip() else ''}"
        case ExecutableWork():
            return f"task {work.name}"
        case UploadWork():
            return f"write {work.path}"
        case CollectWork():
            return f"collect {len(work.paths)} files"
        case CopyWork():
            return f"copy {len(work.files)} files"
        case SyncWork():
            return f"sync {work.target}"
        case RebootWork():
            return "reboot"
        case CatalogWork():
            return f"{work.mode} {PartSelection(work.tags, work.classes, work.stages)}"
        case ManifestWork():
            return f"{work.mode} {work.entry}"
