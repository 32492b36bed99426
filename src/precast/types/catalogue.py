"""All managed types by name, and the metaparameters that every resource takes."""

from typing import Final

from precast.types import accounts, databases, files, messaging, module_types, organisation, software, system, yum
from precast.types.declaration import ManagedType

METAPARAMETERS: Final = {
    "alias": "a further name to refer to the resource by",
    "audit": "properties to watch without changing them",
    "before": "resources that come after this one",
    "loglevel": "the log level at which changes are reported",
    "noop": "only report pending changes",
    "notify": "resources that come after this one and are refreshed when it changes",
    "require": "resources that come before this one",
    "schedule": "when it may be applied",
    "stage": "for classes: the stage of the run",
    "subscribe": "resources that come before this one and whose changes refresh it",
    "tag": "further tags",
}

_TYPES: Final[dict[str, ManagedType]] = {
    declaration.name: declaration
    for declaration in (
        files.FILE,
        files.TIDY,
        files.FILEBUCKET,
        files.MOUNT,
        accounts.USER,
        accounts.GROUP,
        accounts.SSH_AUTHORIZED_KEY,
        accounts.SSHKEY,
        software.PACKAGE,
        software.SERVICE,
        software.EXEC,
        software.CRON,
        software.NOTIFY,
        system.HOST,
        yum.YUMREPO,
        system.MAILALIAS,
        system.AUGEAS,
        system.SELBOOLEAN,
        system.SELMODULE,
        organisation.STAGE,
        organisation.SCHEDULE,
        organisation.RESOURCES,
        organisation.COMPONENT,
        organisation.WHIT,
        organisation.PROMISE,
    )
}


_MODULE_TYPES: Final[dict[str, ManagedType]] = {
    declaration.name: declaration for declaration in (*module_types.TYPES, *databases.TYPES, *messaging.TYPES)
}


def find(name: str) -> ManagedType | None:
    """The type of this lower-case name, if every manifest may use it."""
    return _TYPES.get(name)


def find_any(name: str) -> ManagedType | None:
    """The type of this name, also if it belongs to a module: for code that applies or explains a catalog."""
    return _TYPES.get(name) or _MODULE_TYPES.get(name)


def is_applied(name: str) -> bool:
    """Whether a node can apply resources of the type of this lower-case name. A test compares this with the agent's handlers."""
    declared = find_any(name)
    return declared is not None and declared.is_applied


def module_names() -> list[str]:
    """The types that Precast applies if a module declares them."""
    return sorted(_MODULE_TYPES)


def names() -> list[str]:
    return sorted(_TYPES)
