"""`precast env`: environments and the code in them. Each command has a file of its own."""

import argparse

from precast.cli.code import deploy as env_deploy
from precast.cli.code import facts as env_facts
from precast.cli.code import modules as env_modules
from precast.cli.code import versions as env_versions


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    env_deploy.configure(commands)
    env_versions.configure(commands)
    env_modules.configure(commands)
    env_facts.configure(commands)
