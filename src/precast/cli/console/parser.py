"""The argument parser: its errors are Precast's own, on one line, with a suggestion."""

import argparse
import os
from typing import Any, NoReturn

from precast.cli import issues


def declare_exits(parser: argparse.ArgumentParser, exits: dict[int, str]) -> None:
    """Declare the meanings of a command's exit codes other than 0. Errors have exit codes above 63, by their kind."""
    assert isinstance(parser, Parser), "all parsers are of this class"
    assert set(exits) <= set(range(1, 7)), "other codes are reserved"
    parser.exits = exits


def set_default_command(parser: argparse.ArgumentParser, command: str) -> None:
    """Use this command where the first word is not a command of the group."""
    assert isinstance(parser, Parser), "all parsers are of this class"
    parser.default_command = command


def collect_rest(parser: argparse.ArgumentParser, name: str) -> None:
    """Store all words behind `--` under this name, without parsing them; None if there is no `--`."""
    assert isinstance(parser, Parser), "all parsers are of this class"
    parser.rest = name


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises CLI-001 where argparse would print its usage and exit."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("allow_abbrev", False)  # an abbreviation in a script breaks when an option is added
        super().__init__(**options)
        # The meanings of the command's own exit codes, from 1 to 6. `declare_exits` sets them, the reference prints them.
        self.exits: dict[int, str] = {}
        self.default_command = self.rest = ""

    def _get_formatter(self) -> argparse.HelpFormatter:
        """Set the terminal's width: argparse would import a slow module to find it."""
        try:
            columns = int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size(1).columns
        except (OSError, ValueError):
            columns = 80
        return argparse.HelpFormatter(self.prog, width=max(columns - 2, 20))

    def error(self, message: str) -> NoReturn:
        raise issues.USAGE.error(problem=message, usage=f"see `{self.prog} --help`")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown words here: argparse would leave them to the outermost parser, which does not know the options of commands."""
        if self.default_command and not (args and (args[0] in ("-h", "--help") or args[0] in self._commands())):
            args = [self.default_command, *args]
        rest = None
        if self.rest and "--" in args:
            separator = args.index("--")
            args, rest = args[:separator], args[separator + 1 :]
        known, unknown = super().parse_known_args(args, namespace)
        if self.rest:
            setattr(known, self.rest, rest)
        if unknown:
            self._refuse(unknown[0])
        return known, unknown

    def _commands(self) -> list[str]:
        groups = [action for action in self._actions if isinstance(action, argparse._SubParsersAction)]
        return [name for group in groups for name in group.choices]

    def _refuse(self, word: str) -> NoReturn:
        if not word.startswith("-") or word == "-":
            self.error(f"unexpected argument {word!r}")
        option = word.partition("=")[0]
        import difflib

        near = difflib.get_close_matches(option, self._option_string_actions, n=1)
        self.error(f"unknown option {option!r}" + (f"; did you mean {near[0]!r}?" if near else ""))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        import difflib

        near = difflib.get_close_matches(str(value), choices, n=1)
        guess = f"; did you mean {near[0]!r}?" if near else f"; choose one of: {', '.join(choices)}"
        what = "command" if isinstance(action, argparse._SubParsersAction) else argparse._get_action_name(action)
        self.error(f"unknown {what} {str(value)!r}{guess}")
