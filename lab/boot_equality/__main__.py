"""`python -m lab.boot_equality [FILE|DIRECTORY …]` boots machines with cloud-init and with Precast, and prints a table of the comparison.

Without arguments it takes our own documents in tests/differential/boot/user_data and the examples that Debian's cloud-init ships.
Needs root and the roots of `python -m lab.debian_root`.
"""

import argparse
import difflib
import gzip
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab import debian_root
from lab.boot_equality.comparison import VERDICTS, Comparison, compare, prepare

OWN = Path(__file__).resolve().parents[2] / "tests/differential/boot/user_data"
EXAMPLES = Path("/usr/share/doc/cloud-init/examples")
_MAX_SHOWN = 300
_HEADING = "## Table"


def list_documents(places: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Return the name and content of every document of user data in files and directories, decompressed."""
    for place in places:
        paths = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
        for path in paths:
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            yield str(path.relative_to(place.parent)), data


def format_row(result: Comparison) -> str:
    """Return the row of a comparison in the table: with the paths that no reason explains, or else with the reasons."""
    paths = ", ".join(f"`{difference.path}`" for difference in result.unexplained)
    return f"| {result.name} | {result.verdict} | {paths or '; '.join(result.reasons)} |"


def print_row(result: Comparison, is_verbose: bool) -> None:
    """Print the row of a comparison; with `is_verbose` also exit codes, and each difference with its reason or content."""
    print(format_row(result), flush=True)
    if is_verbose:
        print(f"    exit codes: { {side: [code for code, _ in said] for side, said in result.said.items()} }")
    for reason, difference in result.explained if is_verbose else ():
        print(f"    {difference.path}: {reason}")
    for difference in result.unexplained if is_verbose else ():
        print(f"    {difference.path}")
        lines = difflib.ndiff(difference.theirs.splitlines(), difference.ours.splitlines())
        print("\n".join(f"      {line[:_MAX_SHOWN]}" for line in lines if line[0] in "-+"), flush=True)


def write_table(path: Path, results: list[Comparison]) -> None:
    """Replace the table in a page of the documentation: everything after the heading `## Table`."""
    text = path.read_text().partition(_HEADING)[0]
    counts = Counter(result.verdict for result in results)
    rows = [
        _HEADING, "",
        f"{len(results)} documents: " + ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS) + ".", "",
        "| document | machines | reason, or what differs |", "|---|---|---|", *(format_row(result) for result in results),
    ]  # fmt: skip
    path.write_text(text + "\n".join(rows) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("places", nargs="*", type=Path, default=[OWN, EXAMPLES])
    parser.add_argument("--scratch", type=Path, help="where the machines are made; kept afterwards")
    parser.add_argument("--verbose", action="store_true", help="print each difference")
    parser.add_argument("--document", type=Path, help="the page of the documentation whose table is written")
    arguments = parser.parse_args()
    if reason := debian_root.why_not(debian_root.CLOUD_PLACE):
        print(reason, file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(int(os.environ.get("JOBS", "1"))) as pool:
        base = arguments.scratch or Path(scratch)
        prepare(base)
        documents = list(list_documents(arguments.places))
        results = []
        for result in pool.map(lambda document: compare(base, *document), documents):
            print_row(result, arguments.verbose)
            results.append(result)
    print(dict(Counter(result.verdict for result in results)))
    if arguments.document:
        write_table(arguments.document, results)
    return 1 if any(result.unexplained for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
