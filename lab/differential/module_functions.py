"""Compares functions that modules write in Ruby, as the Ruby subset runs them, with real Puppet over generated arguments.

`python -m lab.differential.module_functions [--ours] [SEED [NAME…]]` prints what differs, with `--ours` of our own implementations;
`--measure` compares the CPU time. One warm Ruby process is the oracle; a function that the subset cannot run, or that asks for random
numbers, the clock or the machine, is left out.
"""

import json
import math
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.compile import start_compilation
from precast.lang.compiler.compilation import Compilation
from precast.lang.functions import library, registry
from precast.lang.functions.ruby.checking import find_unknown
from precast.lang.functions.ruby.selection import RubyFile, load, native_for, select
from precast.lang.values.base import Hash, Sensitive, to_string
from tools.oracle import Asked
from tools.ruby_functions import files

library.load()
MODULES: Final = Path("/usr/share/puppet/modules")
# Functions whose results depend on the clock, on randomness, on the machine, or on the catalog, and those that only log.
LEFT_OUT: Final = frozenset((
    "time", "strftime", "pry", "rand", "shuffle", "fqdn_rotate", "str2saltedsha512", "ensure_packages", "ensure_resource",
    "ensure_resources", "create_ini_settings", "inifile::create_ini_settings", "getparam", "defined_with_params", "deprecation",
    "stdlib::ensure_packages", "has_interface_with", "has_ip_address", "has_ip_network", "fact", "defined_with_params",
    "load_module_metadata", "loadyaml", "loadjson", "get_module_path", "get_ext_net_name", "translate", "assert_private", "staging_parse",
    "is_function_available", "glob", "convert_cert_to_string", "date", "stdlib::has_function", "type_of", "fqdn_uuid",
))  # fmt: skip
TEXTS: Final = (
    "", "a", "abc", "Hello World", "10", "-3", "1.5", "0x1F", "true", "false", "yes", "no", "/etc/motd", "/usr/local/bin/", "a/b",
    "192.0.2.1", "192.0.2.0/24", "2001:db8::1", "2001:db8::/32", "fe80::1%eth0", "00:1a:2b:3c:4d:5e", "example.com",
    "foo@example.com", "http://h.example.com:8080/p?q=1", "https://u:p@h/x", "a b  c", "a,b,c", "a=1\nb=2\n", "käse", "10G", "512 MB",
    "50%", "$x #{y} 'q' \"d\"", '{"a": [1, null, 2.5]}', "- a\n- b: 1\n", "C:\\x", "1:100", "vlan:1:10,x", "user::rw-",
    "host all all 127.0.0.1/32 md5", "undef",
)  # fmt: skip
ANY_KIND: Final = ("String", "Array", "Hash", "Integer", "Boolean", "Undef", "Float")


class Difference(NamedTuple):
    name: str
    args: list[Any]
    ours: Any
    puppets: Any


class Comparison(NamedTuple):
    """What came of a run: names of the functions that were compared, calls, calls without an error, and the differences."""

    functions: list[str]
    calls: int
    successful: int
    differences: list[Difference]


def comparable(root: Path) -> Iterator[RubyFile]:
    """Yield the files of the functions that the subset can run, the newer kind of two with one name."""
    seen: set[str] = set()
    for file in files([root]):
        if file.name in LEFT_OUT or file.name in seen or registry.find(file.name) is not None:
            continue  # a built-in function of Puppet comes before one of a module
        seen.add(file.name)
        try:
            if next(find_unknown(Source(file.path, file.text)), None) is not None:
                continue
        except PrecastError:
            continue
        yield file


