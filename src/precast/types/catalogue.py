"""All managed types by name, and the metaparameters that every resource takes."""

from typing import Final

from precast.types import accounts, files, module_types, organisation, software, system
from precast.types.declaration import ManagedType

METAPARAMETERS: Final = {
    "alias": "a further name to refer to the resource by",
    "audit": "properties to watch without changing them",
    "before": "resources that come after this one",
    "loglevel": "how loud changes are reported",
    "noop": "look, but do not change",
    "notify": "resources that come after this one and are refreshed when it changes",
    "require": "resources that come before this one",
    "schedule": "when it may be applied",
    "stage": "for classes: the stage of the run",
    "subscribe": "resources that come before this one and whose changes refresh it",
    "tag": "further tags",
}

_TYPES: Final[dict[str, ManagedType]] = {
    each.name: each
    for each in (
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


_BROUGHT: Final[dict[str, ManagedType]] = {each.name: each for each in module_types.TYPES}


def find(name: str) -> ManagedType | None:
    """The type of this name, in lower case, that every manifest may use."""
    return _TYPES.get(name)


def find_any(name: str) -> ManagedType | None:
    """The type of this name, also if a module must bring it: for who applies or explains a catalog."""
    return _TYPES.get(name) or _BROUGHT.get(name)


def brought() -> list[str]:
    """The types that Precast applies if a module brings them."""
    return sorted(_BROUGHT)


def names() -> list[str]:
    return sorted(_TYPES)
