"""Counts how the functions of modules run that are written in Ruby: by the Ruby subset, by an implementation of ours, or not, and why.

usage: python -m tools.ruby_functions [--pins] [--all] [--list] MODULEPATH…

Every directory of a module path is a module. `--all` looks at the Ruby of functions that have an implementation of ours too. `--list`
prints a line for each function; `--pins` prints the versions of files for which implementations of ours exist, for `modules/pins.py`.
"""

import argparse
import collections
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from precast.base import digests
from precast.lang.functions.modules import library
from precast.lang.functions.ruby.checking import check_function
from precast.lang.functions.ruby.selection import RubyFile

FOLDERS = ("lib/puppet/functions", "lib/puppet/parser/functions")


def files(roots: list[Path]) -> Iterator[RubyFile]:
    """Yield the files of functions of all modules, in the order of their paths."""
    for root in roots:
        for module in sorted(each for each in root.iterdir() if each.is_dir()):
            for folder in FOLDERS:
                base = module / folder
                for path in sorted(base.rglob("*.rb")):
                    name = str(path.relative_to(base).with_suffix("")).replace("/", "::").lower()
                    data = path.read_bytes()
                    yield RubyFile(name, str(path), digests.of_bytes(data), data.decode("utf-8", "replace"))


def read(path: str) -> tuple[str, str] | None:
    """Return the digest and the text of a file."""
    place = Path(path)
    return (digests.of_bytes(place.read_bytes()), place.read_text("utf-8", "replace")) if place.is_file() else None


def finder(roots: list[Path]) -> Callable[[str], str | None]:
    """Return the function that finds a file in any module."""
    return lambda name: next((str(path) for root in roots for path in sorted(root.glob(f"*/{name}"))), None)


def print_pins(roots: list[Path]) -> None:
    pins: dict[str, set[str]] = {}
    for file in files(roots):
        if library.find(file.name) is not None:
            pins.setdefault(file.name, set()).add(file.digest[:16])
    for name in sorted(pins):
        print(f'    "{name}": ({", ".join(repr(each) for each in sorted(pins[name]))},),'.replace("'", '"'))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("roots", nargs="+", type=Path, metavar="MODULEPATH")
    parser.add_argument("--pins", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args(arguments)
    if options.pins:
        print_pins(options.roots)
        return 0
    found = [
        check_function(file, read=read, find=finder(options.roots), ignores_ours=options.all)
        for file in files(options.roots)
    ]
    for each in found if options.list else ():
        reasons = "; ".join(f"{finding.path}:{finding.line} {finding.reason}" for finding in each.findings[:3])
        print(f"{each.how:5} {each.name:45} {reasons}")
    counts = collections.Counter(each.how for each in found)
    print(f"{len(found)} functions: {counts['ruby']} run, {counts['twin']} by ours, {counts['no']} not")
    first = collections.Counter(each.findings[0].reason for each in found if each.findings)
    for reason, count in first.most_common(20):
        print(f"{count:5} {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
