"""`precast completion`: generates completion scripts for bash, zsh and fish from the argument parser.

The scripts contain all commands and options, so completing these starts no program. Node names are requested from the server, with a
timeout of a second; without a server none are offered.
"""

import argparse
import contextlib
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.cli.console.client import Client, connect
from precast.cli.console.output import print_json
from precast.wire.nodes.bodies import NodeRow

SHELLS = ("bash", "zsh", "fish")
NAMES_S = 1.0
# The metavars of arguments that are nodes, and of those that are files.
NODES = {"NODE", "TARGET", "OTHER"}
FILES = {"FILE", "DIR", "LOCATION"}


class Option(NamedTuple):
    """An option, its help text, its possible values, and the kind of its value."""

    name: str
    meaning: str
    values: tuple[str, ...]
    takes: str  # "", "file", "word"


class CompletionPoint(NamedTuple):
    """A point on the command line: the words before it, and what may follow."""

    words: tuple[str, ...]
    commands: dict[str, str]
    options: list[Option]
    choices: tuple[str, ...]
    wants: str  # "", "node", "file"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell", metavar="bash|zsh|fish", choices=[*SHELLS, "nodes"], help="the shell whose script is printed"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=_completion)


def _completion(args: argparse.Namespace) -> int:
    from precast.cli.main import GROUPS, build_parser

    if args.shell == "nodes":
        names = _node_names()
        if args.json:
            print_json(names)
        else:
            print(*names, sep="\n")
        return 0
    points = list(walk(build_parser(list(GROUPS))))
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](points)
    if args.json:
        print_json({"shell": args.shell, "script": script})
    else:
        print(script, end="")
    return 0


def _node_names() -> list[str]:
    """The first page of node names; none if the server is unreachable or slow, because completion must not print errors."""
    with contextlib.suppress(PrecastError):
        client: Client = connect(argparse.Namespace(), timeout_s=NAMES_S)
        return [row.name for row in client.ask("GET", "/v1/nodes", list[NodeRow])]
    return []


def walk(parser: argparse.ArgumentParser, words: tuple[str, ...] = ("precast",)) -> Iterator[CompletionPoint]:
    """Every point of the command line at which something can be completed."""
    commands: dict[str, str] = {}
    options: list[Option] = []
    choices: tuple[str, ...] = ()
    wants = ""
    inner: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
            commands |= {name: summaries.get(name, "") for name in action.choices}
            inner += action.choices.items()
        elif action.option_strings:
            options += [_option(name, action) for name in action.option_strings if name.startswith("--")]
        else:
            choices += tuple(map(str, action.choices or ()))
            wants = wants or _wants(action)
    yield CompletionPoint(words, commands, options, choices, wants)
    for name, command_parser in inner:
        yield from walk(command_parser, (*words, name))


def _option(name: str, action: argparse.Action) -> Option:
    takes = "" if action.nargs == 0 else "file" if _wants(action) == "file" else "word"
    return Option(name, (action.help or "").replace("%%", "%"), tuple(map(str, action.choices or ())), takes)


def _wants(action: argparse.Action) -> str:
    metavar = str(action.metavar or "")
    return "node" if metavar in NODES else "file" if metavar in FILES else ""


def _bash(points: list[CompletionPoint]) -> str:
    """One list of words for each point; the script finds the point by following the words that are commands."""
    cases = "\n".join(
        f"    {shlex.quote(' '.join(point.words))})\n"
        f"      words={shlex.quote(' '.join(_all_words(point)))}; wants={point.wants or 'none'} ;;"
        for point in points
    )
    files, plain = _options_with("file", points), _options_with("word", points)
    return f"""# bash completion for precast; put it into /etc/bash_completion.d/precast, or: source <(precast completion bash)
_precast_words() {{
  case "$1" in
{cases}
    *) return 1 ;;
  esac
}}
_precast() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" place=precast words="" wants=none word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    _precast_words "$place $word" && place="$place $word"
  done
  COMPREPLY=()
  case " {files} " in *" $before "*) compopt -o default 2>/dev/null; return ;; esac
  case " {plain} " in *" $before "*) return ;; esac
  _precast_words "$place"
  if [[ $wants == node && $current != -* ]]; then
    words="$words $(precast completion nodes 2>/dev/null)"
  elif [[ $wants == file && $current != -* ]]; then
    compopt -o default 2>/dev/null
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _precast precast
"""


