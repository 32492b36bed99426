"""rsyslog: files of its configuration, and where it sends what it hears."""

from collections.abc import Mapping
from typing import Any

from precast.boot.modules import services
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Either, Fields, Flag, Items, Table, Text, Unused

_DIRECTORY, _FILE = "/etc/rsyslog.d", "20-cloud-config.conf"
_PACKAGES = "install it with packages"


def run(context: Context) -> Outcome:
    given = settings(context.config["rsyslog"])
    directory = given.get("config_dir", _DIRECTORY)
    has_changed = False
    for name, text in texts(given).items():
        path = name if name.startswith("/") else f"{directory}/{name}"
        has_changed |= context.write(path, text.encode(errors="surrogateescape"))
    command = given.get("service_reload_command", "auto")
    if not has_changed or context.machine.root:
        return context.outcome
    if command == "auto":
        services.restart(context, "rsyslog", "syslog")
    else:
        context.must_run(command, deadline_s=60)
    return context.outcome


def settings(given: Any) -> Mapping[str, Any]:
    """A list alone is one of configurations."""
    found: Mapping[str, Any] = {"configs": given} if isinstance(given, list) else given
    return found


def texts(given: Mapping[str, Any]) -> dict[str, str]:
    """Files with their content: what goes to the same file stands one below the other, and the remotes at the end."""
    usual = given.get("config_filename", _FILE)
    found: dict[str, str] = {}
    for each in given.get("configs", []):
        name, content = (usual, each) if isinstance(each, str) else (each.get("filename", usual), each["content"])
        found[name] = f"{found.get(name, '')}{content.rstrip()}\n"
    lines = [f"{remote(spec)} # {name}" for name, spec in given.get("remotes", {}).items() if spec]
    if lines:
        found[usual] = found.get(usual, "") + "\n".join(lines) + "\n"
    return found


def remote(given: str) -> str:
    """`[SELECTOR] [@|@@]HOST[:PORT]` as rsyslog has it: all messages over UDP unless it is said."""
    selector, _, target = given.strip().rpartition(" ")
    return f"{selector.strip() or '*.*'} {target if target.startswith('@') else f'@{target}'}"


_CONFIGS = Items(Either(Text(), Fields({"content": Text(), "filename": Text()}, required=("content",))))
MODULES = (
    Module(
        "rsyslog",
        run,
        {
            "rsyslog": Either(
                Fields(
                    {
                        "configs": _CONFIGS,
                        "config_dir": Text(),
                        "config_filename": Text(),
                        "remotes": Table(Text()),
                        "service_reload_command": Either(Text(), Items(Text())),
                        "install_rsyslog": Either(Flag(), Unused(_PACKAGES)),
                        "check_exe": Unused(_PACKAGES),
                        "packages": Unused(_PACKAGES),
                    }
                ),
                _CONFIGS,
            )
        },
        stage=Stage.NETWORK,
        after=(After("bootcmd", "bootcmd comes before everything that configures"),),
    ),
)
