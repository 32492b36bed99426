"""`precast agent apply`: one run of the node's own catalog, in a process of its own. The daemon starts it on its schedule; so may people.

Where the agent's configuration says `noop = true` a run only looks, unless it is told to enforce: then only runs that somebody
triggers change anything.
"""

import argparse
from pathlib import Path
from typing import Any

from precast.agent.settings import AgentSettings
from precast.cli.settings import load_settings


def configure(commands: "argparse._SubParsersAction[Any]") -> None:
    from precast.cli.apply import add_options

    summary = "apply the catalog that this node keeps, or another one"
    parser = commands.add_parser("apply", help=summary, description=summary)
    parser.add_argument("--catalog", metavar="FILE", help="this catalog instead of the one that is kept")
    parser.add_argument("--enforce", action="store_true", help="change things, also where runs only look")
    parser.add_argument("--environment", metavar="DIR", help="where contents of files and functions come from")
    parser.add_argument("--config", metavar="FILE", type=Path, default=argparse.SUPPRESS, help="the agent's settings")
    add_options(parser)
    parser.set_defaults(run=_run, modulepath=None, facts=None, strict=False, node=None, state=None)


def _run(args: argparse.Namespace) -> int:
    from precast.agent.applying.kept import read
    from precast.catalog.reading import unseal
    from precast.cli.apply import check_root, job_of, run_job
    from precast.cli.files import read_bytes

    check_root(args.root)
    settings = load_settings(AgentSettings, args).values
    args.noop = args.noop or (settings.noop and not args.enforce)
    data = read_bytes(args.catalog) if args.catalog is not None else read(args.root)
    unsealed = unseal(data, args.catalog or "the catalog that is kept")
    job, name = job_of(unsealed, args)
    if args.catalog is None and args.environment is None:
        from precast.agent.fetching import CONTENT
        from precast.resources.contents import KeptContents

        job = job._replace(contents=KeptContents(args.root / CONTENT))
    return run_job(job, args, name)