def _zsh(points: list[CompletionPoint]) -> str:
    cases = "\n".join(
        f"    {shlex.quote(' '.join(point.words))})\n"
        f"      words_here=({' '.join(shlex.quote(_described(name, text)) for name, text in point.commands.items())}"
        f"{''.join(' ' + shlex.quote(choice) for choice in point.choices)})\n"
        f"      options_here=({' '.join(shlex.quote(_described(option.name, option.meaning)) for option in point.options)})\n"
        f"      wants={point.wants or 'none'} ;;"
        for point in points
    )
    files, plain = _options_with("file", points), _options_with("word", points)
    return f"""#compdef precast
# zsh completion for precast; put it as _precast into a directory of $fpath
_precast_place() {{
  case "$1" in
{cases}
    *) return 1 ;;
  esac
}}
_precast() {{
  local -a words_here options_here
  local place=precast wants=none word before="${{words[CURRENT-1]}}"
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    _precast_place "$place $word" && place="$place $word"
  done
  if [[ " {files} " == *" $before "* ]]; then _files; return; fi
  if [[ " {plain} " == *" $before "* ]]; then return; fi
  _precast_place "$place"
  if [[ $PREFIX == -* ]]; then
    _describe option options_here
    return
  fi
  if (( $#words_here )); then _describe command words_here; fi
  if [[ $wants == node ]]; then compadd -- ${{(f)"$(precast completion nodes 2>/dev/null)"}}; fi
  if [[ $wants == file ]]; then _files; fi
}}
_precast "$@"
"""


FISH_FUNCTIONS = """# fish completion for precast; put it as precast.fish into ~/.config/fish/completions
function __precast_given
    commandline -opc | string match -v -- '-*'
end
function __precast_at
    set -l given (__precast_given)
    set -l size (count $argv)
    test (count $given) -ge $size; and test "$given[1..$size]" = "$argv"
end
function __precast_is
    set -l given (__precast_given)
    test "$given" = "$argv"
end
complete -c precast -f
"""


def _fish(points: list[CompletionPoint]) -> str:
    lines = []
    for point in points:
        words = " ".join(point.words)
        # Commands and choices follow exactly these words; options and node names may also come later.
        exactly, within = f"-n '__precast_is {words}'", f"-n '__precast_at {words}'"
        lines += [f"complete -c precast {exactly} -a {name} -d {_quote(text)}" for name, text in point.commands.items()]
        lines += [f"complete -c precast {exactly} -a {_quote(choice)}" for choice in point.choices]
        for option in point.options:
            takes = {"": "", "word": " -x", "file": " -r -F"}[option.takes]
            condition = exactly if point.words == ("precast",) else within
            lines.append(f"complete -c precast {condition} -l {option.name[2:]} -d {_quote(option.meaning)}{takes}")
        if point.wants == "node":
            lines.append(f"complete -c precast {within} -a '(precast completion nodes 2>/dev/null)'")
        elif point.wants == "file":
            lines.append(f"complete -c precast {within} -F")
    return FISH_FUNCTIONS + "\n".join(lines) + "\n"


def _options_with(value: str, points: list[CompletionPoint]) -> str:
    """The names of all options that take a value of this kind."""
    return " ".join(sorted({option.name for point in points for option in point.options if option.takes == value}))


def _all_words(point: CompletionPoint) -> list[str]:
    return [*point.commands, *point.choices, *(option.name for option in point.options)]


def _described(name: str, meaning: str) -> str:
    return f"{name}:{meaning.replace(':', ' ')}" if meaning else name


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
