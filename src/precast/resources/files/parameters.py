"""The parameters of a file resource, read and validated once: invalid ones fail the resource before anything is changed."""

import posixpath
from collections.abc import Sequence
from typing import Any, Final

from precast.resources import issues as shared
from precast.resources.contract import DesiredResource
from precast.resources.files import checksums, issues, modes, sources

_YES: Final = (True, "true", "yes")
_NO: Final = (False, "false", "no")
_KINDS: Final = ("file", "directory", "link")
_OWNERS: Final = frozenset({"owner", "group"})
_BEHAVIOUR: Final = frozenset(
    ("links", "force", "replace", "show_diff", "backup", "source_permissions", "validate_cmd", "validate_replacement")
)
_CHECKSUMS: Final = frozenset({"checksum", "checksum_value"})
_RECURSION: Final = frozenset({"recurse", "recurselimit", "max_files", "purge", "ignore", "sourceselect"})
SOFT_LIMIT = 1000  # more entries below a directory lead to a warning if max_files is not given


class Spec:
    """The parameters of one file, in the form in which they are used."""

    # Rarely given parameters. A catalog has thousands of files, so only files that have them set these attributes.
    owner: str | int | None = None
    group: str | int | None = None
    is_followed = is_forced = is_purged = is_secret = selects_all = False
    is_replaced = shows_diff = True
    backup = ""
    permissions = "ignore"
    validate_cmd: str | None = None
    validate_replacement: str = "%"
    checksum = "sha256"
    checksum_value: str | None = None
    recurse = ""
    limit: int | None = None
    max_files = 0
    ignored: tuple[str, ...] = ()

    def __init__(self, resource: DesiredResource) -> None:
        given = resource.parameters
        self.path = path_of(resource)
        self.target: str | None = given.get("target")
        self.ensure = self._ensure(resource, given.get("ensure"))
        self.content = _content(resource, given.get("content"))
        self.sources: tuple[str, ...] = _texts(resource, "source", given.get("source"))
        if self.ensure == "link" or self.target is not None or given.get("source") is not None:
            self._check_contents(resource)
        self.mode_text = given.get("mode")
        self.mode = None if self.mode_text is None else _mode(resource, self.mode_text)
        if not _OWNERS.isdisjoint(given):
            self.owner = _name(resource, "owner", given.get("owner"))
            self.group = _name(resource, "group", given.get("group"))
        if resource.secrets:
            self.is_secret = "content" in resource.secrets or "source" in resource.secrets
        if not _BEHAVIOUR.isdisjoint(given):
            self._read_behaviour(resource)
        if not _CHECKSUMS.isdisjoint(given):
            self._read_checksum(resource)
        if not _RECURSION.isdisjoint(given):
            self._read_recursion(resource)

    def _read_behaviour(self, resource: DesiredResource) -> None:
        """Read the parameters that control how the file is changed."""
        # A file with ensure => link is never followed, whatever `links` says.
        self.is_followed = choice(resource, "links", ("manage", "follow")) == "follow" and self.ensure != "link"
        self.is_forced = flag(resource, "force", False)
        self.is_replaced = flag(resource, "replace", True)
        self.shows_diff = flag(resource, "show_diff", True)
        self.backup = _backup(resource, resource.get("backup", False))
        self.permissions = choice(resource, "source_permissions", ("ignore", "use", "use_when_creating"))
        self.validate_cmd = resource.get("validate_cmd")
        self.validate_replacement = resource.get("validate_replacement", "%")

    def _ensure(self, resource: DesiredResource, given: Any) -> str | None:
        if given is None:
            return "link" if self.target is not None else None
        if given is False:
            return "absent"
        if not isinstance(given, str) or not given:
            raise invalid_value(
                resource, "ensure", given, "present, absent, file, directory, link, or the target of a link"
            )
        if given in ("present", "absent", *_KINDS):
            return given
        self.target = given
        return "link"

    def _check_contents(self, resource: DesiredResource) -> None:
        given = [name for name in ("content", "source", "target") if resource.parameters.get(name) is not None]
        if len(given) > 1:
            raise issues.SEVERAL_CONTENTS.error(names=" and ".join(given))
        if self.ensure == "link" and self.target is None and not self.sources:
            raise shared.MISSING_VALUE.error(type="file", name="target", reason="a link leads somewhere")
        for source in self.sources:
            sources.check(source)

    def _read_checksum(self, resource: DesiredResource) -> None:
        self.checksum = choice(resource, "checksum", ("sha256", *checksums.KINDS))
        self.checksum_value = resource.get("checksum_value")
        for name in ("content", "source"):
            is_time = self.checksum in checksums.TIMES and name == "content"
            if resource.get(name) is not None and (is_time or self.checksum == "none"):
                raise issues.BAD_CHECKSUM.error(name=name, kind=self.checksum, reason="it says nothing of content")
        digits = checksums.digits(self.checksum)
        if self.checksum_value is not None and digits != len(self.checksum_value):
            raise invalid_value(resource, "checksum_value", self.checksum_value, f"a checksum of kind {self.checksum}")

    def _read_recursion(self, resource: DesiredResource) -> None:
        recurse = resource.get("recurse", False)
        if recurse not in (*_YES[:2], *_NO[:2], "remote"):
            raise invalid_value(resource, "recurse", recurse, "true, false or remote")
        if recurse == "remote" and not self.sources:
            raise issues.REMOTE_WITHOUT_SOURCE.error()
        self.recurse = "remote" if recurse == "remote" else "all" if recurse in _YES else ""
        self.limit = number(resource, "recurselimit")
        self.max_files = number(resource, "max_files") or 0
        self.is_purged = flag(resource, "purge", False)
        self.ignored = _texts(resource, "ignore", resource.get("ignore"))
        self.selects_all = choice(resource, "sourceselect", ("first", "all")) == "all"

    @property
    def is_absent(self) -> bool:
        return self.ensure == "absent"


