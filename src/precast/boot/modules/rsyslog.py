"""rsyslog: writes configuration files for rsyslog, and the remote servers to which it forwards messages."""

from collections.abc import Mapping
from typing import Any

from precast.boot.modules import services
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Fields, Flag, Items, Table, Text, Unsupported

_DIRECTORY, _FILE = "/etc/rsyslog.d", "20-cloud-config.conf"
_PACKAGES = "install it with packages"


def run(context: ModuleContext) -> ModuleOutcome:
    settings = normalise_settings(context.config["rsyslog"])
    directory = settings.get("config_dir", _DIRECTORY)
    has_changed = False
    for name, text in render_files(settings).items():
        path = name if name.startswith("/") else f"{directory}/{name}"
        has_changed |= context.write(path, text.encode(errors="surrogateescape"))
    command = settings.get("service_reload_command", "auto")
    if not has_changed or context.machine.root:
        return context.outcome
    if command == "auto":
        services.restart(context, "rsyslog", "syslog")
    else:
        context.must_run(command, deadline_s=60)
    return context.outcome


def normalise_settings(value: Any) -> Mapping[str, Any]:
    """Return the settings as a mapping; a list counts as the value of `configs`."""
    settings: Mapping[str, Any] = {"configs": value} if isinstance(value, list) else value
    return settings


def render_files(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the content of each file: entries for the same file are concatenated, and the remotes follow at the end."""
    default_name = settings.get("config_filename", _FILE)
    contents: dict[str, str] = {}
    for entry in settings.get("configs", []):
        is_text = isinstance(entry, str)
        name, content = (default_name, entry) if is_text else (entry.get("filename", default_name), entry["content"])
        contents[name] = f"{contents.get(name, '')}{content.rstrip()}\n"
    remotes = sorted(settings.get("remotes", {}).items())
    lines = [f"{render_remote(spec)} # {name}" for name, spec in remotes if spec]
    if lines:
        contents[default_name] = contents.get(default_name, "") + "\n".join(lines) + "\n"
    return contents


def render_remote(spec: str) -> str:
    """Convert `[SELECTOR] [@|@@]HOST[:PORT]` to rsyslog's syntax; the default is all messages over UDP."""
    selector, _, target = spec.strip().rpartition(" ")
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
                        "install_rsyslog": Either(Flag(), Unsupported(_PACKAGES)),
                        "check_exe": Unsupported(_PACKAGES),
                        "packages": Unsupported(_PACKAGES),
                    }
                ),
                _CONFIGS,
            )
        },
        stage=Stage.NETWORK,
        after=(Predecessor("bootcmd", "bootcmd runs before every module that configures something"),),
    ),
)
