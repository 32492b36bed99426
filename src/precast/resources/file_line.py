"""file_line: a whole line in a file that something else makes.

The file is read and written as a whole; lines that are not concerned keep their bytes, line ends included. Patterns are Ruby's.
"""

import re
from collections.abc import Sequence

from precast.resources import issues as shared
from precast.resources.contract import Change, Handler, Node, State, Wanted
from precast.resources.files import diffs, editing, issues, parameters


class FileLine(Handler):
    def __init__(self, wanted: Wanted, node: Node) -> None:
        super().__init__(wanted, node)
        if wanted.get("path") is None:
            raise shared.MISSING_VALUE.error(type="file_line", name="path", reason="a line is in a file")
        self._path = parameters.path_of(wanted)
        self._is_absent = parameters.choice(wanted, "ensure", ("present", "absent")) == "absent"
        self._match = _pattern(wanted, "match")
        self._after = _pattern(wanted, "after")
        self._by_match = (
            self._is_absent and parameters.flag(wanted, "match_for_absence", False) and self._match is not None
        )
        self._line: str = wanted.get("line", "")
        if not isinstance(self._line, str) or (not self._line and wanted.get("line") is None and not self._by_match):
            raise shared.MISSING_VALUE.error(type="file_line", name="line", reason="it says what to look for")
        self._is_multiple = parameters.flag(wanted, "multiple", False)
        self._replaces = parameters.flag(wanted, "replace", True)
        self._replaces_all = parameters.flag(wanted, "replace_all_matches_not_matching_line", False)
        self._appends = parameters.flag(wanted, "append_on_no_match", True)
        self._encoding = str(wanted.get("encoding", "utf-8"))
        self._text = ""

    def read(self) -> State:
        data = editing.content(self.node, self._path)
        if data is None:
            raise issues.NO_FILE.error(path=self._path)
        try:
            self._text = data.decode(self._encoding, "surrogateescape" if self._is_unicode else "strict")
        except (LookupError, UnicodeDecodeError) as error:
            raise parameters.bad(self.wanted, "encoding", self._encoding, f"the file's own ({error})") from None
        return {"ensure": "present" if self._is_there() else "absent"}

    @property
    def _is_unicode(self) -> bool:
        return self._encoding.lower().replace("_", "-") in ("utf-8", "utf8")

    def _is_there(self) -> bool:
        lines = _lines(self._text)
        if self._by_match:
            return bool(self._matches(lines))
        has_line = any(_chomped(line) == self._line for line in lines)
        if self._is_absent or self._match is None:
            return has_line
        found = self._matches(lines)
        if self._replaces_all and found:
            return all(_chomped(lines[index]) == self._line for index in found)
        return has_line or (not self._replaces if found else not self._appends)

    def _matches(self, lines: Sequence[str]) -> list[int]:
        assert self._match is not None
        return [index for index, line in enumerate(lines) if self._match.search(_chomped(line))]

    def compare(self, state: State) -> Sequence[Change]:
        wanted = "absent" if self._is_absent else "present"
        if state["ensure"] == wanted:
            return ()
        is_secret = bool(self.wanted.secrets)
        said = "removed" if self._is_absent else "created"
        return (Change("ensure", state["ensure"], wanted, said, None if is_secret else self._diff(), is_secret),)

    def _diff(self) -> str | None:
        try:
            return diffs.of_texts(self._path, self._text, self._edited())
        except Exception as error:
            if issues.SEVERAL_LINES.matches(error):
                return None  # applying it will say so
            raise

    def apply(self, change: Change) -> None:
        errors = "surrogateescape" if self._is_unicode else "strict"
        editing.replace(self.node, self._path, self._edited().encode(self._encoding, errors))

    def _edited(self) -> str:
        """The file as it should be. Raises ConflictError RESOURCE-121 where several lines would be meant."""
        lines = _lines(self._text)
        if self._is_absent:
            gone = self._one(self._matches(lines), self._match) if self._by_match else None
            return "".join(
                line
                for index, line in enumerate(lines)
                if (index not in gone if gone is not None else _chomped(line) != self._line)
            )
        if self._match is not None and (found := self._one(self._matches(lines), self._match)):
            return "".join(f"{self._line}\n" if index in found else line for index, line in enumerate(lines))
        if self._after is not None:
            after = [index for index, line in enumerate(lines) if self._after.search(_chomped(line))]
            # As Puppet has it: where match decides whether a line is added, the first place is good enough.
            if found := self._one(after[:1] if self._match is not None else after, self._after):
                return "".join(
                    f"{_ended(line)}{self._line}\n" if index in found else line for index, line in enumerate(lines)
                )
        return "".join((*lines[:-1], *map(_ended, lines[-1:]), f"{self._line}\n"))

    def _one(self, found: list[int], pattern: re.Pattern[str] | None) -> frozenset[int]:
        if len(found) > 1 and not self._is_multiple:
            raise issues.SEVERAL_LINES.error(path=self._path, pattern=self._written(pattern))
        return frozenset(found)

    def _written(self, pattern: re.Pattern[str] | None) -> str:
        return str(self.wanted.get("match" if pattern is self._match else "after"))


def _pattern(wanted: Wanted, name: str) -> re.Pattern[str] | None:
    value = wanted.get(name)
    if value is None:
        return None
    from precast.lang.values.regexps import compile_regexp

    return compile_regexp(str(value))


def _lines(text: str) -> list[str]:
    """With their ends; only a line feed ends a line."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _chomped(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n"
