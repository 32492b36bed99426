"""`precast doc`: prints the documentation of functions, managed types and data types."""

import argparse
import difflib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from precast.cli import issues
from precast.cli.console.output import print_json, print_table
from precast.lang.datatypes.documentation import DOCUMENTATION
from precast.lang.datatypes.documentation import find as find_data_type
from precast.lang.functions import library, registry
from precast.lang.functions.modules import library as native
from precast.lang.functions.modules.declaration import ModuleFunction
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.functions.signatures import Signature
from precast.types import catalogue
from precast.types.application import BRIDGED, NATIVE, NOT_THERE, how_applied
from precast.types.declaration import ManagedType

if TYPE_CHECKING:
    from precast.lang.compiler.types.known_types import KnownTypes

_UNKNOWNS = {
    Unknowns.FLOW: "the value is passed on",
    Unknowns.CONCRETE: "the value is read: an identity fact becomes a question of the trace, a future is an error",
    Unknowns.AGENT: "an identity fact becomes a question of the trace; a call with a future is made on the node",
    Unknowns.TEXT: "the value becomes part of a string that is completed later",
}

_FOLLOWED = {
    "title": "the {type} that {attributes} names",
    "path": "the {type} at the path in {attributes}",
    "parents": "each {type} above its {attributes}",
    "program": "the {type} of the program that {attributes} runs",
    "programs": "the {type} of each program that {attributes} runs",
}

_APPLIED = {
    NATIVE: "Native: nodes apply it without Ruby.",
    BRIDGED: "Bridged: nodes apply it through a Puppet of their own, if their policy allows module code.",
    NOT_THERE: "Not there: no node can apply it; in a run its resources fail.",
}


def _format_text(parts: tuple[str, ...]) -> str:
    """`svc-` with the name, as documentation writes it: `svc-<name>`."""
    return "".join(part if at % 2 == 0 else f"<{part}>" for at, part in enumerate(parts))


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the commands of the group."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=type(parser))
    for name, summary, run in (
        ("function", "show a function of the language; without NAME list all", _function),
        ("type", "show a managed type or a data type; without NAME list all", _type),
    ):
        command = commands.add_parser(name, help=summary, aliases=[f"{name}s"])
        command.add_argument("name", metavar="NAME", nargs="?", help="the name of the function or type")
        command.add_argument("--json", action="store_true", help="print one JSON document")
        command.set_defaults(run=run)
    command.add_argument(
        "--environment", metavar="DIR", help="also find the types that modules of this environment declare"
    )


# Functions


def _function(args: argparse.Namespace) -> int:
    library.load()
    if args.name is None:
        _print_list([(name, function.documentation) for name, function in _functions()], args.json)
        return 0
    name = args.name.lower().removeprefix("::")
    function = registry.find(name) or native.find(name)
    if function is None:
        raise issues.NOT_DOCUMENTED.error(
            what="function", name=args.name, guess=_guess(name, [known for known, _ in _functions()])
        )
    if args.json:
        print_json(_function_data(name, function))
    else:
        _print_function(name, function)
    return 0


def _functions() -> list[tuple[str, Function]]:
    """All functions, with those that are available only if a module declares them."""
    return sorted([*registry.functions(), *native.functions()])


def _function_data(name: str, function: Function) -> dict[str, Any]:
    return {
        "name": name,
        "documentation": function.documentation,
        "signatures": [_signature(name, dispatch.signature) for dispatch in function.dispatches],
        "is_statement": function.is_statement,
        "module": function.module if isinstance(function, ModuleFunction) else None,
        "unknown_values": _UNKNOWNS[function.unknowns],
    }


def _print_function(name: str, function: Function) -> None:
    print(f"{name}\n\n  {_indented(function.documentation)}\n")
    for dispatch in function.dispatches:
        print(f"  {_signature(name, dispatch.signature)}")
    print(f"\n  If an argument is not known yet: {_UNKNOWNS[function.unknowns]}.")
    if isinstance(function, ModuleFunction):
        print(f"  It is available if a module of the module path declares it, as {function.module} does.")


def _signature(name: str, signature: Signature) -> str:
    """A signature in the form of a call."""
    parameters = [
        f"{parameter.type_text} {'*' if parameter.repeated else ''}${parameter.name}"
        + (" (optional)" if parameter.optional and not parameter.repeated else "")
        for parameter in signature.parameters
    ]
    block = f" |{signature.block_text}|" if signature.block_text else ""
    optional = " (optional)" if signature.block_text and signature.block_optional else ""
    returned = f" >> {signature.return_text}" if signature.return_text else ""
    return f"{name}({', '.join(parameters)}){block}{optional}{returned}"


# Types


def _type(args: argparse.Namespace) -> int:
    if args.name is None:
        return _list_types(args)
    declared = _find_module_type(args) or catalogue.find_any(args.name.lower())
    if declared is None:
        return _data_type(args)
    if args.json:
        print_json(_type_data(declared))
    else:
        _print_type(declared)
    return 0


def _list_types(args: argparse.Namespace) -> int:
    """List managed types with how they are applied, those of the environment's modules too, then data types."""
    known = {name: _known(name) for name in (*catalogue.names(), *catalogue.module_names())}
    known.update(_types_of_modules(args))
    rows = [(name, how_applied(known[name]), known[name].summary) for name in sorted(known)]
    data_types = [(name, text.summary) for name, text in DOCUMENTATION.items()]
    if args.json:
        print_json(
            [
                *({"name": name, "applied": how, "summary": summary} for name, how, summary in rows),
                *({"name": name, "summary": summary} for name, summary in data_types),
            ]
        )
        return 0
    print_table(["NAME", "APPLIED", "SUMMARY"], [*rows, *((name, None, summary) for name, summary in data_types)])
    return 0


