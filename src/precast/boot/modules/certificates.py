"""ca_certs: authorities that the machine trusts, beside or instead of those it comes with."""

from pathlib import Path
from typing import NamedTuple

from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Fields, Flag, Items, Text
from precast.resources.commands import has_program


class Store(NamedTuple):
    directory: str
    suffix: str
    command: tuple[str, ...]


_STORES = (
    Store("/usr/local/share/ca-certificates", ".crt", ("update-ca-certificates",)),
    Store("/etc/pki/ca-trust/source/anchors", ".crt", ("update-ca-trust",)),
    Store("/etc/pki/trust/anchors", ".pem", ("update-ca-certificates",)),
)
_CONF = "/etc/ca-certificates.conf"


def run(context: Context) -> Outcome:
    given = context.config.get("ca_certs") or context.config.get("ca-certs") or {}
    store = next((each for each in _STORES if context.is_there(each.directory)), _STORES[0])
    has_changed = False
    if given.get("remove_defaults", given.get("remove-defaults", False)):
        has_changed = _remove_defaults(context, store)
    for at, certificate in enumerate(given.get("trusted", []), 1):
        path = f"{store.directory}/precast-boot-{at}{store.suffix}"
        has_changed |= context.write(path, f"{certificate.strip()}\n".encode())
    if not has_changed:
        return context.outcome
    if context.has_programs and has_program(store.command[0], context.machine.root):
        context.must_run(list(store.command), deadline_s=120)
    else:
        context.warn(f"the certificates are written, but not taken in: there is no {store.command[0]} to run")
    return context.outcome


def _remove_defaults(context: Context, store: Store) -> bool:
    if context.is_there(_CONF):
        lines = context.read_text(_CONF).splitlines()
        closed = [line if not line or line[0] in "#!" else f"!{line}" for line in lines]
        return closed != lines and context.write(_CONF, ("\n".join(closed) + "\n").encode())
    bundled = Path(context.machine.path("/usr/share/pki/ca-trust-source"))
    has_changed = False
    for path in sorted(each for each in bundled.glob("*") if each.is_file()):
        has_changed |= context.remove(f"/usr/share/pki/ca-trust-source/{path.name}")
    return has_changed


_SHAPE = Fields({"remove_defaults": Flag(), "remove-defaults": Flag(), "trusted": Items(Text(), takes_one=True)})
MODULES = (
    Module(
        "ca_certs",
        run,
        {"ca_certs": _SHAPE, "ca-certs": _SHAPE},
        stage=Stage.NETWORK,
        after=(
            After("bootcmd", "bootcmd comes before everything that configures"),
            After("write_files", "certificates may be files of the user's"),
        ),
    ),
)
