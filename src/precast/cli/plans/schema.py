"""`precast plan schema`: the JSON schema by which editors complete and check plans."""

import argparse

from precast.cli.console.output import print_json
from precast.plans.schema import make_schema


def run(args: argparse.Namespace) -> int:
    print_json(make_schema())
    return 0
