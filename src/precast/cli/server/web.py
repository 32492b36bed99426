"""`precast web`: prints the address of the dashboard, and opens it in a browser with `--open`."""

import argparse

from precast.cli import issues
from precast.cli.console.output import print_json
from precast.cli.console.settings import ClientSettings, add_settings, load_settings


def configure(parser: argparse.ArgumentParser) -> None:
    add_settings(parser, ClientSettings)
    parser.add_argument("--open", action="store_true", help="also open it in a browser")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=_web)


def _web(args: argparse.Namespace) -> int:
    url = load_settings(ClientSettings, args).values.url
    if not url:
        raise issues.NO_SETTING.error(name="url", variable="PRECAST_URL", file="~/.config/precast/client.toml")
    address = f"{url.rstrip('/')}/"
    if args.json:
        print_json({"address": address})
    else:
        print(address)
    if args.open:
        import webbrowser  # importing it searches for browsers

        if not webbrowser.open(address):
            raise issues.NO_BROWSER.error(address=address)
    return 0
