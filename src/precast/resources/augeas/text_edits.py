"""Finds the files whose text changes by what was done in a tree, without saving the tree.

A file that is in the tree has changed if its part of the tree differs. A file that is new belongs to the transform whose patterns it
matches, as when Augeas saves. After commands that remove or move nodes an equal tree may still lead to another text, so then every file
is written out and compared.
"""

import re
from typing import Final, NamedTuple

from precast.resources.augeas.library import Tree, matches_glob

_ESCAPED: Final = re.compile(r"\\(.)")


class ParsedFile(NamedTuple):
    """A file in the tree: where it is on the machine, and the lens that parsed it."""

    path: str
    lens: str


class Survey(NamedTuple):
    """What is in the tree: the nodes of each file, and the nodes that belong to no file yet."""

    parts: dict[str, list[bytes]]
    orphans: list[str]


def parsed_files(tree: Tree) -> dict[str, ParsedFile]:
    """The files that are in the tree, by their paths in it."""
    files = {}
    for node in tree.match("/augeas/files//path"):
        place, lens = tree.get(node), tree.get(f"{node.removesuffix('/path')}/lens")
        if place and lens and tree.match(place):
            files[place] = ParsedFile(file_path(place), lens)
    return files


def file_path(place: str) -> str:
    """The path of a file that is at a place in the tree, where special characters are escaped."""
    return _ESCAPED.sub(r"\1", place.removeprefix("/files"))


def survey(tree: Tree, files: dict[str, ParsedFile]) -> Survey:
    parts: dict[str, list[bytes]] = {}
    orphans: list[str] = []
    current = " "  # no path begins with a blank
    for line in tree.dump("/files").split(b"\n"):
        place = line.split(b" = ")[0].decode("utf-8", "surrogateescape")
        if not (place.startswith(current) and place[len(current) : len(current) + 1] in ("", "/")):
            found = _file_above(place, files)
            if found is None:
                orphans.append(place)
                continue
            current = found
        parts.setdefault(current, []).append(line)
    return Survey(parts, [place for place in orphans if place])


def _file_above(place: str, files: dict[str, ParsedFile]) -> str | None:
    while place:
        if place in files:
            return place
        place = place.rpartition("/")[0]
    return None


def changed_places(before: Survey, after: Survey, is_restructured: bool) -> list[str]:
    """The places of files that were in the tree and may have another text now, those that were removed from it among them."""
    return [place for place, lines in before.parts.items() if is_restructured or after.parts.get(place, []) != lines]


def new_files(tree: Tree, before: Survey, after: Survey) -> dict[str, ParsedFile]:
    """The files that only commands created in the tree. Nodes that no transform would save are in none."""
    known = set(before.orphans)
    found: dict[str, ParsedFile] = {}
    for place in after.orphans:
        if place in known or _file_above(place, found) is not None:
            continue
        path = file_path(place)
        lens = _lens_for(tree, path)
        if lens is not None:
            found[place] = ParsedFile(path, lens)
    return found


def _lens_for(tree: Tree, path: str) -> str | None:
    for transform in tree.match("/augeas/load/*"):
        if _any_matches(tree, f"{transform}/incl", path) and not _any_matches(tree, f"{transform}/excl", path):
            return tree.get(f"{transform}/lens")
    return None


def _any_matches(tree: Tree, nodes: str, path: str) -> bool:
    return any(matches_glob(pattern, path) for node in tree.match(nodes) if (pattern := tree.get(node)))
