"""Compiles generated environments with both and says what differs.

    python -m lab.differential [--seed N] [--environments N] [--machines N] [--only NUMBER] [--keep DIRECTORY] [--show N]

With --keep the environments and what Puppet said of them stay in a directory, and Puppet is asked only for what is not there yet.
"""

import argparse
import collections
import json
import sys
import tempfile
from pathlib import Path

from lab.differential import catalogs, comparison, environment, rendering


def main() -> int:
    args = _arguments()
    numbers = args.only or list(range(args.environments))
    with tempfile.TemporaryDirectory(prefix="differential-") as temporary:
        place = Path(args.keep or temporary)
        made = [environment.generate(number, args.seed) for number in numbers]
        for each in made:
            each.write(place)
        asked = list(catalogs.cases(made, args.machines))
        puppets = _puppets(place, asked, Path(args.keep or temporary))
        print(f"seed {args.seed}: {len(made)} environments, {len(asked)} catalogs")
        wrong = _compare(place, asked, puppets, args.show)
        rendering.report(Path(args.keep or temporary) / "templates.jsonl", args.show)
    return 1 if wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="lab.differential", description="Compile generated environments with Precast and Puppet."
    )
    parser.add_argument("--seed", type=int, default=environment.SEED)
    parser.add_argument("--environments", type=int, default=len(environment.NUMBERS))
    parser.add_argument("--machines", type=int, default=5)
    parser.add_argument("--only", type=int, action="append", help="the number of an environment")
    parser.add_argument("--keep", help="a directory for environments and Puppet's answers")
    parser.add_argument("--show", type=int, default=3, help="differences shown of a case")
    return parser.parse_args()


def _puppets(place: Path, asked: list[catalogs.Case], kept: Path) -> dict[str, catalogs.Answer]:
    answers = kept / "puppet.json"
    known = json.loads(answers.read_text()) if answers.is_file() else {}
    digests = {name: catalogs.digest(environment, machine) for name, environment, machine in asked}
    missing = [each for each in asked if known.get(each[0], {}).get("digest") != digests[each[0]]]
    if missing:
        for name, answer in catalogs.by_puppet(place, missing, kept / "templates.jsonl").items():
            known[name] = answer | {"digest": digests[name]}
        answers.write_text(json.dumps(known))
    return known


def _compare(place: Path, asked: list[catalogs.Case], puppets: dict[str, catalogs.Answer], show: int) -> int:
    ours = catalogs.Ours(place)
    counts: collections.Counter[str] = collections.Counter()
    for name, each, machine in asked:
        found = list(comparison.differences(puppets[name], ours.answer(each.name, machine)))
        left = [difference for difference in found if comparison.expected_by(difference) is None]
        sort = "failing" if puppets[name].get("error") else "compiling"
        counts[sort] += 1
        counts[f"{sort}, equal"] += not left
        counts.update({f"rule {rule.name}": 1 for item in found if (rule := comparison.expected_by(item)) is not None})
        if left:
            print(f"{name} ({', '.join(_subjects(each))}) {len(left)} differences")
            for difference in left[:show]:
                print(f"  {str(difference)[:600]}")
    for what, count in sorted(counts.items()):
        print(f"{what}: {count}")
    return counts["compiling"] + counts["failing"] - counts["compiling, equal"] - counts["failing, equal"]


def _subjects(made: environment.Environment) -> list[str]:
    start = "modules/profile/manifests/"
    return [path.removeprefix(start).removesuffix(".pp") for path in made.files if path.startswith(start)]


if __name__ == "__main__":
    sys.exit(main())
