"""lxd: initialises LXD where it is installed, from a document in LXD's own format (`preseed`) or from a few options (`init`)."""

import msgspec

from precast.boot.modules import issues
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Fields, Number, Text, Unsupported
from precast.resources.commands import has_program

_DEADLINE_S = 600.0
_SECRET = "trust_password"  # noqa: S105 - the name of the key, not a password
_OPTIONS = {
    "network_address": Text(),
    "network_port": Number(1, 65535),
    "storage_backend": Text(("zfs", "dir", "lvm", "btrfs")),
    "storage_create_device": Text(),
    "storage_create_loop": Number(1),
    "storage_pool": Text(),
    _SECRET: Text(is_secret=True),
}


def set_up(context: ModuleContext) -> ModuleOutcome:
    """Initialise LXD. Raises UnavailableError BOOT-208 without it: somebody who installs it later must not have it set up by a boot."""
    settings = context.config["lxd"]
    if not context.has_programs or not has_program("lxd", context.machine.root):
        raise issues.NO_PROGRAM.error(what="lxd", program="lxd")
    if "preseed" in settings:
        _preseed(context, settings["preseed"].encode())
    elif "init" in settings:
        init = settings["init"]
        options = [f"--{name.replace('_', '-')}={init[name]}" for name in _OPTIONS if name in init and name != _SECRET]
        context.must_run(["lxd", "init", "--auto", *options], deadline_s=_DEADLINE_S)
        if _SECRET in init:
            # Every user of the machine can read the arguments of a command, but not its standard input.
            _preseed(context, msgspec.json.encode({"config": {"core.trust_password": init[_SECRET]}}))
    return context.outcome


def _preseed(context: ModuleContext, document: bytes) -> None:
    """Apply the settings in a YAML document, and leave all others unchanged. Raises UnavailableError BOOT-201."""
    context.must_run(["lxd", "init", "--preseed"], stdin=document, deadline_s=_DEADLINE_S)


MODULES = (
    Module(
        "lxd",
        set_up,
        {
            "lxd": Fields(
                {
                    "preseed": Text(is_secret=True),
                    "init": Fields(_OPTIONS),
                    "bridge": Unsupported("describe the network in lxd.preseed, or run lxc network create in runcmd"),
                }
            )
        },
        stage=Stage.FINAL,
        is_repeatable=False,  # lxd init refuses what it has made already
        after=(
            Predecessor("packages", "lxd may be one of the packages"),
            Predecessor("snap", "lxd may be one of the snaps"),
            Predecessor("mounts", "the storage may be on a mounted file system"),
        ),
    ),
)
