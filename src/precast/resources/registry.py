"""The handler class of each type. It is imported with the first resource of the type, so a run loads only what its catalog needs."""

import functools
import importlib

from precast.resources.contract import Handler

# Type: module and class.
_HANDLERS: dict[str, tuple[str, str]] = {
    "anchor": ("precast.resources.organisation", "OrganisingHandler"),
    "concat_file": ("precast.resources.concat_file", "ConcatFile"),
    "concat_fragment": ("precast.resources.concat_fragment", "ConcatFragment"),
    "cron": ("precast.resources.cron", "Cron"),
    "exec": ("precast.resources.exec", "Exec"),
    "file": ("precast.resources.file", "File"),
    "file_line": ("precast.resources.file_line", "FileLine"),
    "filebucket": ("precast.resources.organisation", "OrganisingHandler"),
    "group": ("precast.resources.group", "Group"),
    "host": ("precast.resources.host", "Host"),
    "ini_setting": ("precast.resources.ini_setting", "IniSetting"),
    "mount": ("precast.resources.mount", "Mount"),
    "notify": ("precast.resources.notify", "Notify"),
    "package": ("precast.resources.package.handler", "Package"),
    "promise": ("precast.resources.promise", "Promise"),
    "resources": ("precast.resources.organisation", "Resources"),
    "schedule": ("precast.resources.organisation", "OrganisingHandler"),
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
    """The handler class of a type, by its lower-case name; None if Precast has none."""
    entry = _HANDLERS.get(type_name)
    if entry is None:
        return None
    handler: type[Handler] = getattr(importlib.import_module(entry[0]), entry[1])
    return handler