class Arguments:
    """Generates arguments by the types in a file's dispatches, and of any kind for functions without types."""

    def __init__(self, seed: int, text: str) -> None:
        self._random = random.Random(seed)
        self._hints = [line for line in text.splitlines() if "param " in line]

    def calls(self, count: int) -> Iterator[list[Any]]:
        for _ in range(count):
            least = max(1, len(self._hints))
            size = self._random.choice([least, least, 1, 2, 3]) if self._hints else self._random.choice([1, 1, 2, 2, 3])
            yield [self._value(self._hints[at] if at < len(self._hints) else "") for at in range(size)]

    def _value(self, hint: str) -> Any:
        kinds = [
            kind for kind in ("Hash", "Array", "Integer", "Float", "Boolean", "Numeric", "Sensitive") if kind in hint
        ]
        if not kinds or self._random.random() < 0.1:
            kinds = ["String"] if hint and self._random.random() < 0.8 else list(ANY_KIND)
        return self._of(self._random.choice(kinds), 0)

    def _of(self, kind: str, depth: int) -> Any:
        pick = self._random.choice
        match kind:
            case "Integer":
                return pick((0, 1, -1, 2, 5, 10, 100, 8080, 1024, 2**40))
            case "Float" | "Numeric":
                return pick((0.0, 1.5, -2.25, 3.0, 1e10, 10))
            case "Boolean":
                return pick((True, False))
            case "Undef":
                return None
            case "Sensitive":
                return {"__sensitive": pick(TEXTS)}
            case "Array":
                return [self._of(self._inner(depth), depth + 1) for _ in range(self._random.randint(0, 4))]
            case "Hash":
                keys = self._random.sample(
                    ("a", "b", "c", "d e", "ensure", "10", "name", "x"), self._random.randint(0, 3)
                )
                return {key: self._of(self._inner(depth), depth + 1) for key in keys}
        return pick(TEXTS)

    def _inner(self, depth: int) -> str:
        simple = ("String", "String", "Integer", "Boolean", "Undef", "Float")
        return self._random.choice(simple if depth > 1 else (*simple, "Array", "Hash"))


def to_value(data: Any) -> Any:
    """Return an argument as a value of the language."""
    if isinstance(data, list):
        return tuple(map(to_value, data))
    if isinstance(data, dict):
        if "__sensitive" in data:
            return Sensitive(to_value(data["__sensitive"]))
        return Hash.of((key, to_value(item)) for key, item in data.items())
    return data


def shown(value: Any) -> Any:
    """Return a result of ours in the oracle's form."""
    if isinstance(value, tuple):
        return list(map(shown, value))
    if isinstance(value, Hash):
        return {"__hash": [[shown(key), shown(item)] for key, item in value.items()]}
    if isinstance(value, Sensitive):
        return {"__sensitive": shown(value.unwrap())}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"__float": to_string(value)}
    return value if value is None or isinstance(value, str | int) else {"__other": type(value).__name__}


def same(ours: Any, puppets: Any) -> bool:
    """Return whether two results are equal; an integer differs from a float, and objects of Ruby are not compared."""
    if isinstance(ours, bool) or isinstance(puppets, bool) or type(ours) is not type(puppets):
        return ours is puppets
    if isinstance(ours, list):
        return len(ours) == len(puppets) and all(map(same, ours, puppets))
    if isinstance(ours, dict) and "__other" not in ours:
        return ours.keys() == puppets.keys() and all(same(ours[key], puppets[key]) for key in ours)
    return "__other" in puppets if isinstance(ours, dict) else bool(ours == puppets)


