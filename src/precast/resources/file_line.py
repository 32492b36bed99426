"""file_line: a whole line in a file that another resource or program creates.

The file is read and written as a whole; other lines keep their bytes, including line ends. Patterns are Ruby's.
"""

import re
from collections.abc import Sequence

from precast.resources import issues as shared
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State
from precast.resources.files import diffs, issues, parameters, small_files
from precast.resources.files.safe_reads import FileContent


class FileLine(Handler):
    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        if resource.get("path") is None:
            raise shared.MISSING_VALUE.error(type="file_line", name="path", reason="a line is in a file")
        self._path = parameters.path_of(resource)
        self._is_absent = parameters.choice(resource, "ensure", ("present", "absent")) == "absent"
        self._match = _pattern(resource, "match")
        self._after = _pattern(resource, "after")
        self._by_match = (
            self._is_absent and parameters.flag(resource, "match_for_absence", False) and self._match is not None
        )
        self._line: str = resource.get("line", "")
        if not isinstance(self._line, str) or (not self._line and resource.get("line") is None and not self._by_match):
            raise shared.MISSING_VALUE.error(type="file_line", name="line", reason="it says what to look for")
        self._is_multiple = parameters.flag(resource, "multiple", False)
        self._replaces = parameters.flag(resource, "replace", True)
        self._replaces_all = parameters.flag(resource, "replace_all_matches_not_matching_line", False)
        self._appends = parameters.flag(resource, "append_on_no_match", True)
        self._encoding = str(resource.get("encoding", "utf-8"))
        self._found: FileContent | None = None
        self._text = ""

    @property
    def check_needs_trust(self) -> str:
        has_pattern = self._match is not None or self._after is not None
        return "its check searches a file by a pattern of the catalog" if has_pattern else ""

    def read(self) -> State:
        self._found = small_files.read_content(self.node, self._path)
        if self._found is None:
            raise issues.NO_FILE.error(path=self._path)
        try:
            self._text = self._found.data.decode(self._encoding, "surrogateescape" if self._is_unicode else "strict")
        except (LookupError, UnicodeDecodeError) as error:
            raise parameters.invalid_value(
                self.resource, "encoding", self._encoding, f"the file's own ({error})"
            ) from None
        return {"ensure": "present" if self._is_there() else "absent"}

    @property
    def _is_unicode(self) -> bool:
        return self._encoding.lower().replace("_", "-") in ("utf-8", "utf8")

    def _is_there(self) -> bool:
        lines = _lines(self._text)
        if self._by_match:
            return bool(self._matches(lines))
        has_line = any(_chomp(line) == self._line for line in lines)
        if self._is_absent or self._match is None:
            return has_line
        matches = self._matches(lines)
        if self._replaces_all and matches:
            return all(_chomp(lines[index]) == self._line for index in matches)
        return has_line or (not self._replaces if matches else not self._appends)

    def _matches(self, lines: Sequence[str]) -> list[int]:
        assert self._match is not None
        return [index for index, line in enumerate(lines) if self._match.search(_chomp(line))]

    def compare(self, state: State) -> Sequence[Change]:
        desired = "absent" if self._is_absent else "present"
        if state["ensure"] == desired:
            return ()
        is_secret = bool(self.hidden_properties)
        message = "removed" if self._is_absent else "created"
        return (Change("ensure", state["ensure"], desired, message, None if is_secret else self._diff(), is_secret),)

    def _diff(self) -> str | None:
        try:
            return diffs.diff_texts(self._path, self._text, self._edit())
        except Exception as error:
            if issues.SEVERAL_LINES.matches(error):
                return None  # applying the change reports the error
            raise

    def apply(self, change: Change) -> None:
        errors = "surrogateescape" if self._is_unicode else "strict"
        small_files.replace_content(self.node, self._path, self._edit().encode(self._encoding, errors), self._found)

    def _edit(self) -> str:
        """The desired text of the file. Raises ConflictError RESOURCE-121 if several lines match."""
        lines = _lines(self._text)
        if self._is_absent:
            gone = self._require_one(self._matches(lines), self._match) if self._by_match else None
            return "".join(
                line
                for index, line in enumerate(lines)
                if (index not in gone if gone is not None else _chomp(line) != self._line)
            )
        if self._match is not None and (replaced := self._require_one(self._matches(lines), self._match)):
            return "".join(f"{self._line}\n" if index in replaced else line for index, line in enumerate(lines))
        if self._after is not None:
            after = [index for index, line in enumerate(lines) if self._after.search(_chomp(line))]
            # As in Puppet: if match decides whether a line is added, it is added after the first matching line.
            if preceding := self._require_one(after[:1] if self._match is not None else after, self._after):
                return "".join(
                    f"{_end_line(line)}{self._line}\n" if index in preceding else line
                    for index, line in enumerate(lines)
                )
        return "".join((*lines[:-1], *map(_end_line, lines[-1:]), f"{self._line}\n"))

    def _require_one(self, matches: list[int], pattern: re.Pattern[str] | None) -> frozenset[int]:
        if len(matches) > 1 and not self._is_multiple:
            raise issues.SEVERAL_LINES.error(path=self._path, pattern=self._written(pattern))
        return frozenset(matches)

    def _written(self, pattern: re.Pattern[str] | None) -> str:
        return str(self.resource.get("match" if pattern is self._match else "after"))


def _pattern(resource: DesiredResource, name: str) -> re.Pattern[str] | None:
    value = resource.get(name)
    if value is None:
        return None
    from precast.lang.values.regexps import compile_regexp

    return compile_regexp(str(value))


def _lines(text: str) -> list[str]:
    """The lines with their ends; only a line feed ends a line."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _chomp(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _end_line(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n"
