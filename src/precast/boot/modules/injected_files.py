"""Files that the platform puts into the file system (OpenStack's `files`), as its metadata service or its disk has them."""

from precast.boot.capabilities import Capability
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.sources.contract import InjectedFile


def write(context: Context) -> Outcome:
    """The source has checked the paths. Who may read them is not said: root only, as cloud-init does."""
    files: tuple[InjectedFile, ...] = context.value(Capability.FILES, ())
    for file in files:
        context.write(file.path, file.content, 0o660)
    return context.outcome


MODULES = (
    Module(
        "injected_files",
        write,
        {},
        needs=frozenset({Capability.FILES}),
        after=(After("bootcmd", "it prepares what files are written to"),),
        stage=Stage.NETWORK,
        is_wanted=lambda _: True,
    ),
)
