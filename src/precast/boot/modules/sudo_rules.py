"""Adds a user's rules to the file that cloud-init uses for them too: user data and site tools edit or remove it by its name."""

import re
from collections.abc import Sequence
from typing import Any

from precast.base.errors import InputError
from precast.boot.modules.context import ModuleContext
from precast.resources import commands

DIRECTORY = "/etc/sudoers.d"
PATH = f"{DIRECTORY}/90-cloud-init-users"
_MAIN = "/etc/sudoers"
_INCLUDE = re.compile(rf"^\s*[#@]includedir\s+{DIRECTORY}/?\s*$", re.MULTILINE)


def add(context: ModuleContext, name: str, rules: Sequence[str]) -> None:
    """Add the rules of a user that the file lacks. Rules that visudo refuses are not written, with a warning."""
    context.make_directories(DIRECTORY.rpartition("/")[0])
    ownership = context.ownership_parameters("root", "root")
    context.ensure("file", DIRECTORY, {"ensure": "directory", "mode": "0750", **ownership})
    text = context.read_text(PATH)
    present = text.splitlines()
    missing = [line for rule in rules if (line := f"{name} {rule}") not in present]
    if missing:
        _write(context, PATH, "\n".join([f"{text}# User rules for {name}", *missing]) + "\n")
    main = context.read_text(_MAIN)
    if main and not _INCLUDE.search(main):
        _write(context, _MAIN, f"{main.rstrip()}\n@includedir {DIRECTORY}\n")


def _write(context: ModuleContext, path: str, text: str) -> None:
    """Write a file for sudo. An invalid rule would disable sudo for all users, so visudo checks the file first, if it is installed."""
    ownership = context.ownership_parameters("root", "root")
    parameters: dict[str, Any] = {"ensure": "file", "content": text, "mode": "0440", **ownership}
    if context.has_programs and commands.has_program("visudo", context.machine.root):
        parameters["validate_cmd"] = "visudo -cf %"
    try:
        context.ensure("file", path, parameters)
    except InputError as error:
        context.warn(f"{path} is not written: {error.message}")
