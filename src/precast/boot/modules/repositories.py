"""yum_repos and zypper: write the package manager's repository files."""

from collections.abc import Mapping
from typing import Any

from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Predecessor
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Fields, Items, Table, Text, ValueSchema
from precast.resources.commands import has_program

_FIRST = (Predecessor("bootcmd", "bootcmd runs before every module that configures something"),)


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return "\n    ".join(map(_format_value, value)) if isinstance(value, list) else str(value)


def _render_section(name: str, values: Mapping[str, Any]) -> bytes:
    lines = [f"{key}={_format_value(value)}" for key, value in values.items() if value is not None]
    return ("\n".join(["# Written by Precast at boot", f"[{name}]", *lines]) + "\n").encode()


def _sanitise(name: str) -> str:
    return "".join(character if character.isalnum() or character in "._-" else "_" for character in name)


def write_yum(context: ModuleContext) -> ModuleOutcome:
    directory = context.config.get("yum_repo_dir", "/etc/yum.repos.d")
    if not context.exists("/etc/yum.repos.d") and not _has_any(context, "dnf", "yum"):
        context.outcome.remark = "neither dnf nor yum is installed"
        return context.outcome
    for name, repository in context.config["yum_repos"].items():
        path = f"{directory}/{_sanitise(name)}.repo"
        if not any(repository.get(key) for key in ("baseurl", "metalink", "mirrorlist")):
            context.warn(f"yum_repos.{name}: lacks baseurl, metalink or mirrorlist, so it is skipped")
            continue
        context.write(path, _render_section(_sanitise(name), {"name": name, **repository}))
    return context.outcome


def write_zypper(context: ModuleContext) -> ModuleOutcome:
    if not context.exists("/etc/zypp") and not _has_any(context, "zypper"):
        context.outcome.remark = "zypper is not installed"
        return context.outcome
    settings = context.config["zypper"]
    for repository in settings.get("repos", []):
        name = _sanitise(repository["id"])
        values = {key: value for key, value in repository.items() if key != "id"}
        section = _render_section(name, {"enabled": 1, "autorefresh": 1, **values})
        context.write(f"/etc/zypp/repos.d/{name}.repo", section)
    if settings.get("config"):
        text = context.read_text("/etc/zypp/zypp.conf") or "[main]\n"
        lines = [f"{key} = {_format_value(value)}" for key, value in settings["config"].items()]
        new = [line for line in lines if line not in text.splitlines()]
        if new:
            context.write("/etc/zypp/zypp.conf", (f"{text.rstrip()}\n" + "\n".join(new) + "\n").encode())
    return context.outcome


def _has_any(context: ModuleContext, *programs: str) -> bool:
    return any(has_program(program, context.machine.root) for program in programs)


MODULES = (
    Module(
        "yum_repos",
        write_yum,
        {"yum_repos": Table(Table(ValueSchema())), "yum_repo_dir": Text()},
        locks=("apt",),
        after=_FIRST,
        has_work=lambda config: "yum_repos" in config,
    ),
    Module(
        "zypper",
        write_zypper,
        {
            "zypper": Fields(
                {
                    "repos": Items(Fields({"id": Text(), "baseurl": Text()}, ("id", "baseurl"), others=ValueSchema())),
                    "config": Table(ValueSchema()),
                }
            )
        },
        locks=("apt",),
        after=_FIRST,
    ),
)
