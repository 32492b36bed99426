"""The argument parser: errors are ours, with a suggestion, and end in one line."""

import argparse
import os
from typing import Any, NoReturn

from precast.cli import issues


def says(parser: argparse.ArgumentParser, exits: dict[int, str]) -> None:
    """Declare what a command's exit codes beside 0 mean. Errors have theirs by their kind, above 63."""
    assert isinstance(parser, Parser), "every parser of ours is one"
    assert set(exits) <= set(range(1, 7)), "the others are taken"
    parser.exits = exits


def usually(parser: argparse.ArgumentParser, command: str) -> None:
    """What is meant where the first word is none of a group's commands."""
    assert isinstance(parser, Parser), "every parser of ours is one"
    parser.usual = command


def takes_rest(parser: argparse.ArgumentParser, name: str) -> None:
    """Have everything behind `--` under this name, word by word, whatever it looks like; None if there is no `--`."""
    assert isinstance(parser, Parser), "every parser of ours is one"
    parser.rest = name


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises CLI-001 where argparse would print its usage and exit."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("allow_abbrev", False)  # an abbreviation in a script breaks when an option is added
        super().__init__(**options)
        # What the command's own exit codes mean, from 1 to 6: what it found. `says` fills it, the reference prints it.
        self.exits: dict[int, str] = {}
        self.usual = self.rest = ""

    def _get_formatter(self) -> argparse.HelpFormatter:
        """With the terminal's width: to find it argparse would import what takes longer than a command."""
        try:
            columns = int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size(1).columns
        except (OSError, ValueError):
            columns = 80
        return argparse.HelpFormatter(self.prog, width=max(columns - 2, 20))

    def error(self, message: str) -> NoReturn:
        raise issues.USAGE.error(problem=message, usage=f"see `{self.prog} --help`")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse what is left over here: argparse would leave that to the outermost parser, which knows none of our options."""
        if self.usual and not (args and (args[0] in ("-h", "--help") or args[0] in self._commands())):
            args = [self.usual, *args]
        rest = None
        if self.rest and "--" in args:
            at = args.index("--")
            args, rest = args[:at], args[at + 1 :]
        known, left = super().parse_known_args(args, namespace)
        if self.rest:
            setattr(known, self.rest, rest)
        if left:
            self._refuse(left[0])
        return known, left

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
        guess = f"; did you mean {near[0]!r}?" if near else f"; it is one of: {', '.join(choices)}"
        what = "command" if isinstance(action, argparse._SubParsersAction) else argparse._get_action_name(action)
        self.error(f"unknown {what} {str(value)!r}{guess}")
