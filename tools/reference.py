"""Writes the generated reference, docs/reference, from the program's own declarations of commands, errors and tables.

With `--check` it writes nothing, names each stale file, and exits with 1. It generates the text from the parsers and declarations, not
from argparse's help, which changes with the version of Python and with the terminal.
"""

import argparse
import difflib
import importlib
import pkgutil
import re
import sqlite3
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import precast
from precast.base.errors import CONSEQUENCES, Issue
from precast.base.settings import declared
from precast.cli.main import GROUPS, build_parser
from precast.cli.server.config import AREAS
from precast.store.engine.query import Dialect
from precast.store.schema import schema
from precast.store.schema.migrations import Migration
from precast.store.schema.migrations.all import MIGRATIONS
from tools import boot_keys
from tools.man import PAGE, man_page

DIRECTORY = Path(__file__).resolve().parents[1] / "docs" / "reference"
MADE_BY = "<!-- Written by tools/reference.py from the program itself; `make docs` writes it again. -->\n"


def pages() -> dict[str, str]:
    """Every generated page: its file name and its text."""
    return {
        "boot-keys.md": boot_keys.page(MADE_BY, _table),
        "cli.md": cli_page(),
        "configuration.md": configuration_page(),
        "errors.md": errors_page(),
        "exit-codes.md": exit_codes_page(),
        "schema.md": schema_page(),
    }


def stale(directory: Path) -> list[str]:
    """One line for each file that is missing or not what would be written now."""
    found = []
    for name, text in pages().items():
        path = directory / name
        present = path.read_text(encoding="utf-8") if path.exists() else ""
        if present != text:
            lines = difflib.unified_diff(present.splitlines(), text.splitlines(), lineterm="", n=0)
            first = next((line for line in lines if re.match(r"[-+][^-+]", line)), "")
            found.append(f"docs/reference/{name} is stale: run `make docs` ({first.strip() or 'only blanks differ'})")
    return found


# Commands


def cli_page() -> str:
    """Every command with its arguments, as the parsers have them."""
    parser = build_parser(list(GROUPS))
    parts = [
        MADE_BY,
        "# Commands\n",
        "An error is one line with a code ([errors](errors.md)) and a hint, on standard error. With `--json` a command prints one JSON",
        "document and nothing else. Exit codes: 0 for success, 1 to 6 for what a command found, 64 and above for errors",
        "([exit codes](exit-codes.md)). Every command has `--help`. Nodes are named by [targets](../explanation/targets.md).\n",
    ]
    return "\n".join([*parts, *_command(parser, parser.description or "", depth=2)])


def _command(parser: argparse.ArgumentParser, summary: str, depth: int) -> Iterator[str]:
    yield f"{'#' * depth} {parser.prog}\n"
    yield f"{_sentence(_escaped(parser.description or summary))}\n"
    yield f"```text\n{_usage(parser)}\n```\n"
    rows = [_argument(action) for action in parser._actions if not _is_left_out(action)]
    if rows:
        yield _table(["argument", "meaning"], rows)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, subparser in action.choices.items():
                yield from _command(subparser, summaries.get(name, ""), depth + 1)


def _usage(parser: argparse.ArgumentParser) -> str:
    alone = {action: group for group in parser._mutually_exclusive_groups for action in group._group_actions}
    words, seen = [], set()
    for action in [*_options(parser), *_positionals(parser)]:
        if action not in alone:
            words.append(_form(action, in_usage=True))
        elif (group := alone[action]) not in seen:
            seen.add(group)
            either = " | ".join(_form(option) for option in group._group_actions)
            words.append(f"({either})" if group.required else f"[{either}]")
    return textwrap.fill(
        " ".join([parser.prog, *words]),
        width=100,
        subsequent_indent=" " * 4,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.option_strings and not _is_left_out(action)]


def _positionals(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if not action.option_strings]


def _is_left_out(action: argparse.Action) -> bool:
    is_commands = isinstance(action, argparse._SubParsersAction)
    return is_commands or isinstance(action, argparse._HelpAction) or action.help == argparse.SUPPRESS


def _form(action: argparse.Action, *, in_usage: bool = False) -> str:
    """An argument as it is written on a command line; in a usage line, in brackets if it may be left out."""
    if isinstance(action, argparse._SubParsersAction):
        return f"{action.metavar or 'COMMAND'} …"
    if action.option_strings:
        text = " ".join([action.option_strings[-1], *_values(action)])
        if not in_usage:
            return text
        again = " …" if isinstance(action, argparse._AppendAction) else ""
        return text + again if action.required else f"[{text}]{again}"
    (text,) = _values(action)[:1]
    repeated = {"*": f"[{text} …]", "+": f"{text} …", "?": f"[{text}]"}
    return repeated.get(str(action.nargs), text) if in_usage else text


