"""`precast env modules`: installs the modules of a Puppetfile, lists the installed ones, and checks their dependencies."""

import argparse
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from precast.base.home import home_directory
from precast.base.redaction import redact
from precast.cli.code.local_environments import directory, known_types, open_environment, settings_of
from precast.cli.code.module_types import check_types, print_types
from precast.cli.console.files import read_source
from precast.cli.console.output import print_json, print_table
from precast.cli.console.parser import declare_exits
from precast.lang.compiler.types.known_types import KnownTypes
from precast.lang.file_trees import FileStore
from precast.lang.functions import library, registry
from precast.lang.inputs import ABSENT
from precast.lang.module_metadata import FILE, Metadata, read_metadata, unmet_dependencies
from precast.lang.ruby.declarations.puppetfile import Puppetfile, read_puppetfile
from precast.lang.syntax.tokens import KEYWORDS
from precast.services.code.modules import issues
from precast.services.code.modules.installation import PUPPETFILE, install_modules
from precast.services.code.modules.lock import LockedModule, read_lock
from precast.services.code.modules.module_files import digest_of

EXIT_PROBLEMS = 1


def configure(commands: Any) -> None:
    summary = "the modules of an environment: install, list, check"
    group = commands.add_parser("modules", help=summary, description=summary)
    inner = group.add_subparsers(metavar="COMMAND", required=True, parser_class=type(group))
    install = _command(inner, "install", "install the modules of the Puppetfile", _install)
    install.add_argument("--forge", metavar="DIR", help="a directory with tarballs AUTHOR-NAME-VERSION.tar.gz")
    install.add_argument("--update", action="store_true", help="resolve branches and newest versions again")
    install.add_argument(
        "--force", action="store_true", help="also replace and remove modules that were changed locally"
    )
    _command(inner, "list", "list the modules on the module path", _list)
    check = _command(inner, "check", "check for missing dependencies and differences from the Puppetfile", _check)
    declare_exits(check, {EXIT_PROBLEMS: "a dependency is missing, or a module differs from the Puppetfile"})


def _command(commands: Any, name: str, summary: str, run: Any) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary)
    command.add_argument(
        "--environment", metavar="DIR", default=".", help="the environment's directory (default: the current one)"
    )
    command.add_argument("--json", action="store_true", help="print one JSON document")
    command.set_defaults(run=run)
    return command


# Installing


def _install(args: argparse.Namespace) -> int:
    place = directory(args.environment)
    if not (place / PUPPETFILE).exists():
        raise issues.NO_PUPPETFILE.error(path=str(place / PUPPETFILE))
    forge = directory(args.forge) if args.forge is not None else None
    outcomes = install_modules(place, cache=_cache(), forge=forge, update=args.update, force=args.force)
    if args.json:
        print_json([msgspec.to_builtins(outcome) for outcome in outcomes])
        return 0
    print_table(
        ["MODULE", "WHERE", "DONE", "COMMIT OR VERSION"],
        [(outcome.name, outcome.directory, outcome.change, outcome.resolved or None) for outcome in outcomes],
    )
    return 0


def _puppetfile(place: Path) -> Puppetfile | None:
    path = place / PUPPETFILE
    return read_puppetfile(read_source(str(path))) if path.exists() else None


def _cache() -> Path:
    """The directory that caches repositories between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or home_directory() / ".cache"
    return Path(base) / "precast" / "git"


# Listing and checking


def _modules(args: argparse.Namespace) -> tuple[dict[str, tuple[str, Metadata]], FileStore]:
    """Each module's path and metadata, in the order of the module path, and their files."""
    _, files, constants = open_environment(args.environment)
    roots = settings_of(files, constants).module_path
    return {name: (path, _metadata(name, path, files)) for name, path in files.modules(roots).items()}, files


def _metadata(name: str, path: str, files: FileStore) -> Metadata:
    digest = files.digest(f"{path}/{FILE}")
    return read_metadata(name, None if digest is ABSENT else files.content(digest))


def _list(args: argparse.Namespace) -> int:
    place = directory(args.environment)
    (modules, _), locked = _modules(args), read_lock(place)
    if args.json:
        print_json(
            [
                {
                    **msgspec.to_builtins(metadata),
                    "name": name,
                    "path": path,
                    "installed_from": _origin(locked.get(name)),
                }
                for name, (path, metadata) in modules.items()
            ]
        )
        return 0
    print_table(
        ["MODULE", "VERSION", "WHERE", "FROM"],
        [
            (name, metadata.version or None, path, _origin(locked.get(name)))
            for name, (path, metadata) in modules.items()
        ],
    )
    return 0


def _origin(locked: LockedModule | None) -> str | None:
    if locked is None:
        return None
    source = locked.source
    return f"{redact(source.url)} {locked.resolved[:12]}" if source.origin == "git" else f"forge {locked.resolved}"


