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
_OWNERS: Final = frozenset({"owner", "group"})
_WAYS: Final = frozenset(
    ("links", "force", "replace", "show_diff", "backup", "source_permissions", "validate_cmd", "validate_replacement")
)
_CHECKSUMS: Final = frozenset({"checksum", "checksum_value"})
_RECURSION: Final = frozenset({"recurse", "recurselimit", "max_files", "purge", "ignore", "sourceselect"})
SOFT_LIMIT = 1000  # entries below a directory that are worth a warning when max_files does not say


class Spec:
    """The parameters of one file, in the form in which they are used."""

    # What is rarely given; a catalog has thousands of files, so only those who have it set it.
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

    def __init__(self, wanted: Wanted) -> None:
        given = wanted.parameters
        self.path = path_of(wanted)
        self.target: str | None = given.get("target")
        self.ensure = self._ensure(wanted, given.get("ensure"))
        self.content = _content(wanted, given.get("content"))
        self.sources: tuple[str, ...] = _texts(wanted, "source", given.get("source"))
        if self.ensure == "link" or self.target is not None or given.get("source") is not None:
            self._check_contents(wanted)
        self.mode_text = given.get("mode")
        self.mode = None if self.mode_text is None else _mode(wanted, self.mode_text)
        if not _OWNERS.isdisjoint(given):
            self.owner = _name(wanted, "owner", given.get("owner"))
            self.group = _name(wanted, "group", given.get("group"))
        if wanted.secrets:
            self.is_secret = "content" in wanted.secrets or "source" in wanted.secrets
        if not _WAYS.isdisjoint(given):
            self._read_ways(wanted)
        if not _CHECKSUMS.isdisjoint(given):
            self._read_checksum(wanted)
        if not _RECURSION.isdisjoint(given):
            self._read_recursion(wanted)

    def _read_ways(self, wanted: Wanted) -> None:
        """How it is brought to what is wanted."""
        # A link that is wanted as a link is not followed, whatever links says.
        self.is_followed = choice(wanted, "links", ("manage", "follow")) == "follow" and self.ensure != "link"
        self.is_forced = flag(wanted, "force", False)
        self.is_replaced = flag(wanted, "replace", True)
        self.shows_diff = flag(wanted, "show_diff", True)
        self.backup = _backup(wanted, wanted.get("backup", False))
        self.permissions = choice(wanted, "source_permissions", ("ignore", "use", "use_when_creating"))
        self.validate_cmd = wanted.get("validate_cmd")
        self.validate_replacement = wanted.get("validate_replacement", "%")

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
        self.checksum_value = wanted.get("checksum_value")
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
        self.limit = number(wanted, "recurselimit")
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