def path_of(resource: DesiredResource) -> str:
    """The absolute path of a resource, normalised. Raises InputError RESOURCE-101."""
    path = resource.parameters.get("path", resource.title)
    if not isinstance(path, str) or not path.startswith("/"):
        raise issues.RELATIVE_PATH.error(path=path)
    if path.endswith("/") or "//" in path or "/." in path:
        path = posixpath.normpath(path)
        return path[1:] if path.startswith("//") else path
    return path


def invalid_value(resource: DesiredResource, name: str, value: Any, text: str) -> Exception:
    shown = "[redacted]" if name in resource.secrets else repr(value)
    return shared.BAD_VALUE.error(type=resource.type, name=name, value=shown, wanted=f"use {text}")


def flag(resource: DesiredResource, name: str, default: bool) -> bool:
    """Read a parameter that is true or false."""
    value = resource.parameters.get(name)
    if value is None:
        return default
    if value in _YES:
        return True
    if value in _NO:
        return False
    raise invalid_value(resource, name, value, "true or false")


def choice(resource: DesiredResource, name: str, words: Sequence[str]) -> str:
    """Read a parameter that is one of some words; the first word if it is not given."""
    value = resource.parameters.get(name)
    if value is None:
        return words[0]
    if value not in words:
        raise invalid_value(resource, name, value, f"one of {', '.join(dict.fromkeys(words))}")
    return str(value)


def number(resource: DesiredResource, name: str) -> int | None:
    value = resource.parameters.get(name)
    if value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        raise invalid_value(resource, name, value, "a number") from None


def _texts(resource: DesiredResource, name: str, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    values = value if isinstance(value, list | tuple) else (value,)
    if not all(isinstance(item, str) for item in values):
        raise invalid_value(resource, name, value, "a text or an array of texts")
    return tuple(values)


def _content(resource: DesiredResource, value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise invalid_value(resource, "content", value, "a text")


def _name(resource: DesiredResource, name: str, value: Any) -> str | int | None:
    if value is None or (isinstance(value, str) and value) or (isinstance(value, int) and value >= 0):
        return value
    raise invalid_value(resource, name, value, "a name or a number")


def _mode(resource: DesiredResource, value: Any) -> modes.Mode:
    if not isinstance(value, str):
        raise issues.BAD_MODE.error(mode=value, reason="it is not a string")
    return modes.parse(value)


def _backup(resource: DesiredResource, value: Any) -> str:
    """An empty text, a suffix with its dot, or the name of a filebucket."""
    if value in (False, "false", ""):
        return ""
    if value in (True, "true"):
        return ".puppet-bak"
    if not isinstance(value, str) or "/" in value:
        raise invalid_value(resource, "backup", value, "false, a suffix such as '.bak', or the name of a filebucket")
    return value
