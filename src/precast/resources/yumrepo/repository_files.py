"""The files with repositories of yum and dnf: sections of `key=value` lines; a line that begins with a blank continues the one before.

Only the lines of values that change are written anew; all others keep their bytes.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from precast.resources import issues_modules as issues
from precast.resources.contract import ManagedNode
from precast.resources.files import safe_reads, small_files
from precast.resources.text_files import TextFile, as_owner, encode_lines, read_lines

CONF: Final = "/etc/yum.conf"
_DIRECTORIES: Final = ("/etc/yum.repos.d", "/etc/yum/repos.d")
_MODE: Final = 0o644
_COMMENT: Final = re.compile(r"\s*$|[#;]|\s*rem\s", re.IGNORECASE)
_HEADER: Final = re.compile(r"\[([^\]]+)\]")
_VALUE: Final = re.compile(r"\s*([^\s=]+)\s*=\s*(.*)")


class Entry(NamedTuple):
    """A value and the lines that it takes: from `start` to before `end`."""

    value: str
    start: int
    end: int


class Section(NamedTuple):
    """One repository: its file, its lines from the header to before the next one, and its values by key."""

    name: str
    file: str
    start: int
    end: int
    entries: Mapping[str, Entry]


def parse(path: str, lines: list[str]) -> list[Section]:
    """The sections of a file. Raises InputError RESOURCE-239 for a line that is none of a repository file."""
    sections: list[Section] = []
    entries: dict[str, Entry] = {}
    key = ""
    for at, line in enumerate(lines):
        if _COMMENT.match(line):
            continue
        if line[0] in " \t\f\r" and key:
            entries[key] = Entry(f"{entries[key].value}\n{line}", entries[key].start, at + 1)
        elif (header := _HEADER.match(line)) is not None:
            entries, key = {}, ""
            sections.append(Section(header[1], path, at, len(lines), entries))
        elif (match := _VALUE.match(line)) is not None and sections:
            key = match[1]
            entries[key] = Entry(match[2].rstrip(), entries[key].start if key in entries else at, at + 1)
        else:
            raise issues.BAD_REPOSITORY_FILE.error(path=path, line=at + 1)
    following = [*(section.start for section in sections[1:]), len(lines)]
    return [section._replace(end=end) for section, end in zip(sections, following, strict=False)]


def directories(node: ManagedNode) -> list[str]:
    """The directories with repository files that exist: those that yum.conf names, or else the usual ones."""
    main = next((section for section in _read(node, CONF) if section.name == "main"), None)
    named = main.entries.get("reposdir") if main is not None else None
    found = _DIRECTORIES if named is None else tuple(named.value.replace(",", " ").split())
    parents = safe_reads.node_parents(node)
    return [directory for directory in found if safe_reads.exists(parents, directory)]


def all_sections(node: ManagedNode) -> list[Section]:
    """Every repository of the machine, in the order of the files. Raises as `parse` does."""
    parents = safe_reads.node_parents(node)
    files = [CONF]
    for directory in directories(node):
        names = safe_reads.list_names(parents, directory)
        files += [f"{directory}/{name}" for name in names if name.endswith(".repo") and not name.startswith(".")]
    return [section for file in files for section in _read(node, file) if section.name != "main"]


def _read(node: ManagedNode, path: str) -> list[Section]:
    return parse(path, read_lines(node, path).lines)


def place_for(node: ManagedNode, name: str, target: str | None) -> str:
    """The file in which a repository belongs."""
    known = directories(node)
    if not known:
        return CONF
    if target is None:
        return f"{known[-1]}/{name}.repo"
    path = target if target.endswith(".repo") else f"{target}.repo"
    parent, _, base = path.rpartition("/")
    return path if parent in known else f"{known[-1]}/{base}"


def write_section(node: ManagedNode, path: str, name: str, values: Mapping[str, str | None]) -> None:
    """Set values of a repository, which is added to the file if it is not there; None removes a value."""
    file = read_lines(node, path)
    section = _find(path, file, name)
    if section is None:
        lines = [*file.lines, f"[{name}]", *(f"{key}={value}" for key, value in values.items() if value is not None)]
    else:
        lines = _edit(file.lines, section, values)
    file.write(node, lines, _MODE)


def _edit(lines: list[str], section: Section, values: Mapping[str, str | None]) -> list[str]:
    lines = list(lines)
    added = [f"{key}={value}" for key, value in values.items() if key not in section.entries and value is not None]
    lines[section.end : section.end] = added
    known = [(section.entries[key], key, value) for key, value in values.items() if key in section.entries]
    for entry, key, value in sorted(known, key=lambda item: item[0].start, reverse=True):
        lines[entry.start : entry.end] = [] if value is None else [f"{key}={value}"]
    return lines


def remove_section(node: ManagedNode, path: str, name: str) -> None:
    """Remove a repository; a file without any other is removed."""
    file = read_lines(node, path)
    section = _find(path, file, name)
    if section is None:
        return
    if len(parse(path, file.lines)) == 1:
        small_files.remove_file(node, path)
        return
    lines = file.lines[: section.start] + file.lines[section.end :]
    small_files.replace_content(node, path, encode_lines(lines), file.found, _MODE, as_owner((0, 0)))


def _find(path: str, file: TextFile, name: str) -> Section | None:
    return next((section for section in parse(path, file.lines) if section.name == name), None)
