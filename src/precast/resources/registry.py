"""Which class handles which type. Imported when the first resource of the type is met: a run pays for what its catalog has."""

import functools
import importlib

from precast.resources.contract import Handler

# Type: module and class.
_HANDLERS: dict[str, tuple[str, str]] = {
    "anchor": ("precast.resources.organising", "Organising"),
    "concat_file": ("precast.resources.concat_file", "ConcatFile"),
    "concat_fragment": ("precast.resources.concat_fragment", "ConcatFragment"),
    "cron": ("precast.resources.cron", "Cron"),
    "exec": ("precast.resources.exec", "Exec"),
    "file": ("precast.resources.file", "File"),
    "file_line": ("precast.resources.file_line", "FileLine"),
    "filebucket": ("precast.resources.organising", "Organising"),
    "group": ("precast.resources.group", "Group"),
    "host": ("precast.resources.host", "Host"),
    "ini_setting": ("precast.resources.ini_setting", "IniSetting"),
    "mount": ("precast.resources.mount", "Mount"),
    "notify": ("precast.resources.notify", "Notify"),
    "package": ("precast.resources.package.handler", "Package"),
    "promise": ("precast.resources.promise", "Promise"),
    "resources": ("precast.resources.organising", "Resources"),
    "schedule": ("precast.resources.organising", "Organising"),
    "service": ("precast.resources.service.handler", "Service"),
    "ssh_authorized_key": ("precast.resources.ssh_authorized_key", "SshAuthorizedKey"),
    "sshkey": ("precast.resources.sshkey", "Sshkey"),
    "user": ("precast.resources.user", "User"),
}


def names() -> list[str]:
    """All types that can be applied."""
    return sorted(_HANDLERS)


@functools.cache
def find(type_name: str) -> type[Handler] | None:
    """The class for a type, by its name in lower case; None if there is none."""
    place = _HANDLERS.get(type_name)
    if place is None:
        return None
    found: type[Handler] = getattr(importlib.import_module(place[0]), place[1])
    return found
