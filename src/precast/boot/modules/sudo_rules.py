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
    """Add the rules of a user that the file lacks. A rule that visudo refuses is not written, with a warning."""
    context.make_directories(DIRECTORY.rpartition("/")[0])
    ownership = context.ownership_parameters("root", "root")
    context.ensure("file", DIRECTORY, {"ensure": "directory", "mode": "0750", **ownership})
    present = context.read_text(PATH).splitlines()
    missing = [line for rule in rules if (line := f"{name} {rule}") not in present]
    if missing and _append(context, name, missing) is not None:
        for line in missing:
            refusal = _append(context, name, [line])
            if refusal is not None:
                context.warn(f"users.{name}.sudo: {line!r} is not written to {PATH}: {refusal}")
    main = context.read_text(_MAIN)
    if main and not _INCLUDE.search(main):
        refusal = _write(context, _MAIN, f"{main.rstrip()}\n@includedir {DIRECTORY}\n")
        if refusal is not None:
            context.warn(f"{_MAIN} is not changed: {refusal}")


def _append(context: ModuleContext, name: str, lines: Sequence[str]) -> str | None:
    """Append a user's rules. Returns why visudo refuses them; None if they are written."""
    text = context.read_text(PATH)
    heading = f"# User rules for {name}"
    headings = [] if heading in text.splitlines() else [heading]
    return _write(context, PATH, text + "\n".join([*headings, *lines]) + "\n")


def _write(context: ModuleContext, path: str, text: str) -> str | None:
    """Write a file for sudo. An invalid rule would disable sudo for all users, so visudo checks the file first, if it is installed."""
    ownership = context.ownership_parameters("root", "root")
    parameters: dict[str, Any] = {"ensure": "file", "content": text, "mode": "0440", **ownership}
    if context.has_programs and commands.has_program("visudo", context.machine.root):
        parameters["validate_cmd"] = "visudo -cf %"
    try:
        context.ensure("file", path, parameters)
    except InputError as error:
        return error.message
    return None
