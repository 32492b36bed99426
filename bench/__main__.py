"""Runs every benchmark in full, one after the other; the exit code says whether all of them ran."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NOT_BENCHES = {"__init__", "__main__", "report"}


def main() -> int:
    codes = []
    for path in sorted(HERE.glob("*.py")):
        if path.stem not in NOT_BENCHES:
            print(f"\n== bench.{path.stem}", flush=True)
            codes.append(subprocess.run([sys.executable, "-m", f"bench.{path.stem}"], cwd=HERE.parent).returncode)
    return 1 if any(codes) else 0


if __name__ == "__main__":
    sys.exit(main())
