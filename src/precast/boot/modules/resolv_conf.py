"""resolv_conf: writes /etc/resolv.conf on machines where no other program manages it."""

from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Fields, Flag, Items, Table, Text, ValueSchema


def run(context: ModuleContext) -> ModuleOutcome:
    if not context.config.get("manage_resolv_conf"):
        context.outcome.not_run = "manage_resolv_conf is not true"
        return context.outcome
    settings = context.config.get("resolv_conf")
    if not settings:
        context.warn("manage_resolv_conf is true, but the key resolv_conf is missing")
        return context.outcome
    options = settings.get("options", {})
    lines = [
        *([f"domain {settings['domain']}"] if "domain" in settings else []),
        *([f"search {' '.join(settings['searchdomains'])}"] if settings.get("searchdomains") else []),
        *(f"nameserver {address}" for address in settings.get("nameservers", [])),
        *([f"sortlist {' '.join(settings['sortlist'])}"] if settings.get("sortlist") else []),
        *([f"options {' '.join(_format_option(*option) for option in options.items())}"] if options else []),
    ]
    text = "# Written by Precast at boot, because manage_resolv_conf asks for it.\n" + "\n".join(lines) + "\n"
    context.write("/etc/resolv.conf", text.encode())
    return context.outcome


def _format_option(name: str, value: object) -> str:
    return name if value is True or value is None else f"{name}:{value}"


MODULES = (
    Module(
        "resolv_conf",
        run,
        {
            "manage_resolv_conf": Flag(),
            "resolv_conf": Fields(
                {
                    "nameservers": Items(Text(), accepts_single=True),
                    "searchdomains": Items(Text(), accepts_single=True),
                    "domain": Text(),
                    "sortlist": Items(Text(), accepts_single=True),
                    "options": Table(ValueSchema(), keeps_empty=True),
                }
            ),
        },
        stage=Stage.NETWORK,
        after=(Predecessor("bootcmd", "bootcmd runs before every module that configures something"),),
        has_work=lambda config: "manage_resolv_conf" in config,
    ),
)
