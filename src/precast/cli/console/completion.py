"""`precast completion`: scripts for bash, zsh and fish, made from the parser, so that they know what it knows.

Words and options are in the script: completing them starts no program. Names of nodes are asked of the server, with a second
to answer; without a server there are none.
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
# What stands for a node, and for a file, in the usage of a command.
NODES = {"NODE", "TARGET", "OTHER"}
FILES = {"FILE", "DIR", "LOCATION"}


class Option(NamedTuple):
    """An option, what it is for, and whether a value follows."""

    name: str
    meaning: str
    values: tuple[str, ...]
    takes: str  # "", "file", "word"


class Spot(NamedTuple):
    """A place on the command line: the words up to it, and what may come next."""

    words: tuple[str, ...]
    commands: dict[str, str]
    options: list[Option]
    choices: tuple[str, ...]
    wants: str  # "", "node", "file"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="bash|zsh|fish", choices=[*SHELLS, "nodes"], help="whose script to print")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=_completion)


def _completion(args: argparse.Namespace) -> int:
    from precast.cli.main import GROUPS, build_parser

    if args.shell == "nodes":
        names = _names()
        if args.json:
            print_json(names)
        else:
            print(*names, sep="\n")
        return 0
    spots = list(walk(build_parser(list(GROUPS))))
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](spots)
    if args.json:
        print_json({"shell": args.shell, "script": script})
    else:
        print(script, end="")
    return 0


def _names() -> list[str]:
    """The first names of nodes; none if the server is not there, or slow. Whoever completes wants no error."""
    with contextlib.suppress(PrecastError):
        client: Client = connect(argparse.Namespace(), timeout_s=NAMES_S)
        return [row.name for row in client.ask("GET", "/v1/nodes", list[NodeRow])]
    return []


def walk(parser: argparse.ArgumentParser, words: tuple[str, ...] = ("precast",)) -> Iterator[Spot]:
    """Every place of the command line."""
    commands: dict[str, str] = {}
    options: list[Option] = []
    choices: tuple[str, ...] = ()
    wants = ""
    inner: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {one.dest: one.help or "" for one in action._choices_actions}
            commands |= {name: summaries.get(name, "") for name in action.choices}
            inner += action.choices.items()
        elif action.option_strings:
            options += [_option(name, action) for name in action.option_strings if name.startswith("--")]
        else:
            choices += tuple(map(str, action.choices or ()))
            wants = wants or _wants(action)
    yield Spot(words, commands, options, choices, wants)
    for name, one in inner:
        yield from walk(one, (*words, name))


def _option(name: str, action: argparse.Action) -> Option:
    takes = "" if action.nargs == 0 else "file" if _wants(action) == "file" else "word"
    return Option(name, (action.help or "").replace("%%", "%"), tuple(map(str, action.choices or ())), takes)


def _wants(action: argparse.Action) -> str:
    metavar = str(action.metavar or "")
    return "node" if metavar in NODES else "file" if metavar in FILES else ""


def _bash(spots: list[Spot]) -> str:
    """One table of words for each place; the place is found by walking over the words that are commands."""
    cases = "\n".join(
        f"    {shlex.quote(' '.join(spot.words))})\n"
        f"      words={shlex.quote(' '.join(_all_words(spot)))}; wants={spot.wants or 'none'} ;;"
        for spot in spots
    )
    files = " ".join(sorted({one.name for spot in spots for one in spot.options if one.takes == "file"}))
    plain = " ".join(sorted({one.name for spot in spots for one in spot.options if one.takes == "word"}))
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


def _zsh(spots: list[Spot]) -> str:
    cases = "\n".join(
        f"    {shlex.quote(' '.join(spot.words))})\n"
        f"      words_here=({' '.join(shlex.quote(_described(name, text)) for name, text in spot.commands.items())}"
        f"{''.join(' ' + shlex.quote(one) for one in spot.choices)})\n"
        f"      options_here=({' '.join(shlex.quote(_described(one.name, one.meaning)) for one in spot.options)})\n"
        f"      wants={spot.wants or 'none'} ;;"
        for spot in spots
    )
    files = " ".join(sorted({one.name for spot in spots for one in spot.options if one.takes == "file"}))
    plain = " ".join(sorted({one.name for spot in spots for one in spot.options if one.takes == "word"}))
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


FISH_PLACE = """# fish completion for precast; put it as precast.fish into ~/.config/fish/completions
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


def _fish(spots: list[Spot]) -> str:
    lines = []
    for spot in spots:
        words = " ".join(spot.words)
        # What is next after exactly these words; options and names also further on.
        exactly, within = f"-n '__precast_is {words}'", f"-n '__precast_at {words}'"
        lines += [f"complete -c precast {exactly} -a {name} -d {_quote(text)}" for name, text in spot.commands.items()]
        lines += [f"complete -c precast {exactly} -a {_quote(one)}" for one in spot.choices]
        for one in spot.options:
            takes = {"": "", "word": " -x", "file": " -r -F"}[one.takes]
            place = exactly if spot.words == ("precast",) else within
            lines.append(f"complete -c precast {place} -l {one.name[2:]} -d {_quote(one.meaning)}{takes}")
        if spot.wants == "node":
            lines.append(f"complete -c precast {within} -a '(precast completion nodes 2>/dev/null)'")
        elif spot.wants == "file":
            lines.append(f"complete -c precast {within} -F")
    return FISH_PLACE + "\n".join(lines) + "\n"


def _all_words(spot: Spot) -> list[str]:
    return [*spot.commands, *spot.choices, *(one.name for one in spot.options)]


def _described(name: str, meaning: str) -> str:
    return f"{name}:{meaning.replace(':', ' ')}" if meaning else name


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
