"""`precast resource`: prints the resources of this machine as Puppet code; with attributes, it changes one resource.

The output can be put into a manifest. Secrets are omitted unless they are requested, so that no hash ends up in a terminal's history.
"""

import argparse
import difflib
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from precast.cli import issues
from precast.cli.agent.apply import add_options, apply_and_print
from precast.cli.console.output import print_json
from precast.resources import registry
from precast.resources.contract import DesiredResource, Instance
from precast.types import catalogue
from precast.types.declaration import ManagedType

if TYPE_CHECKING:
    from precast.agent.applying.machine import Machine

# Properties that are printed only with --show-secrets.
SECRETS = {"user": "password"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("type", metavar="TYPE", help="a managed type, such as user or package")
    parser.add_argument("title", metavar="TITLE", nargs="?", help="the title of one resource (default: all)")
    parser.add_argument(
        "attributes",
        metavar="ATTRIBUTE=VALUE",
        nargs="*",
        help="set this attribute; write an array as JSON: groups='[\"adm\"]'",
    )
    parser.add_argument("--show-secrets", action="store_true", help="also print password hashes")
    add_options(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    declared = _declared(args.type.lower())
    code = 0
    if args.attributes:
        code = _set(declared, args)
        if args.json:
            return code
    instances = _read_instances(declared, args)
    if args.json:
        print_json(
            [
                {"type": declared.name, "title": instance.title, "parameters": dict(instance.properties)}
                for instance in instances
            ]
        )
    else:
        print("\n".join(_code(declared.name, instance) for instance in instances))
    return code


def _declared(name: str) -> ManagedType:
    """Raises InputError CLI-001 for a type that does not exist or cannot be applied."""
    declared = catalogue.find_any(name)
    if declared is None or registry.find(name) is None:
        known = registry.names()
        close = difflib.get_close_matches(name, known, 1)
        guess = f"; did you mean {close[0]}?" if close else ""
        raise issues.USAGE.error(problem=f"there is no type {name}{guess}", usage=f"the types are: {', '.join(known)}")
    return declared


def _read_instances(declared: ManagedType, args: argparse.Namespace) -> list[Instance]:
    """All resources of the type by title, or the one with the given title, which may be absent."""
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
        chosen = sorted(instances, key=lambda instance: instance.title)
    else:
        chosen = [instance for instance in instances if instance.title == args.title]
        if not chosen:
            chosen = [Instance(args.title, handler(DesiredResource(declared.name, args.title, {}), machine).read())]
    return chosen if args.show_secrets else _without_secrets(declared.name, chosen)


def _not_listed(name: str) -> Exception:
    from precast.resources.issues import NOT_LISTED

    return NOT_LISTED.error(type=name)


def _machine(args: argparse.Namespace) -> "Machine":
    from precast.agent.applying.machine import Machine
    from precast.base.clock import SystemClock

    root = str(args.root.resolve())
    return Machine(root, "", SystemClock(), is_chroot=args.chroot)


def _without_secrets(name: str, instances: list[Instance]) -> list[Instance]:
    secret = SECRETS.get(name)
    if not any(secret in instance.properties for instance in instances):
        return instances
    print(f"precast: {secret} is omitted; see --show-secrets", file=sys.stderr)
    return [
        Instance(title, {key: value for key, value in values.items() if key != secret}) for title, values in instances
    ]


def _code(name: str, instance: Instance) -> str:
    """The resource as Puppet code: ensure first, the others by name, with aligned arrows."""
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
        return "{" + ", ".join(f"{_value(key)} => {_value(item)}" for key, item in value.items()) + "}"
    return quoted(value) if isinstance(value, str) else str(value)


def _set(declared: ManagedType, args: argparse.Namespace) -> int:
    """Apply a catalog of this one resource, and return the exit code of the run."""
    from precast.agent.applying.run import RunRequest
    from precast.catalog.body import Body, ResourceData
    from precast.cli.agent.apply import certname

    parameters = dict(_pair(declared, text) for text in args.attributes)
    name = "::".join(part.capitalize() for part in declared.name.split("::"))
    resource = ResourceData(name, args.title, parameters, (declared.name,))
    request = RunRequest(
        Body((resource,), (), (), (), {}), None, root=args.root.resolve(), is_chroot=args.chroot, wait_s=args.wait
    )
    return apply_and_print(request, args, certname(args.root))


def _pair(declared: ManagedType, text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise issues.USAGE.error(problem=f"{text!r} is not ATTRIBUTE=VALUE", usage="ensure=present")
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
        raise issues.USAGE.error(
            problem=f"{name}: {error}", usage="write an array as JSON: groups='[\"adm\"]'"
        ) from None
