"""Writes packaging/man/precast.1 from the parser: every command with its arguments, the exit codes, the files.

`precast-agent.8` is written by hand: what a daemon does is more than its options.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from precast import __version__
from precast.base.errors import CONSEQUENCES
from precast.base.settings import Settings
from precast.cli.main import GROUPS, build_parser
from precast.cli.server.config import AREAS

PAGE = Path(__file__).resolve().parents[1] / "packaging" / "man" / "precast.1"


def man_page() -> str:
    """The whole page."""
    parser = build_parser(list(GROUPS))
    lines = [
        '.\\" Written by tools/reference.py from the program itself.',
        f'.TH PRECAST 1 "" "Precast {__version__}" "User commands"',
        ".SH NAME",
        r"precast \- compile configuration ahead of time, hold it, set it in place on cue",
        ".SH SYNOPSIS",
        ".B precast",
        r".I COMMAND",
        r".RI [ ARGUMENT ]...",
        ".SH DESCRIPTION",
        _text(parser.description or ""),
        "An error is one line with a code, and a line with a hint.",
        r"With \fB\-\-json\fR a command prints one JSON document.",
        ".SH COMMANDS",
        *_commands(parser, ("precast",)),
        ".SH EXIT STATUS",
        *_tagged("0", "success"),
        *(line for code, meaning in _codes() for line in _tagged(str(code), meaning)),
        *_tagged("1 to 6", "what a command found, as said there"),
        *_tagged("130", "interrupted"),
        ".SH FILES",
        *(line for cls in AREAS for line in _tagged(_place(cls), f"settings of the {cls.area.name}")),
        ".SH SEE ALSO",
        r".BR precast\-agent (8)",
    ]
    return "\n".join(lines) + "\n"


def _commands(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> Iterator[str]:
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, subparser in action.choices.items():
            if subparser.get_default("run") is not None:
                yield from _command(subparser, (*words, name), summaries.get(name, ""))
            yield from _commands(subparser, (*words, name))


def _command(parser: argparse.ArgumentParser, words: tuple[str, ...], summary: str) -> Iterator[str]:
    yield f".SS {_text(' '.join(words))}"
    yield _text(summary[:1].upper() + summary[1:] + ".")
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction | argparse._SubParsersAction):
            continue
        yield from _tagged(_form(action), (action.help or "").replace("%%", "%"))
    for code, meaning in getattr(parser, "exits", {}).items():
        yield from _tagged(f"exit status {code}", meaning)


def _form(action: argparse.Action) -> str:
    metavar = " ".join(action.metavar) if isinstance(action.metavar, tuple) else action.metavar
    value = "" if action.nargs == 0 else str(metavar or "|".join(map(str, action.choices or ())) or action.dest.upper())
    return " ".join([", ".join(action.option_strings), value]).strip()


def _codes() -> list[tuple[int, str]]:
    kinds: dict[int, list[str]] = {}
    for kind, what in CONSEQUENCES.items():
        kinds.setdefault(what.exit_code, []).append(kind.value.replace("_", " "))
    return [(code, ", ".join(names)) for code, names in sorted(kinds.items())]


def _place(cls: type[Settings]) -> str:
    return str(cls.area.place({})).replace(str(Path.home()), "~")


def _tagged(tag: str, text: str) -> list[str]:
    return [".TP", f".B {_text(tag)}", _text(text) or "\\&"]


def _text(text: str) -> str:
    """Text with all characters escaped that roff would interpret."""
    safe = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe
