"""resolv_conf: where names are looked up, where nothing else manages that."""

from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Fields, Flag, Items, Shape, Table, Text


def run(context: Context) -> Outcome:
    if not context.config.get("manage_resolv_conf"):
        context.outcome.not_run = "manage_resolv_conf is not true"
        return context.outcome
    given = context.config.get("resolv_conf")
    if not given:
        context.warn("manage_resolv_conf: there is no resolv_conf to write")
        return context.outcome
    options = given.get("options", {})
    lines = [
        *([f"domain {given['domain']}"] if "domain" in given else []),
        *([f"search {' '.join(given['searchdomains'])}"] if given.get("searchdomains") else []),
        *(f"nameserver {each}" for each in given.get("nameservers", [])),
        *([f"sortlist {' '.join(given['sortlist'])}"] if given.get("sortlist") else []),
        *([f"options {' '.join(_option(*each) for each in options.items())}"] if options else []),
    ]
    text = "# Written by Precast at boot, because manage_resolv_conf asks for it.\n" + "\n".join(lines) + "\n"
    context.write("/etc/resolv.conf", text.encode())
    return context.outcome


def _option(name: str, value: object) -> str:
    return name if value is True or value is None else f"{name}:{value}"


MODULES = (
    Module(
        "resolv_conf",
        run,
        {
            "manage_resolv_conf": Flag(),
            "resolv_conf": Fields(
                {
                    "nameservers": Items(Text(), takes_one=True),
                    "searchdomains": Items(Text(), takes_one=True),
                    "domain": Text(),
                    "sortlist": Items(Text(), takes_one=True),
                    "options": Table(Shape(), keeps_empty=True),
                }
            ),
        },
        stage=Stage.NETWORK,
        after=(After("bootcmd", "bootcmd comes before everything that configures"),),
        is_wanted=lambda config: "manage_resolv_conf" in config,
    ),
)
