"""The file that names the sources of a server, and which environments may read which paths of them.

Nothing is allowed that the file does not name. The code of an environment chooses among what is allowed here; addresses, logins and
certificates are only here, and a token or password is in a file of its own.
"""

import stat
import tomllib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from precast.base import setting_values
from precast.base.setting_values import InvalidValueError
from precast.services.code.environments import is_environment_name
from precast.services.secrets.sources import issues

# In the list of paths of an environment, all of the source.
EVERYTHING: Final = "/"
MAX_SOURCES: Final = 50
_LEAST_TTL, _MOST_TTL = timedelta(seconds=30), timedelta(days=30)
_LEAST_TIMEOUT, _MOST_TIMEOUT = timedelta(seconds=1), timedelta(seconds=20)


class SourceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One source as the file names it. Which fields it has depends on its kind."""

    kind: Literal["file", "vault"]
    environments: dict[str, list[str]]
    ttl: str = "1h"
    # Of the kind file
    directory: str = ""
    # Of the kind vault
    url: str = ""
    mount: str = "secret"
    version: Literal[1, 2] = 2
    namespace: str = ""
    ca: str = ""
    timeout: str = "10s"
    token_file: str = ""
    role_id_file: str = ""
    secret_id_file: str = ""
    login: str = "approle"

    @property
    def ttl_s(self) -> float:
        """How long a value is valid before the source is asked again."""
        return _read_duration(self.ttl, _LEAST_TTL, _MOST_TTL)

    @property
    def timeout_s(self) -> float:
        """How long one request may take."""
        return _read_duration(self.timeout, _LEAST_TIMEOUT, _MOST_TIMEOUT)

    def allows(self, environment: str, path: str) -> bool:
        """Whether an environment may read a normalised path."""
        return any(
            prefix == EVERYTHING or path == prefix.strip("/") or path.startswith(f"{prefix.strip('/')}/")
            for prefix in self.environments.get(environment, ())
        )


Sources = Mapping[str, SourceSettings]


def load_sources(path: Path) -> dict[str, SourceSettings]:
    """The sources of a server by name. Raises InputError SECRET-020."""
    try:
        if path.stat().st_mode & (stat.S_IWGRP | stat.S_IRWXO):
            raise issues.BAD_SOURCES.error(path=path, reason="its mode lets other users read or change it")
        sources = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), dict[str, SourceSettings])
    except OSError as error:
        raise issues.BAD_SOURCES.error(path=path, reason=error.strerror) from None
    except (msgspec.ValidationError, ValueError) as error:
        raise issues.BAD_SOURCES.error(path=path, reason=error) from None
    if len(sources) > MAX_SOURCES:
        raise issues.BAD_SOURCES.error(path=path, reason=f"it has more than {MAX_SOURCES} sources")
    for name, source in sources.items():
        if problem := _find_problem(name, source):
            raise issues.BAD_SOURCES.error(path=path, reason=f"{name}: {problem}")
    return sources


def _find_problem(name: str, source: SourceSettings) -> str:
    if not name.replace("-", "_").isidentifier() or not name.isascii() or len(name) > 30:
        return "its name may have only letters, digits, hyphens and underscores"
    try:
        source.ttl_s, source.timeout_s  # noqa: B018 - reading them checks them
    except InvalidValueError as error:
        return f"a duration must be {error}"
    for environment, prefixes in source.environments.items():
        if not is_environment_name(environment):
            return f"{environment!r} is not a name of an environment"
        for prefix in prefixes:
            if prefix != EVERYTHING and (not prefix.strip("/") or {"", ".", ".."} & set(prefix.strip("/").split("/"))):
                return f"{prefix!r} of {environment} is not a path; / allows all of the source"
    return _find_file_problem(source) if source.kind == "file" else _find_vault_problem(source)


def _find_file_problem(source: SourceSettings) -> str:
    if other := _given(source) - {"directory"}:
        return f"a source of files has no {min(other)}"
    return "" if source.directory.startswith("/") else "its directory must be an absolute path"


def _find_vault_problem(source: SourceSettings) -> str:
    if source.directory:
        return "Vault has no directory"
    parts = urlsplit(source.url)
    if parts.scheme != "https" or not parts.hostname or "@" in parts.netloc or parts.path.strip("/") or parts.query:
        return "its url must be https://HOST:PORT, without a path or a password"
    if {"", ".", ".."} & {*source.mount.split("/"), *source.login.split("/")}:
        return "mount and login must be paths without a slash at either end"
    if bool(source.token_file) == bool(source.role_id_file) or bool(source.role_id_file) != bool(source.secret_id_file):
        return "it needs token_file, or role_id_file and secret_id_file"
    files = [path for path in (source.ca, source.token_file, source.role_id_file, source.secret_id_file) if path]
    return "" if all(path.startswith("/") for path in files) else "its files must be absolute paths"


def _given(source: SourceSettings) -> set[str]:
    """The fields of single kinds that differ from their defaults."""
    common = {"kind", "environments", "ttl"}
    defaults: dict[str, Any] = {
        field.name: field.default for field in msgspec.structs.fields(SourceSettings) if field.name not in common
    }
    return {name for name, default in defaults.items() if getattr(source, name) != default}


def _read_duration(text: str, least: timedelta, most: timedelta) -> float:
    value: timedelta = setting_values.within(setting_values.read_duration, least, most)(text)
    return value.total_seconds()
