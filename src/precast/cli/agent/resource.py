"""`precast resource`: what there is on this machine, as Puppet code; with attributes, one resource is set in place.

What is printed can be put into a manifest. Secrets are left out unless they are asked for: a hash in a terminal's history is one too many.
"""

import argparse
import difflib
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from precast.cli import issues
from precast.cli.agent.apply import add_options, run_job
from precast.cli.console.output import print_json
from precast.resources import registry
from precast.resources.contract import Instance, DesiredResource
from precast.types import catalogue
from precast.types.declaration import ManagedType

if TYPE_CHECKING:
    from precast.agent.applying.machine import Machine

# Properties that are not shown unless they are asked for.
SECRETS = {"user": "password"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("type", metavar="TYPE", help="a managed type, such as user or package")
    parser.add_argument("title", metavar="TITLE", nargs="?", help="one of them; default: all there are")
    parser.add_argument(
        "attributes",
        metavar="ATTRIBUTE=VALUE",
        nargs="*",
        help="set this; an array is written as JSON: groups='[\"adm\"]'",
    )
    parser.add_argument("--show-secrets", action="store_true", help="print hashes of passwords too")
    add_options(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    declared = _declared(args.type.lower())
    code = 0
    if args.attributes:
        code = _set(declared, args)
        if args.json:
            return code
    found = _found(declared, args)
    if args.json:
        print_json(
            [{"type": declared.name, "title": each.title, "parameters": dict(each.properties)} for each in found]
        )
    else:
        print("\n".join(_code(declared.name, each) for each in found))
    return code


def _declared(name: str) -> ManagedType:
    """Raises InputError CLI-001 for a type that nobody knows or applies."""
    declared = catalogue.find_any(name)
    if declared is None or registry.find(name) is None:
        known = registry.names()
        close = difflib.get_close_matches(name, known, 1)
        guess = f"; did you mean {close[0]}?" if close else ""
        raise issues.USAGE.error(
            problem=f"there is no type {name} here{guess}", usage=f"the types are: {', '.join(known)}"
        )
    return declared


def _found(declared: ManagedType, args: argparse.Namespace) -> list[Instance]:
    """What there is: all of the type by title, or the one that is asked for, absent if it is not there."""
    machine = _machine(args)
    handler = registry.find(declared.name)
    assert handler is not None
    try:
        instances = list(handler.instances(machine))
    except NotImplementedError:
        if args.title is None:
            raise _not_listed(declared.name) from None
        instances = []
    if args.title is None:
        found = sorted(instances, key=lambda each: each.title)
    else:
        found = [each for each in instances if each.title == args.title]
        if not found:
            found = [Instance(args.title, handler(DesiredResource(declared.name, args.title, {}), machine).read())]
    return found if args.show_secrets else _without_secrets(declared.name, found)


def _not_listed(name: str) -> Exception:
    from precast.resources.issues import NOT_LISTED

    return NOT_LISTED.error(type=name)


def _machine(args: argparse.Namespace) -> "Machine":
    from precast.agent.applying.machine import Machine
    from precast.base.clock import SystemClock

    root = str(args.root.resolve())
    return Machine(root, "", SystemClock(), is_chroot=args.chroot)


def _without_secrets(name: str, found: list[Instance]) -> list[Instance]:
    secret = SECRETS.get(name)
    if not any(secret in each.properties for each in found):
        return found
    print(f"precast: {secret} is left out; see --show-secrets", file=sys.stderr)
    return [Instance(title, {key: each for key, each in values.items() if key != secret}) for title, values in found]


def _code(name: str, instance: Instance) -> str:
    """The resource in Puppet's form: ensure first, the others by name, arrows below each other."""
    from precast.lang.values.base import quoted

    properties = {key: value for key, value in instance.properties.items() if value is not None}
    ordered = sorted(properties, key=lambda key: (key != "ensure", key))
    width = max(map(len, ordered), default=0)
    lines = [f"  {key:<{width}} => {_value(properties[key])}," for key in ordered]
    return "\n".join([f"{name} {{ {quoted(instance.title)}:", *lines, "}"])


def _value(value: Any) -> str:
    from precast.lang.values.base import quoted

    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_value(key)} => {_value(each)}" for key, each in value.items()) + "}"
    return quoted(value) if isinstance(value, str) else str(value)


def _set(declared: ManagedType, args: argparse.Namespace) -> int:
    """Apply a catalog of this one resource; the exit code of that run."""
    from precast.agent.applying.run import RunRequest
    from precast.catalog.body import Body, ResourceData
    from precast.cli.agent.apply import certname

    parameters = dict(_pair(declared, text) for text in args.attributes)
    name = "::".join(part.capitalize() for part in declared.name.split("::"))
    resource = ResourceData(name, args.title, parameters, (declared.name,))
    job = RunRequest(
        Body((resource,), (), (), (), {}), None, root=args.root.resolve(), is_chroot=args.chroot, wait_s=args.wait
    )
    return run_job(job, args, certname(args.root))


def _pair(declared: ManagedType, text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise issues.USAGE.error(problem=f"{text!r} is no ATTRIBUTE=VALUE", usage="ensure=present")
    if name not in declared.attributes and name not in catalogue.METAPARAMETERS:
        close = difflib.get_close_matches(name, declared.attributes, 1)
        guess = f"; did you mean {close[0]}?" if close else ""
        usage = f"see `precast doc type {declared.name}`"
        raise issues.USAGE.error(problem=f"{declared.name} has no attribute {name}{guess}", usage=usage)
    if not value.startswith(("[", "{")):
        return name, value
    try:
        return name, json.loads(value)
    except ValueError as error:
        raise issues.USAGE.error(problem=f"{name}: {error}", usage="an array is JSON: groups='[\"adm\"]'") from None