def _values(action: argparse.Action) -> list[str]:
    if action.nargs == 0:
        return []
    if isinstance(action.metavar, tuple):
        return list(action.metavar)
    choices = "|".join(map(str, action.choices)) if action.choices is not None else ""
    name = action.metavar or choices or action.dest.upper()
    count = action.nargs if isinstance(action.nargs, int) else 1
    return [name] * count


def _argument(action: argparse.Action) -> tuple[str, str]:
    forms = [" ".join([option, *_values(action)]) for option in action.option_strings] or [_form(action)]
    if isinstance(action, argparse._VersionAction):  # its text is not ours, and changes with Python's version
        return f"`{forms[0]}`", "print the version"
    text = _escaped(action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
    return ", ".join(f"`{form}`" for form in forms), text


# Settings


def configuration_page() -> str:
    """Every setting of every program, as it is declared."""
    parts = [
        MADE_BY,
        "# Configuration\n",
        "A setting is given by a flag, else by its variable, else in the program's TOML file, else it has its default. `--config FILE`",
        "names another file, which then must exist. A key that is not listed here is an error. A variable that is empty counts as not",
        "set; several values are separated by commas there, and by repeating the flag. A duration is written `90s`, `30m`, `12h` or",
        "`7d`, a size `500KB`, `64MiB` or as a number of bytes. A file that holds a secret must not be readable by others.\n",
        "`precast config show` prints each value and where it came from, without secrets.\n",
    ]
    for cls in AREAS:
        place = str(cls.area.place({})).replace(str(Path.home()), "~")
        doc = _sentence((cls.__doc__ or "").strip())
        rows = [
            (
                f"`{field.name}`",
                f"`{field.flag}`" if field.flag else "",
                f"`{field.variable}`",
                field.setting.show(field.default),
                _escaped(field.setting.meaning) + ("; a secret" if field.setting.is_secret else ""),
            )
            for field in declared(cls)
        ]
        parts += [
            f"## {cls.area.name}\n",
            f"`{place}`. {doc}\n",
            _table(["key", "flag", "variable", "default", "meaning"], rows),
        ]
    return "\n".join(parts)


# Exit codes


def exit_codes_page() -> str:
    """What scripts decide by: the table of errors, and what commands declare."""
    kinds = [(what.exit_code, f"`{kind.value}`", "yes" if what.retry else "no") for kind, what in CONSEQUENCES.items()]
    found = [
        (f"`{' '.join(words)}`", code, meaning)
        for words, parser in parsers(build_parser(list(GROUPS)))
        for code, meaning in getattr(parser, "exits", {}).items()
    ]
    return "\n".join(
        [
            MADE_BY,
            "# Exit codes\n",
            "0 is success. 130 is an interrupt (Ctrl-C). 64 and above are errors, by their kind, as in `sysexits.h`",
            "([why](../decisions/0007-take-exit-codes-from-sysexits-h.md)); the message",
            "has a code of its own ([errors](errors.md)). `75` means",
            '"try again later", and nothing else does.\n',
            _table(["exit code", "kind of error", "worth a retry"], sorted(kinds)),
            "1 to 6 are what a command found, though nothing went wrong:\n",
            _table(["command", "exit code", "meaning"], found),
        ]
    )


def parsers(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = ("precast",)
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Every parser with the words that lead to it; alternative names of commands are left out."""
    yield words, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, subparser in action.choices.items():
                if subparser.prog.endswith(f" {name}"):
                    yield from parsers(subparser, (*words, name))


# Errors


def errors_page() -> str:
    """Every declared issue, by the module that declares it."""
    kinds = [
        (f"`{kind.value}`", what.exit_code, what.http_status, "yes" if what.retry else "no")
        for kind, what in CONSEQUENCES.items()
    ]
    parts = [
        MADE_BY,
        "# Errors\n",
        "A code, once released, keeps its meaning. Words in braces are filled in. The kind says what a caller can do:\n",
        _table(["kind", "exit code", "HTTP status", "worth a retry"], kinds),
    ]
    for module in issue_modules():
        room = "/".join(module.__name__.split(".")[1:-1])
        parts += [f"## {room}\n", f"{_sentence((module.__doc__ or '').strip())}\n"]
        parts += [_issue(issue) for issue in declared_in(module)]
    return "\n".join(parts)


def issue_modules() -> list[ModuleType]:
    """Every module called `issues` or `issues_` and a word, and every module of a package called `issues`."""
    modules = pkgutil.walk_packages(precast.__path__, "precast.")
    return [importlib.import_module(each.name) for each in modules if re.search(r"\.issues(_\w+|\.\w+)?$", each.name)]


def declared_in(module: ModuleType) -> list[Issue]:
    """The issues of one such module, by code."""
    return sorted((value for value in vars(module).values() if isinstance(value, Issue)), key=lambda issue: issue.code)


def _issue(issue: Issue) -> str:
    what = CONSEQUENCES[issue.kind]
    retry = "worth a retry" if what.retry else "no retry"
    lines = [
        f"### {issue.code}\n",
        f"`{issue.kind.value}` · exit code {what.exit_code} · HTTP {what.http_status} · {retry}\n",
        f"> {_escaped(_plain(issue.text))}\n",
    ]
    if issue.hint:
        lines.append(f"Hint: {_escaped(_plain(issue.hint))}\n")
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Fields by name alone: how a number is rounded is of no interest here."""
    return re.sub(r"\{(\w+)[:!][^}]*\}", r"{\1}", text)


# Tables


def schema_page() -> str:
    """Every table as the migrations make it, read back from a database that has seen them all."""
    database = sqlite3.connect(":memory:")
    texts = [schema.CREATE.sqlite]
    for migration in MIGRATIONS:
        texts += [query.sqlite for query in migration.expand_queries(Dialect.SQLITE)]
    for text in texts:
        database.execute(text)
    remarks = _remarks(texts)
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")]
    parts = [
        MADE_BY,
        "# Schema\n",
        "The same tables on both databases. An integer is `INTEGER` in SQLite and `BIGINT` in PostgreSQL, bytes are `BLOB` and",
        "`BYTEA`. Columns called `at` or ending in `_at` are microseconds since 1970 (UTC). How the tables come to be:",
        "[upgrade](../howto/upgrade.md). What they are for: [store](../explanation/store.md),",
        "[work queue](../explanation/work-queue.md).\n",
        "A table belongs to one module of Precast. Other programs use the commands, not the tables.\n",
        "## Migrations\n",
        _table(
            ["schema", "name", "oldest program that runs on it", "has a contraction"], [*map(_migration, MIGRATIONS)]
        ),
        "## Tables\n",
    ]
    parts += [_sql_table(database, name, remarks) for name in names]
    parts += ["## What only one database has\n"]
    for migration in MIGRATIONS:
        for dialect in Dialect:
            if statements := migration.expand_only.get(dialect.value):
                sql = ";\n".join(statements)
                parts.append(f"Schema {migration.number}, {dialect.value}:\n\n```sql\n{sql};\n```\n")
    return "\n".join(parts)


def _migration(migration: Migration) -> tuple[object, ...]:
    return migration.number, migration.name, migration.runs_with, "yes" if migration.contract else "no"


def _remarks(texts: Sequence[str]) -> dict[tuple[str, str], str]:
    """The comments behind the columns, by table and column."""
    remarks = {}
    for text in texts:
        if table := re.search(r"\b(?:CREATE|ALTER) TABLE (?:IF NOT EXISTS )?(\w+)", text):
            for column, remark in re.findall(r"^\s*(?:ADD COLUMN )?(\w+) [^\n]*?-- *(.+)$", text, re.MULTILINE):
                remarks[table[1], column] = remark
    return remarks


def _sql_table(database: sqlite3.Connection, name: str, remarks: dict[tuple[str, str], str]) -> str:
    refers = {row[3]: f"refers to `{row[2]}.{row[4]}`" for row in database.execute(f"PRAGMA foreign_key_list({name})")}
    rows = []
    for _, column, kind, is_needed, _, key in database.execute(f"PRAGMA table_info({name})"):
        word = {"TEXT": "text", "BLOB": "bytes"}.get(kind, "integer")
        remark = "; ".join(filter(None, [remarks.get((name, column)), refers.get(column)]))
        rows.append((f"`{column}`", word, "key" if key else "" if is_needed else "may be null", remark))
    text = f"### {name}\n\n{_table(['column', 'type', '', 'meaning'], rows)}"
    for index in _indexes(database, name):
        text += f"\nIndex {index}\n"
    return text


def _indexes(database: sqlite3.Connection, table: str) -> list[str]:
    names = database.execute(
        "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL ORDER BY rowid",
        [table],
    )
    return [
        f"`{name}`: " + ", ".join(f"`{row[2]}`" for row in database.execute(f"PRAGMA index_info({name})"))
        for (name,) in names.fetchall()
    ]


# Words


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(_in_cell(str(cell)) for cell in line) + " |" for line in lines) + "\n"


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _escaped(text: str) -> str:
    """Text with all characters escaped that Markdown would interpret, except inside backquotes."""
    parts = text.split("`")
    plain = [re.sub(r"([\\*<>\[\]])", r"\\\1", part) if at % 2 == 0 else part for at, part in enumerate(parts)]
    return "`".join(plain)


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", ":", "!", "?")) else ".")


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with `--check` compare them; returns the exit code."""
    parser = argparse.ArgumentParser(description="write docs/reference from the program")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is stale")
    if parser.parse_args(arguments).check:
        lines = stale(DIRECTORY)
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != man_page():
            lines.append("packaging/man/precast.1 is stale: run `make docs`")
        for line in lines:
            print(line, file=sys.stderr)
        return 1 if lines else 0
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (DIRECTORY / name).write_text(text, encoding="utf-8")
        print(f"wrote docs/reference/{name}")
    PAGE.write_text(man_page(), encoding="utf-8")
    print("wrote packaging/man/precast.1")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
