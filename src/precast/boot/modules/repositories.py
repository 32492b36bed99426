"""yum_repos and zypper: repositories as files of the package manager."""

from collections.abc import Mapping
from typing import Any

from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Fields, Items, Shape, Table, Text
from precast.resources.commands import has_program

_FIRST = (After("bootcmd", "bootcmd comes before everything that configures"),)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return "\n    ".join(map(_word, value)) if isinstance(value, list) else str(value)


def _section(name: str, values: Mapping[str, Any]) -> bytes:
    lines = [f"{key}={_word(value)}" for key, value in values.items() if value is not None]
    return ("\n".join(["# Written by Precast at boot", f"[{name}]", *lines]) + "\n").encode()


def _safe(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in name)


def write_yum(context: Context) -> Outcome:
    directory = context.config.get("yum_repo_dir", "/etc/yum.repos.d")
    if not context.is_there("/etc/yum.repos.d") and not _has_any(context, "dnf", "yum"):
        context.outcome.not_run = "there is neither dnf nor yum here"
        return context.outcome
    for name, given in context.config["yum_repos"].items():
        path = f"{directory}/{_safe(name)}.repo"
        if not any(given.get(key) for key in ("baseurl", "metalink", "mirrorlist")):
            context.warn(f"yum_repos.{name}: lacks baseurl, metalink or mirrorlist, so it is left out")
            continue
        context.write(path, _section(_safe(name), {"name": name, **given}))
    return context.outcome


def write_zypper(context: Context) -> Outcome:
    if not context.is_there("/etc/zypp") and not _has_any(context, "zypper"):
        context.outcome.not_run = "there is no zypper here"
        return context.outcome
    given = context.config["zypper"]
    for repository in given.get("repos", []):
        name = repository["id"]
        values = {key: value for key, value in repository.items() if key != "id"}
        context.write(
            f"/etc/zypp/repos.d/{_safe(name)}.repo", _section(_safe(name), {"enabled": 1, "autorefresh": 1, **values})
        )
    if given.get("config"):
        text = context.read_text("/etc/zypp/zypp.conf") or "[main]\n"
        lines = [f"{key} = {_word(value)}" for key, value in given["config"].items()]
        new = [line for line in lines if line not in text.splitlines()]
        if new:
            context.write("/etc/zypp/zypp.conf", (f"{text.rstrip()}\n" + "\n".join(new) + "\n").encode())
    return context.outcome


def _has_any(context: Context, *programs: str) -> bool:
    return any(has_program(program, context.machine.root) for program in programs)


MODULES = (
    Module(
        "yum_repos",
        write_yum,
        {"yum_repos": Table(Table(Shape())), "yum_repo_dir": Text()},
        locks=("apt",),
        after=_FIRST,
        is_wanted=lambda config: "yum_repos" in config,
    ),
    Module(
        "zypper",
        write_zypper,
        {
            "zypper": Fields(
                {
                    "repos": Items(Fields({"id": Text(), "baseurl": Text()}, ("id", "baseurl"), others=Shape())),
                    "config": Table(Shape()),
                }
            )
        },
        locks=("apt",),
        after=_FIRST,
    ),
)
