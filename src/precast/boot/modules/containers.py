"""lxd: its first configuration, where it is installed; by a document of its own (`preseed`), or by a few words (`init`)."""

from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Fields, Number, Text, Unused
from precast.resources.commands import is_there

_DEADLINE_S = 600.0
_WORDS = {
    "network_address": Text(),
    "network_port": Number(1, 65535),
    "storage_backend": Text(("zfs", "dir", "lvm", "btrfs")),
    "storage_create_device": Text(),
    "storage_create_loop": Number(1),
    "storage_pool": Text(),
    "trust_password": Text(is_secret=True),
}


def set_up(context: Context) -> Outcome:
    given = context.config["lxd"]
    if not context.has_programs or not is_there("lxd", context.machine.root):
        context.outcome.not_run = "there is no lxd on this system; add it to packages or to snap"
        return context.outcome
    if "preseed" in given:
        context.must_run(
            ["lxd", "init", "--preseed"],
            stdin=given["preseed"].encode(),
            what="lxd init --preseed",
            deadline_s=_DEADLINE_S,
        )
    elif "init" in given:
        options = [f"--{name.replace('_', '-')}={given['init'][name]}" for name in _WORDS if name in given["init"]]
        context.must_run(["lxd", "init", "--auto", *options], what="lxd init --auto", deadline_s=_DEADLINE_S)
    return context.outcome


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
