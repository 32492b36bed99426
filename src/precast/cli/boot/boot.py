"""`precast boot`: configures this machine, or a root, from its data sources, and explains afterwards what happened and why."""

import argparse
from collections.abc import Callable
from pathlib import Path

from precast.boot.settings import BootSettings
from precast.cli.boot import validate as boot_validate
from precast.cli.console.parser import declare_exits
from precast.cli.console.settings import add_settings, load_settings

STAGES = ("local", "network", "config", "final")
INCOMPLETE = 1
STOP_GRACE_S = 5.0  # how long a boot that is asked to stop waits for the modules that run


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the commands of the group."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=type(parser))
    summary = "find the data sources, and run the modules that they and the image configure"
    run = commands.add_parser("run", help=summary, description=summary)
    _add_target(run)
    run.add_argument("--dry-run", action="store_true", help="print the planned changes; change and store nothing")
    run.add_argument("--stage", choices=STAGES, help="run up to this stage (default: all)")
    run.add_argument("--two-step", action="store_true", help="read all sources first, then run the modules")
    run.add_argument("--retry", action="store_true", help="run modules again that failed or were cut off before")
    run.add_argument(
        "--user-data", metavar="FILE", help="use this user data instead of that of a source; - for standard input"
    )
    run.add_argument("--all", action="store_true", help="also print modules that had nothing to do")
    run.add_argument("--json", action="store_true", help="print one JSON document")
    declare_exits(run, {INCOMPLETE: "a module failed, was cut off, or could not start, or user data was invalid"})
    run.set_defaults(run=_run)
    summary = "probe the data sources, and show which are available"
    sources = commands.add_parser("sources", help=summary, description=summary)
    _add_target(sources)
    sources.add_argument("--serial", action="store_true", help="probe one source after the other")
    sources.add_argument("--json", action="store_true", help="print one JSON document")
    sources.set_defaults(run=_sources)
    for name, summary, function in (
        ("status", "show the result of the latest boot", _status),
        ("explain", "explain which source was used for what, and why a module waited or did not run", _explain),
        ("analyze", "show the latest boot as a timeline", _analyze),
    ):
        command = commands.add_parser(name, help=summary, description=summary)
        command.add_argument("--root", metavar="DIR", type=Path, default=Path("/"), help="put every path below DIR")
        command.add_argument("--json", action="store_true", help="print one JSON document")
        command.set_defaults(run=function)
        if name == "explain":
            command.add_argument(
                "names", metavar="NAME", nargs="*", help="sources, capabilities or modules (default: all)"
            )
        elif name == "analyze":
            command.add_argument("--svg", metavar="FILE", help="draw the timeline as SVG; - for standard output")
            declare_exits(command, {})
        else:
            declare_exits(command, {INCOMPLETE: "the boot is not complete"})
    boot_validate.configure(commands)


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--root", metavar="DIR", type=Path, default=Path("/"), help="put every path below DIR")
    add_settings(parser, BootSettings)


def _run(args: argparse.Namespace) -> int:
    import asyncio
    import contextlib

    from precast.boot.assembly import BootTarget, assemble
    from precast.boot.loop import Boot, Options
    from precast.boot.modules.contract import Stage
    from precast.boot.network.devices import temporary_network
    from precast.cli.agent.apply import check_root
    from precast.cli.boot.output import Printer
    from precast.cli.console.files import read_bytes

    check_root(args.root)
    settings = load_settings(BootSettings, args).values
    user_data = None if args.user_data is None else read_bytes(args.user_data)
    stage = Stage[args.stage.upper()] if args.stage is not None else None
    undo = contextlib.AsyncExitStack()

    async def bring_up() -> bool:
        return await undo.enter_async_context(temporary_network.brought_up()) is not None

    is_before_network = stage == Stage.LOCAL and args.root == Path("/") and not args.dry_run
    target = BootTarget(
        args.root.absolute(),
        args.dry_run,
        user_data,
        bring_up if is_before_network else None,
        stage,
    )
    parts = assemble(target, settings)
    options = Options(
        stage,
        is_two_step=args.two_step,
        is_dry_run=args.dry_run,
        is_retry=args.retry,
        is_online=stage != Stage.LOCAL or temporary_network.is_online(),
        trusted=settings.trusted_sources,
    )
    printer = Printer(is_json=args.json, is_all=args.all)

    async def run() -> bool:
        boot = Boot(parts, options, printer.print_event)
        _stop_on_request(boot.stop)
        async with undo:
            return await boot.run()

    is_complete = asyncio.run(run())
    printer.finish()
    return 0 if is_complete else INCOMPLETE


def _stop_on_request(stop: Callable[[], None]) -> None:
    """Let SIGTERM stop the boot: systemd sends it when the machine goes down. A module that ends soon is recorded, others are cut off."""
    import asyncio
    import os
    import signal

    loop = asyncio.get_running_loop()

    def end() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)

    def request() -> None:
        stop()
        loop.call_later(STOP_GRACE_S, end)

    loop.add_signal_handler(signal.SIGTERM, request)


def _sources(args: argparse.Namespace) -> int:
    import asyncio

    from precast.boot import image, source_choice
    from precast.boot.sources import evidence
    from precast.boot.sources.machine import Machine
    from precast.cli.agent.apply import check_root
    from precast.cli.boot.output import print_sources

    check_root(args.root)
    settings = load_settings(BootSettings, args).values
    root = args.root.absolute()
    image_settings = image.read(root)
    collected = evidence.collect(root, image.read_source_settings(image_settings))
    choice = source_choice.choose_sources(settings, collected, root, image_settings)
    asyncio.run(print_sources(choice, Machine(root, collected), is_serial=args.serial, is_json=args.json))
    return 0


def _status(args: argparse.Namespace) -> int:
    from precast.boot.history import BootHistory
    from precast.boot.state import State
    from precast.cli.boot.output import print_status

    history = BootHistory(State(args.root.absolute()).events())
    print_status(history, is_json=args.json)
    return 0 if history.is_complete else INCOMPLETE


def _explain(args: argparse.Namespace) -> int:
    from precast.boot.history import BootHistory
    from precast.boot.state import State
    from precast.cli.boot.output import print_explanation

    print_explanation(BootHistory(State(args.root.absolute()).events()), args.names, is_json=args.json)
    return 0


def _analyze(args: argparse.Namespace) -> int:
    from precast.boot.history import BootHistory
    from precast.boot.state import State
    from precast.boot.timeline import Timeline
    from precast.cli.boot.output import print_timeline
    from precast.cli.console.files import write_text

    timeline = Timeline(BootHistory(State(args.root.absolute()).events()))
    if args.svg is not None:
        write_text(args.svg, timeline.draw_svg())
    else:
        print_timeline(timeline, is_json=args.json)
    return 0
