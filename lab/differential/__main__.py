"""Compiles generated environments with Precast and Puppet and reports the differences.

    python -m lab.differential [--seed N] [--environments N] [--machines N] [--only NUMBER] [--keep DIRECTORY] [--show N]

With --keep the environments and Puppet's answers stay in a directory, and Puppet compiles only cases that have no answer yet.
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
        directory = Path(args.keep or temporary)
        environments = [environment.generate(number, args.seed) for number in numbers]
        for generated in environments:
            generated.write(directory)
        cases = list(catalogs.cases(environments, args.machines))
        puppets = _puppets(directory, cases, Path(args.keep or temporary))
        print(f"seed {args.seed}: {len(environments)} environments, {len(cases)} catalogs")
        wrong = _compare(directory, cases, puppets, args.show)
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
    parser.add_argument("--show", type=int, default=3, help="differences shown for each case")
    return parser.parse_args()


def _puppets(directory: Path, cases: list[catalogs.Case], answers_directory: Path) -> dict[str, catalogs.Answer]:
    answers_file = answers_directory / "puppet.json"
    known = json.loads(answers_file.read_text()) if answers_file.is_file() else {}
    digests = {name: catalogs.digest(environment, machine) for name, environment, machine in cases}
    missing = [case for case in cases if known.get(case[0], {}).get("digest") != digests[case[0]]]
    if missing:
        for name, answer in catalogs.compile_with_puppet(
            directory, missing, answers_directory / "templates.jsonl"
        ).items():
            known[name] = answer | {"digest": digests[name]}
        answers_file.write_text(json.dumps(known))
    return known


def _compare(directory: Path, cases: list[catalogs.Case], puppets: dict[str, catalogs.Answer], show: int) -> int:
    ours = catalogs.PrecastAnswers(directory)
    counts: collections.Counter[str] = collections.Counter()
    for name, generated, machine in cases:
        all_differences = list(comparison.differences(puppets[name], ours.answer(generated.name, machine)))
        unexpected = [difference for difference in all_differences if comparison.expected_by(difference) is None]
        sort = "failing" if puppets[name].get("error") else "compiling"
        counts[sort] += 1
        counts[f"{sort}, equal"] += not unexpected
        counts.update(
            {f"rule {rule.name}": 1 for item in all_differences if (rule := comparison.expected_by(item)) is not None}
        )
        if unexpected:
            print(f"{name} ({', '.join(_subjects(generated))}) {len(unexpected)} differences")
            for difference in unexpected[:show]:
                print(f"  {str(difference)[:600]}")
    for what, count in sorted(counts.items()):
        print(f"{what}: {count}")
    return counts["compiling"] + counts["failing"] - counts["compiling, equal"] - counts["failing, equal"]


def _subjects(generated: environment.Environment) -> list[str]:
    start = "modules/profile/manifests/"
    return [path.removeprefix(start).removesuffix(".pp") for path in generated.files if path.startswith(start)]


if __name__ == "__main__":
    sys.exit(main())
