"""Properties that all commands share."""

import argparse

import pytest

from precast.cli.main import GROUPS, build_parser
from tools.reference import parsers

ALL = {" ".join(words): parser for words, parser in parsers(build_parser(list(GROUPS)))}
# These commands run until they are stopped, are processes that the daemon starts for itself, or print a document in another format.
WITHOUT_JSON = {
    *("precast server", "precast signer", "precast agent", "precast agent run"),
    *("precast agent exec", "precast agent task", "precast agent network"),
    *("precast net draw", "precast net export", "precast net import"),
    *("precast plan draw", "precast plan export"),
}


def is_command(parser: argparse.ArgumentParser) -> bool:
    return parser.get_default("run") is not None


def options(parser: argparse.ArgumentParser) -> set[str]:
    return set(parser._option_string_actions)


COMMANDS = [name for name, parser in ALL.items() if is_command(parser)]


def test_commands_were_found() -> None:
    assert len(COMMANDS) > 35


@pytest.mark.parametrize("name", COMMANDS)
def test_command_that_prints_has_json(name: str) -> None:
    assert ("--json" in options(ALL[name])) is (name not in WITHOUT_JSON)


@pytest.mark.parametrize("name", ALL)
def test_place_on_the_command_line_says_what_it_is(name: str) -> None:
    parser = ALL[name]
    assert parser.description or parser.prog == name
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            # An alternative name, as `doc types` of `doc type`, has the parser of the name that has the line of help.
            names = {name for name, choice in action.choices.items() if choice.prog.endswith(f" {name}")}
            assert {choice.dest for choice in action._choices_actions} == names, "each command has a line of help"
        elif action.option_strings:
            assert action.help, (name, action.option_strings)


@pytest.mark.parametrize("name", COMMANDS)
def test_exit_codes_that_a_command_declares_are_free_for_it(name: str) -> None:
    exits = getattr(ALL[name], "exits", {})
    assert set(exits) <= {1, 2, 3, 4, 5, 6}
    assert all(exits.values())
