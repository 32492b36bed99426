"""What a file resource wants, read from its parameters once and checked: wrong ones fail the resource before anything is touched."""

import posixpath
from collections.abc import Sequence
from typing import Any, Final

from precast.resources import issues as shared
from precast.resources.contract import Wanted
from precast.resources.files import checksums, issues, modes, sources

_YES: Final = (True, "true", "yes")
_NO: Final = (False, "false", "no")
_KINDS: Final = ("file", "directory", "link")
SOFT_LIMIT = 1000  # entries below a directory that are worth a warning when max_files does not say


class Spec:
    """The parameters of one file, in the form in which they are used."""

    __slots__ = (
        "backup", "checksum", "checksum_value", "content", "ensure", "group", "ignored", "is_followed", "is_forced",
        "is_purged", "is_replaced", "is_secret", "limit", "max_files", "mode", "mode_text", "owner", "path",
        "permissions", "recurse", "selects_all", "shows_diff", "sources", "target", "validate_cmd", "validate_replacement",
    )  # fmt: skip

    def __init__(self, wanted: Wanted) -> None:
        get = wanted.parameters.get
        self.path = path_of(wanted)
        self.target: str | None = get("target")
        self.ensure = self._ensure(wanted, get("ensure"))
        self.content = _content(wanted, get("content"))
        self.sources: tuple[str, ...] = _texts(wanted, "source", get("source"))
        self._check_contents(wanted)
        self.owner: str | int | None = _name(wanted, "owner", get("owner"))
        self.group: str | int | None = _name(wanted, "group", get("group"))
        self.mode_text = get("mode")
        self.mode = None if self.mode_text is None else _mode(wanted, self.mode_text)
        # A link that is wanted as a link is not followed, whatever links says.
        self.is_followed = choice(wanted, "links", ("manage", "follow")) == "follow" and self.ensure != "link"
        self.is_forced = flag(wanted, "force", False)
        self.is_replaced = flag(wanted, "replace", True)
        self.shows_diff = flag(wanted, "show_diff", True)
        self.is_secret = "content" in wanted.secrets or "source" in wanted.secrets
        self.backup = _backup(wanted, get("backup", False))
        self.permissions = choice(wanted, "source_permissions", ("ignore", "use", "use_when_creating"))
        self.validate_cmd: str | None = get("validate_cmd")
        self.validate_replacement: str = get("validate_replacement", "%")
        self._read_checksum(wanted)
        self._read_recursion(wanted)

    def _ensure(self, wanted: Wanted, given: Any) -> str | None:
        if given is None:
            return "link" if self.target is not None else None
        if given is False:
            return "absent"
        if not isinstance(given, str) or not given:
            raise bad(wanted, "ensure", given, "present, absent, file, directory, link, or the target of a link")
        if given in ("present", "absent", *_KINDS):
            return given
        self.target = given
        return "link"

    def _check_contents(self, wanted: Wanted) -> None:
        given = [name for name in ("content", "source", "target") if wanted.parameters.get(name) is not None]
        if len(given) > 1:
            raise issues.SEVERAL_CONTENTS.error(names=" and ".join(given))
        if self.ensure == "link" and self.target is None and not self.sources:
            raise shared.MISSING_VALUE.error(type="file", name="target", reason="a link leads somewhere")
        for source in self.sources:
            sources.check(source)

    def _read_checksum(self, wanted: Wanted) -> None:
        self.checksum = choice(wanted, "checksum", ("sha256", *checksums.KINDS))
        self.checksum_value: str | None = wanted.get("checksum_value")
        for name in ("content", "source"):
            is_time = self.checksum in checksums.TIMES and name == "content"
            if wanted.get(name) is not None and (is_time or self.checksum == "none"):
                raise issues.BAD_CHECKSUM.error(name=name, kind=self.checksum, reason="it says nothing of content")
        digits = checksums.digits(self.checksum)
        if self.checksum_value is not None and digits != len(self.checksum_value):
            raise bad(wanted, "checksum_value", self.checksum_value, f"a checksum of kind {self.checksum}")

    def _read_recursion(self, wanted: Wanted) -> None:
        recurse = wanted.get("recurse", False)
        if recurse not in (*_YES[:2], *_NO[:2], "remote"):
            raise bad(wanted, "recurse", recurse, "true, false or remote")
        if recurse == "remote" and not self.sources:
            raise issues.REMOTE_WITHOUT_SOURCE.error()
        self.recurse = "remote" if recurse == "remote" else "all" if recurse in _YES else ""
        limit = number(wanted, "recurselimit")
        self.limit: int | None = limit
        self.max_files = number(wanted, "max_files") or 0
        self.is_purged = flag(wanted, "purge", False)
        self.ignored = _texts(wanted, "ignore", wanted.get("ignore"))
        self.selects_all = choice(wanted, "sourceselect", ("first", "all")) == "all"

    @property
    def is_absent(self) -> bool:
        return self.ensure == "absent"


def path_of(wanted: Wanted) -> str:
    """The absolute path a resource is about, without needless slashes. Raises InputError RESOURCE-101."""
    path = wanted.parameters.get("path", wanted.title)
    if not isinstance(path, str) or not path.startswith("/"):
        raise issues.RELATIVE_PATH.error(path=path)
    if path.endswith("/") or "//" in path or "/." in path:
        path = posixpath.normpath(path)
        return path[1:] if path.startswith("//") else path
    return path


def bad(wanted: Wanted, name: str, value: Any, text: str) -> Exception:
    shown = "[redacted]" if name in wanted.secrets else repr(value)
    return shared.BAD_VALUE.error(type=wanted.type, name=name, value=shown, wanted=f"use {text}")


def flag(wanted: Wanted, name: str, default: bool) -> bool:
    """A parameter that is true or false."""
    value = wanted.parameters.get(name)
    if value is None:
        return default
    if value in _YES:
        return True
    if value in _NO:
        return False
    raise bad(wanted, name, value, "true or false")


def choice(wanted: Wanted, name: str, words: Sequence[str]) -> str:
    """A parameter that is one of some words; the first if it is not given."""
    value = wanted.parameters.get(name)
    if value is None:
        return words[0]
    if value not in words:
        raise bad(wanted, name, value, f"one of {', '.join(dict.fromkeys(words))}")
    return str(value)


def number(wanted: Wanted, name: str) -> int | None:
    value = wanted.parameters.get(name)
    if value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        raise bad(wanted, name, value, "a number") from None


def _texts(wanted: Wanted, name: str, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    values = value if isinstance(value, list | tuple) else (value,)
    if not all(isinstance(each, str) for each in values):
        raise bad(wanted, name, value, "a text or an array of texts")
    return tuple(values)


def _content(wanted: Wanted, value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise bad(wanted, "content", value, "a text")


def _name(wanted: Wanted, name: str, value: Any) -> str | int | None:
    if value is None or (isinstance(value, str) and value) or (isinstance(value, int) and value >= 0):
        return value
    raise bad(wanted, name, value, "a name or a number")


def _mode(wanted: Wanted, value: Any) -> modes.Mode:
    if not isinstance(value, str):
        raise issues.BAD_MODE.error(mode=value, reason="it is no string")
    return modes.parse(value)


def _backup(wanted: Wanted, value: Any) -> str:
    """Nothing, a suffix with its point, or the name of a bucket."""
    if value in (False, "false", ""):
        return ""
    if value in (True, "true"):
        return ".puppet-bak"
    if not isinstance(value, str) or "/" in value:
        raise bad(wanted, "backup", value, "false, a suffix such as '.bak', or the name of a filebucket")
    return value
