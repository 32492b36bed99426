"""The parser: every mistake is CLI-001, with a suggestion if a name is close, and the help of the right command."""

import pytest

from precast.base.errors import InputError
from precast.cli.console.parser import Parser


def a_parser() -> Parser:
    parser = Parser(prog="precast")
    groups = parser.add_subparsers(metavar="COMMAND", dest="group", required=True)
    nodes = groups.add_parser("nodes")
    groups.add_parser("work")
    nodes.add_argument("--format", choices=["json", "table"])
    nodes.add_argument("--limit", type=int)
    nodes.add_argument("name", nargs="?")
    return parser


def mistake(*argv: str) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        a_parser().parse_args(argv)
    assert caught.value.code == "CLI-001"
    return caught.value.message, caught.value.hint


def test_parse_of_a_right_command_line_gives_its_values() -> None:
    args = a_parser().parse_args(["nodes", "--format", "json", "--limit", "5", "web1"])
    assert (args.group, args.format, args.limit, args.name) == ("nodes", "json", 5, "web1")


def test_parse_of_a_misspelt_command_guesses_the_right_one() -> None:
    assert mistake("noeds") == ("unknown command 'noeds'; did you mean 'nodes'?", "see `precast --help`")


def test_parse_of_an_unknown_command_lists_all() -> None:
    assert mistake("zzz") == ("unknown command 'zzz'; choose one of: nodes, work", "see `precast --help`")


def test_parse_of_a_misspelt_choice_guesses_the_right_one() -> None:
    assert mistake("nodes", "--format", "jsno") == (
        "unknown --format 'jsno'; did you mean 'json'?",
        "see `precast nodes --help`",
    )


@pytest.mark.parametrize("option", ["--fromat", "--fromat=json"])
def test_parse_of_a_misspelt_option_guesses_the_right_one(option: str) -> None:
    assert mistake("nodes", option) == (
        "unknown option '--fromat'; did you mean '--format'?",
        "see `precast nodes --help`",
    )


def test_parse_of_an_unknown_option_names_it() -> None:
    assert mistake("nodes", "-z") == ("unknown option '-z'", "see `precast nodes --help`")


def test_parse_of_one_argument_too_many_names_it() -> None:
    assert mistake("nodes", "a", "b", "c") == ("unexpected argument 'b'", "see `precast nodes --help`")


def test_parse_of_an_abbreviated_option_is_refused() -> None:
    assert mistake("nodes", "--form", "json")[0] == "unknown option '--form'; did you mean '--format'?"


def test_parse_without_a_command_says_what_is_missing() -> None:
    message, hint = mistake()
    assert "COMMAND" in message
    assert hint == "see `precast --help`"


def test_parse_of_a_value_of_the_wrong_type_names_option_and_value() -> None:
    message, hint = mistake("nodes", "--limit", "many")
    assert "--limit" in message
    assert "'many'" in message
    assert hint == "see `precast nodes --help`"