def _types_of_modules(args: argparse.Namespace) -> dict[str, ManagedType]:
    """All types that modules of the environment declare."""
    finder = _finder(args)
    if finder is None:
        return {}
    from precast.cli.code.local_environments import open_environment, settings_of
    from precast.cli.code.type_files import type_files

    _, files, constants = open_environment(args.environment)
    modules = files.modules(settings_of(files, constants).module_path)
    names = {each.type_name for path in modules.values() for each in type_files(files, path)}
    return {name: declared for name in names if (declared := finder.find(name)) is not None}


def _find_module_type(args: argparse.Namespace) -> ManagedType | None:
    """The type, if a module of the environment declares it."""
    finder = _finder(args)
    return None if finder is None else finder.find(args.name.lower())


def _finder(args: argparse.Namespace) -> "KnownTypes | None":
    """The types of the environment's modules; None without an environment."""
    if args.environment is None:
        return None
    from precast.cli.code.local_environments import known_types, open_environment

    _, files, constants = open_environment(args.environment)
    return known_types(files, constants)


def _data_type(args: argparse.Namespace) -> int:
    entry = find_data_type(args.name)
    if entry is None:
        guess = _guess(args.name.lower(), [*catalogue.names(), *DOCUMENTATION])
        raise issues.NOT_DOCUMENTED.error(what="managed type or data type", name=args.name, guess=guess)
    name, text = entry
    if args.json:
        print_json({"name": name, "summary": text.summary, "forms": list(text.forms), "new": list(text.new)})
        return 0
    print(f"{name}\n\n  {text.summary}\n")
    for form in text.forms:
        print(f"  {form}")
    if text.new:
        print("\n  A value of this type is created by:")
        for form in text.new:
            print(f"  {form}")
    return 0


def _known(name: str) -> ManagedType:
    declared = catalogue.find_any(name)
    assert declared is not None
    return declared


def _type_data(declared: ManagedType) -> dict[str, Any]:
    return {
        "name": declared.name,
        "summary": declared.summary,
        "namevars": list(declared.namevars),
        "properties": dict(declared.properties),
        "parameters": dict(declared.parameters),
        "metaparameters": dict(catalogue.METAPARAMETERS),
        "follows": [
            {
                "type": relation.type_name,
                "attributes": list(relation.attributes),
                "titles": list(relation.titles),
                "kind": relation.kind,
            }
            for relation in declared.relations
        ],
        "titles": [title_pattern.pattern for title_pattern in declared.title_patterns],
        "defaults": dict(declared.defaults),
        "values": {name: list(words) for name, words in declared.words.items()},
        "takes_others": declared.is_open,
        "is_applied": how_applied(declared) == NATIVE,
        "applied": how_applied(declared),
        "file": declared.config_file.path if declared.config_file else None,
    }


def _print_type(declared: ManagedType) -> None:
    print(f"{declared.name}\n\n  {_indented(declared.summary)}\n")
    rows = []
    for kind, attributes in (("property", declared.properties), ("parameter", declared.parameters)):
        rows += [(f"  {name}", kind, _annotate(declared, name, text)) for name, text in attributes.items()]
    print_table(("  ATTRIBUTE", "KIND", "WHAT"), rows)
    print(f"\n  {_APPLIED[how_applied(declared)]}")
    if declared.config_file:
        path = declared.config_file.path or "the file that path names"
        print(f"  Each resource is a setting in {path}.")
    if declared.module:
        print(f"  Manifests can use it if the module {declared.module} is on the module path.")
    for relation in declared.relations:
        order = "before" if relation.kind == "before" else "after"
        named = _FOLLOWED[relation.derivation].format(
            type=relation.type_name, attributes=" or ".join(relation.attributes)
        )
        followed = [named] if relation.attributes else []
        titles = (*relation.titles, *map(_format_text, relation.formats))
        followed += [f"{relation.type_name} {title}" for title in titles]
        print(f"  It is automatically ordered {order} {', '.join(followed)}.")
    for title_pattern in declared.title_patterns if len(declared.namevars) > 1 else ():
        print(
            f"  A title of the form {title_pattern.pattern.removeprefix('(?m)')} sets {', '.join(title_pattern.attributes)}."
        )
    if declared.is_open:
        print("  Its declaration could not be parsed completely, so other attributes are accepted too.")
    print("\n  Every resource also accepts: " + ", ".join(sorted(catalogue.METAPARAMETERS)) + ".")


def _annotate(declared: ManagedType, name: str, text: str) -> str:
    words = declared.words.get(name)
    text = f"{text} ({', '.join(words)})" if words else text
    if name in declared.defaults:
        text = f"{text} [default: {json.dumps(declared.defaults[name])}]"
    if name in declared.namevars:
        return f"{text} [names the resource]"
    return text if declared.may_be_deferred(name) else f"{text} [never deferred]"


# Both


def _print_list(entries: Sequence[tuple[str, str]], as_json: bool) -> None:
    if as_json:
        print_json([{"name": name, "summary": _first_line(text)} for name, text in entries])
    else:
        print_table(("NAME", "WHAT"), [(name, _first_line(text)) for name, text in entries])


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0]


def _indented(text: str) -> str:
    return "\n  ".join(line.strip() for line in text.strip().split("\n"))


def _guess(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""