def ask_puppet(calls: list[dict[str, Any]], root: Path) -> list[dict[str, Any]]:
    """Return the oracle's answers to calls."""
    lines = "".join(json.dumps(call) + "\n" for call in calls)
    script = Path(__file__).with_name("puppet_functions.rb")
    done = subprocess.run(
        ["ruby", str(script), str(root)], input=lines.encode(), capture_output=True, check=True, timeout=600
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def answer(compilation: Compilation, file: RubyFile, args: list[Any], *, with_ours: bool = False) -> dict[str, Any]:
    """Return what the subset says to a call, or our own implementation."""
    try:
        function = select(compilation, compilation.top, file) if with_ours else load(compilation, compilation.top, file)
        return {"value": shown(function.call(compilation, compilation.top, [to_value(arg) for arg in args]))}
    except PrecastError as error:
        return {"error": error.message, "code": error.code}
    except Exception as error:  # noqa: BLE001 - the boundary: one fault must not end the others
        return {"value": f"crash {type(error).__name__}: {error}", "crash": True}


def start(root: Path) -> Compilation:
    asked = Asked({"source": "", "modulepath": [str(root)]}, False)
    return start_compilation(asked.inputs, asked.settings)


def compare(
    seed: int, count: int, root: Path = MODULES, names: tuple[str, ...] = (), *, with_ours: bool = False
) -> Comparison:
    """Call every comparable function with generated arguments, here and in Puppet; `with_ours` takes our implementations of them."""
    chosen = [
        file
        for file in comparable(root)
        if (not names or file.name in names) and (not with_ours or native_for(file) is not None)
    ]
    calls = [
        (file, args)
        for index, file in enumerate(chosen)
        for args in Arguments(seed * 1000 + index, file.text).calls(count)
    ]
    compilation = start(root)
    answers = ask_puppet([{"name": file.name, "args": args} for file, args in calls], root)
    differences, successful = [], 0
    for (file, args), theirs in zip(calls, answers, strict=True):
        ours = answer(compilation, file, args, with_ours=with_ours)
        successful += "value" in theirs
        is_equal = ("error" in ours) == ("error" in theirs) and (
            "value" not in theirs or same(ours["value"], theirs["value"])
        )
        if not is_equal and "unreadable" not in theirs:
            differences.append(Difference(file.name, args, ours, theirs))
    return Comparison([file.name for file in chosen], len(calls), successful, differences)


class Measured(NamedTuple):
    """CPU seconds of the calls of one function, here and in Ruby."""

    name: str
    here_s: float
    in_ruby_s: float


def measure(root: Path = MODULES, repeat: int = 300) -> list[Measured]:
    """Call every comparable function that runs with some arguments repeatedly, here and in Ruby."""
    compilation = start(root)
    calls, ours = list[dict[str, Any]](), list[float]()
    for index, file in enumerate(comparable(root)):
        args = next(
            (
                args
                for args in Arguments(7000 + index, file.text).calls(20)
                if "code" not in answer(compilation, file, args)
            ),
            None,
        )
        if args is None:
            continue
        function, values = load(compilation, compilation.top, file), [to_value(arg) for arg in args]
        started = time.process_time()
        for _ in range(repeat):
            function.call(compilation, compilation.top, values)
        ours.append(time.process_time() - started)
        calls.append({"name": file.name, "args": args, "repeat": repeat})
    answers = zip(calls, ours, ask_puppet(calls, root), strict=True)
    return [Measured(call["name"], here, answer["seconds"]) for call, here, answer in answers if answer.get("seconds")]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measured = measure()
        seconds, in_ruby = sum(each.here_s for each in measured), sum(each.in_ruby_s for each in measured)
        print(
            f"{len(measured)} functions: {seconds:.2f} s here, {in_ruby:.2f} s in Ruby, ratio {seconds / in_ruby:.1f}"
        )
        sys.exit()
    with_ours = "--ours" in sys.argv
    words = [word for word in sys.argv[1:] if word != "--ours"]
    result = compare(int(words[0]) if words else 1, 15, names=tuple(words[1:]), with_ours=with_ours)
    for each in result.differences:
        print(f"{each.name}({json.dumps(each.args)[1:-1]})")
        print(f"   ours    {json.dumps(each.ours)[:300]}\n   puppet  {json.dumps(each.puppets)[:300]}")
    differing = {each.name for each in result.differences}
    print(f"{len(result.functions)} functions, {result.calls} calls, {result.successful} of them with a value:")
    print(f"{len(result.differences)} differ, in {len(differing)} functions")
