"""Types about system files with a syntax of their own, and SELinux."""

from precast.types.declaration import AutoRelation, ManagedType

_PROVIDER = "which implementation to use"

HOST = ManagedType(
    "host",
    "A line in /etc/hosts.",
    properties={
        "ensure": "present or absent",
        "comment": "comment on the line",
        "host_aliases": "further names, as an array",
        "ip": "address",
        "target": "which file",
    },
    parameters={"name": "the host's name; the title if not given", "provider": _PROVIDER},
)

MAILALIAS = ManagedType(
    "mailalias",
    "A line in the mail system's aliases.",
    properties={
        "ensure": "present or absent",
        "file": "file with recipients",
        "recipient": "where mail goes, one or several",
        "target": "which file",
    },
    parameters={"name": "the alias; the title if not given", "provider": _PROVIDER},
)

AUGEAS = ManagedType(
    "augeas",
    "Changes to configuration files through Augeas.",
    properties={"returns": "read only: what the changes returned"},
    parameters={
        "name": "a name for the changes; the title if not given",
        "changes": "commands of Augeas",
        "context": "path that is put before relative ones",
        "force": "save even if nothing seems changed",
        "incl": "load only this file, with lens",
        "lens": "lens for incl",
        "load_path": "further directories with lenses",
        "onlyif": "query that must hold",
        "provider": _PROVIDER,
        "root": "file system to work in",
        "show_diff": "whether changes are shown in the report",
        "type_check": "whether lenses are type-checked",
    },
)

SELBOOLEAN = ManagedType(
    "selboolean",
    "A switch of the SELinux policy.",
    properties={"value": "on or off"},
    parameters={
        "name": "the switch's name; the title if not given",
        "persistent": "whether it survives a reboot",
        "provider": _PROVIDER,
    },
    is_applied=False,
)

SELMODULE = ManagedType(
    "selmodule",
    "A loaded module of the SELinux policy.",
    properties={"ensure": "present or absent", "syncversion": "load again when the version on disk differs"},
    parameters={
        "name": "the module's name; the title if not given",
        "provider": _PROVIDER,
        "selmoduledir": "directory of compiled modules",
        "selmodulepath": "path of the compiled module",
    },
    relations=(AutoRelation("file", ("selmodulepath",), "path"),),
    is_applied=False,
)