def _check(args: argparse.Namespace) -> int:
    place = directory(args.environment)
    modules, files = _modules(args)
    unmet = unmet_dependencies({name: metadata for name, (_, metadata) in modules.items()})
    problems = [
        (name, problem)
        for name, (_, metadata) in modules.items()
        for problem in (*metadata.problems, *unmet.get(name, ()))
    ]
    roots = [path for path, _ in modules.values()]
    problems += [
        (name, problem) for name, (path, _) in modules.items() for problem in _missing_functions(path, files, roots)
    ]
    problems += _unread_facts(roots, files)
    problems += _differences(place, _puppetfile(place), read_lock(place))
    types = list(check_types(modules, files, _known_types(args), partial(_read, files), partial(_find, files, roots)))
    if args.json:
        print_json(
            {
                "modules": len(modules),
                "problems": [{"module": name, "problem": text} for name, text in problems],
                "types": [each.data() for each in types],
            }
        )
    else:
        print_types(types)
        if problems:
            print_table(["MODULE", "PROBLEM"], problems)
            print()
        print(f"{len(modules)} modules, {len(problems)} problems")
    return EXIT_PROBLEMS if problems else 0


def _known_types(args: argparse.Namespace) -> KnownTypes:
    _, files, constants = open_environment(args.environment)
    return known_types(files, constants)


def _read(files: FileStore, path: str) -> tuple[str, str] | None:
    digest = files.digest(path)
    return None if digest is ABSENT else (digest, files.content(digest).decode("utf-8", "replace"))


def _find(files: FileStore, roots: list[str], name: str) -> str | None:
    """The path of the first file of this name in a module."""
    return next((path for root in roots if files.digest(path := f"{root}/{name}") is not ABSENT), None)


def _missing_functions(path: str, files: FileStore, roots: list[str]) -> Iterator[str]:
    """The Ruby functions of a module that cannot run, with the place. A function with the name of a keyword cannot be called."""
    # The Ruby subset is imported late: the other commands of the group do not need it.
    from precast.lang.functions.ruby.checking import check_function
    from precast.lang.functions.ruby.selection import RubyFile

    library.load()
    for folder in ("lib/puppet/functions", "lib/puppet/parser/functions"):
        for name in _ruby_files(f"{path}/{folder}", "", files):
            file_path = f"{path}/{folder}/{name.replace('::', '/')}.rb"
            digest = files.digest(file_path)
            if registry.find(name) is not None or name in KEYWORDS or digest is ABSENT:
                continue
            text = files.content(digest).decode("utf-8", "replace")
            status = check_function(
                RubyFile(name.lower(), file_path, digest, text),
                read=partial(_read, files),
                find=partial(_find, files, roots),
            )
            for finding in status.findings[:1]:
                yield f"the function {name} cannot run: {finding.path}:{finding.line}: {finding.reason}"


def _unread_facts(roots: list[str], files: FileStore) -> Iterator[tuple[str, str]]:
    """Each module's Ruby facts that nodes cannot read, with the place and the reason."""
    from precast.lang.module_facts.checking import check_facts

    module_path = tuple(dict.fromkeys(path.rpartition("/")[0] for path in roots))
    for status in check_facts(files, module_path):
        if (finding := status.finding) is not None:
            fact = f"the fact {status.name}" if status.name is not None else f"the fact of line {status.line}"
            yield status.module, f"{fact} cannot be read: {finding.path}:{finding.line}: {finding.reason}"


def _ruby_files(directory: str, prefix: str, files: FileStore) -> Iterator[str]:
    names = files.names(directory)
    for name in () if names is ABSENT else names:
        if name.endswith("/"):
            yield from _ruby_files(f"{directory}/{name.rstrip('/')}", f"{prefix}{name.rstrip('/')}::", files)
        elif name.endswith(".rb"):
            yield prefix + name.removesuffix(".rb")


def _differences(place: Path, puppetfile: Puppetfile | None, locked: dict[str, LockedModule]) -> list[tuple[str, str]]:
    """The differences between the installed modules and the Puppetfile with its lock."""
    differences: list[tuple[str, str]] = []
    for source in puppetfile.modules if puppetfile is not None else ():
        known = locked.get(source.name)
        path = place / source.directory
        if source.origin == "local" or (known is not None and known.source == source):
            if not path.is_dir():
                differences.append((source.name, f"{source.directory} is missing"))
            elif known is not None and source.origin != "local" and digest_of(path) != known.files:
                differences.append((source.name, "it was changed since it was installed"))
        else:
            differences.append((source.name, "the Puppetfile names another source or version than the installed one"))
    expected = {source.name for source in puppetfile.modules} if puppetfile is not None else set(locked)
    return differences + [
        (name, "it is installed, but no longer in the Puppetfile") for name in locked if name not in expected
    ]
