"""Writes the files that the platform injects (OpenStack's `files`), from its metadata service or its configuration drive."""

from precast.boot.capabilities import Capability
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.sources.contract import InjectedFile


def write(context: ModuleContext) -> ModuleOutcome:
    """Write the files, whose paths the data source has checked. Only root can read them, as in cloud-init."""
    files: tuple[InjectedFile, ...] = context.get_value(Capability.FILES, ())
    for file in files:
        context.write(file.path, file.content, 0o660)
    return context.outcome


MODULES = (
    Module(
        "injected_files",
        write,
        {},
        needs=frozenset({Capability.FILES}),
        after=(Predecessor("bootcmd", "bootcmd may prepare the directories"),),
        stage=Stage.NETWORK,
        has_work=lambda _: True,
    ),
)
