"""lxd: its first configuration, where it is installed; by a document of its own (`preseed`), or by a few words (`init`)."""

import msgspec

from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Fields, Number, Text, Unused
from precast.resources.commands import has_program

_DEADLINE_S = 600.0
_SECRET = "trust_password"  # noqa: S105 - the key it has
_WORDS = {
    "network_address": Text(),
    "network_port": Number(1, 65535),
    "storage_backend": Text(("zfs", "dir", "lvm", "btrfs")),
    "storage_create_device": Text(),
    "storage_create_loop": Number(1),
    "storage_pool": Text(),
    _SECRET: Text(is_secret=True),
}


def set_up(context: Context) -> Outcome:
    given = context.config["lxd"]
    if not context.has_programs or not has_program("lxd", context.machine.root):
        context.outcome.not_run = "there is no lxd on this system; add it to packages or to snap"
        return context.outcome
    if "preseed" in given:
        _preseed(context, given["preseed"].encode())
    elif "init" in given:
        words = given["init"]
        options = [f"--{name.replace('_', '-')}={words[name]}" for name in _WORDS if name in words and name != _SECRET]
        context.must_run(["lxd", "init", "--auto", *options], deadline_s=_DEADLINE_S)
        if _SECRET in words:
            # Everybody on the machine can see the words of a command, and nobody its standard input.
            _preseed(context, msgspec.json.encode({"config": {"core.trust_password": words[_SECRET]}}))
    return context.outcome


def _preseed(context: Context, document: bytes) -> None:
    """Configure what a document in YAML says, and leave the rest. Raises UnavailableError BOOT-201."""
    context.must_run(["lxd", "init", "--preseed"], stdin=document, deadline_s=_DEADLINE_S)


MODULES = (
    Module(
        "lxd",
        set_up,
        {
            "lxd": Fields(
                {
                    "preseed": Text(is_secret=True),
                    "init": Fields(_WORDS),
                    "bridge": Unused(
                        "describe the network in lxd.preseed, or make it in runcmd with lxc network create"
                    ),
                }
            )
        },
        stage=Stage.FINAL,
        after=(
            After("packages", "lxd may be one of the packages"),
            After("snap", "lxd may be one of the snaps"),
            After("mounts", "its storage may lie on what is mounted"),
        ),
    ),
)
