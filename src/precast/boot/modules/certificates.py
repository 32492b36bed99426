"""ca_certs: adds certificate authorities to the machine's trust store, or replaces the default ones."""

from typing import NamedTuple

from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Fields, Flag, Items, Text
from precast.resources.commands import has_program


class TrustStore(NamedTuple):
    """Where a distribution reads added authorities from, and the command that activates them."""

    directory: str
    suffix: str
    command: tuple[str, ...]


_STORES = (
    TrustStore("/usr/local/share/ca-certificates", ".crt", ("update-ca-certificates",)),
    TrustStore("/etc/pki/ca-trust/source/anchors", ".crt", ("update-ca-trust",)),
    TrustStore("/etc/pki/trust/anchors", ".pem", ("update-ca-certificates",)),
)
_CONF = "/etc/ca-certificates.conf"
_BUNDLED = "/usr/share/pki/ca-trust-source"


def run(context: ModuleContext) -> ModuleOutcome:
    settings = context.config.get("ca_certs") or context.config.get("ca-certs") or {}
    store = next((store for store in _STORES if context.exists(store.directory)), _STORES[0])
    has_changed = False
    if settings.get("remove_defaults", settings.get("remove-defaults", False)):
        has_changed = _remove_defaults(context)
    for number, certificate in enumerate(settings.get("trusted", []), 1):
        path = f"{store.directory}/precast-boot-{number}{store.suffix}"
        has_changed |= context.write(path, f"{certificate.strip()}\n".encode())
    if not has_changed:
        return context.outcome
    if context.has_programs and has_program(store.command[0], context.machine.root):
        context.must_run(list(store.command), deadline_s=120)
    else:
        context.warn(f"the certificates are written, but not active: {store.command[0]} is not installed")
    return context.outcome


def _remove_defaults(context: ModuleContext) -> bool:
    if context.exists(_CONF):
        lines = context.read_text(_CONF).splitlines()
        disabled = [line if not line or line[0] in "#!" else f"!{line}" for line in lines]
        return disabled != lines and context.write(_CONF, ("\n".join(disabled) + "\n").encode())
    has_changed = False
    for name in context.list_names(_BUNDLED):
        if context.is_file(f"{_BUNDLED}/{name}"):
            has_changed |= context.remove(f"{_BUNDLED}/{name}")
    return has_changed


_SCHEMA = Fields({"remove_defaults": Flag(), "remove-defaults": Flag(), "trusted": Items(Text(), accepts_single=True)})
MODULES = (
    Module(
        "ca_certs",
        run,
        {"ca_certs": _SCHEMA, "ca-certs": _SCHEMA},
        stage=Stage.NETWORK,
        after=(
            Predecessor("bootcmd", "bootcmd runs before every module that configures something"),
            Predecessor("write_files", "the user's files may contain certificates"),
        ),
    ),
)
