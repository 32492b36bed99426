"""tidy: removes files by name, age or size. Each file that goes is a file resource of its own, in its turn right after this one.

As in Puppet, age and size are alternatives, files that the catalog manages stay, nothing is backed up, and with `rmdirs` a directory goes
with all that is in it.
"""

import re
import stat
from collections.abc import Sequence
from os import stat_result
from typing import ClassVar, Final

from precast.resources import properties
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State
from precast.resources.file import File
from precast.resources.files import issues, listing, parameters, safe_reads

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_BYTES: Final = {unit: 1024**power for power, unit in enumerate("bkmgt")}
_AMOUNT: Final = re.compile(r"([0-9]+)([0-9A-Za-z_]?)[0-9A-Za-z_]*")


class Tidy(Handler):
    touches_node: ClassVar[bool] = False  # the files that it generates do

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self._path = parameters.path_of(resource)
        self._depth = self._read_depth()
        self._age_s = self._amount("age", _SECONDS, "d")
        self._size_bytes = self._amount("size", _BYTES, "k")
        self._patterns = self._read_patterns()
        self._time = properties.one_of(resource, "type", ("atime", "mtime", "ctime")) or "atime"
        self._takes_directories = properties.read_boolean(resource, "rmdirs")
        self._max_files = properties.number(resource, "max_files") or 0

    def _read_depth(self) -> int | None:
        """How many levels to descend; None for all of them, 0 for none."""
        word = properties.format_value(self.resource.get("recurse", False)).strip("'")
        if word in ("true", "inf"):
            return None
        if word == "false":
            return 0
        return properties.number(self.resource, "recurse") or 0

    def _amount(self, name: str, units: dict[str, int], default: str) -> int | None:
        value = self.resource.get(name)
        if value is None:
            return None
        match = _AMOUNT.fullmatch(str(value))
        unit = "" if match is None else (match[2].lower() or default)
        if match is None or unit not in units:
            raise properties.invalid_value(self.resource, name, value, f"a number and one of {', '.join(units)}")
        return int(match[1]) * units[unit]

    def _read_patterns(self) -> list[str] | None:
        given = self.resource.get("matches")
        if given is None:
            return None
        if self._depth == 0:
            raise properties.invalid_value(self.resource, "matches", given, "given only with recurse")
        return [_as_python(pattern) for pattern in properties.as_texts(given)]

    @property
    def is_slow_to_read(self) -> bool:
        return self._depth != 0

    def read(self) -> State:
        return {}

    def compare(self, state: State) -> Sequence[Change]:
        return ()

    def expand(self, state: State) -> Sequence[Handler]:
        paths = sorted((path for path, status in self._find_entries() if self._is_untidy(path, status)), reverse=True)
        if paths:
            self.log("notice", f"Tidying {len(paths)} files")
        return [self._make_absent(path) for path in paths]

    def _make_absent(self, path: str) -> Handler:
        wanted = {"ensure": "absent", "force": True, "backup": False}
        return File(self.resource._replace(type="file", title=path, parameters=wanted), self.node)

    def _find_entries(self) -> list[tuple[str, stat_result]]:
        """The path itself and what is below it, as far as recursion goes. Raises InputError RESOURCE-115 for more than max_files."""
        parents = safe_reads.node_parents(self.node)
        status = safe_reads.find_status(parents, self._path)
        if status is None:
            return []
        found = [(self._path, status)]
        if self._depth != 0 and stat.S_ISDIR(status.st_mode):
            below = listing.list_below(parents, self._path, (), self._depth, is_followed=False)
            found += [(f"{self._path.rstrip('/')}/{name}", entry) for name, entry in below]
        if 0 < self._max_files < len(found):
            raise issues.TOO_MANY_FILES.error(path=self._path, count=len(found), limit=self._max_files)
        if self._max_files == 0 and len(found) > parameters.SOFT_LIMIT:
            self.log("warning", f"{self._path} has {len(found)} entries: set max_files to allow them")
        return found

    def _is_untidy(self, path: str, status: stat_result) -> bool:
        if path in self.node.names("file") or path in self.node.names("concat_file"):
            return False
        if stat.S_ISDIR(status.st_mode) and not self._takes_directories:
            return False
        return self._has_name(path) and self._is_old_or_large(status)

    def _has_name(self, path: str) -> bool:
        import fnmatch

        name = path.rpartition("/")[2]
        return self._patterns is None or any(fnmatch.fnmatchcase(name, pattern) for pattern in self._patterns)

    def _is_old_or_large(self, status: stat_result) -> bool:
        if self._age_s is None and self._size_bytes is None:
            return True
        seen_s = int(getattr(status, f"st_{self._time}"))
        if self._age_s is not None and int(self.node.clock.now().timestamp()) - seen_s >= self._age_s:
            return True
        return self._size_bytes is not None and status.st_size >= self._size_bytes


def _as_python(pattern: str) -> str:
    """Ruby's glob pattern as Python reads it: a backslash escapes, and ^ negates a set."""
    return re.sub(r"\\(.)", r"[\1]", pattern).replace("[^", "[!")
