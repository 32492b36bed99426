"""Compiles one environment repeatedly in this process, as a compile worker does, and prints the figures as one JSON object.

    python -m bench.compile_cases.warm DIRECTORY ROUNDS NODE FACTS.json

The peer, bench/peers/puppet_compile.rb, prints the same fields.
"""

import hashlib
import json
import resource
import sys
import time
from pathlib import Path

from lab.differential.catalogs import MODULE_PATHS
from precast.catalog import unknown
from precast.cli.code.local_environments import DirectoryTree
from precast.lang.compile import CompileResult, compile_catalog
from precast.lang.file_trees import FileStore
from precast.lang.inputs import Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings


def main(directory: str, rounds: int, name: str, facts_file: str) -> None:
    node = NodeData.local(name, json.loads(Path(facts_file).read_text()))
    files = FileStore(DirectoryTree(Path(directory), MODULE_PATHS))
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        result = compile_catalog(Inputs(NodeAnswers(node, files)), Settings())
        seconds.append(time.process_time() - started)
    figures = {
        "resources": len(result.body.resources),
        "first_cpu_s": seconds[0],
        "cpu_s": min(seconds[1:]),
        "median_cpu_s": sorted(seconds[1:])[len(seconds[1:]) // 2],
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "refs": digest_of(result, node),
    }
    print(json.dumps(figures))


def digest_of(result: CompileResult, node: NodeData) -> str:
    """A digest on which both tools must agree: every resource with its text parameters, filled in for the node."""

    def find(root: str, path: tuple[str | int, ...]) -> object:
        return node.find(root, path)

    lines = []
    for each in result.body.resources:
        parameters = unknown.fill(each.parameters, find)
        plain = sorted(f"{name}={value}" for name, value in parameters.items() if isinstance(value, str))
        lines.append(f"{each.ref} {' '.join(plain)}")
    kept = sorted(line for line in lines if not line.startswith(("Stage[", "Class[Settings]", "Class[main]", "Node[")))
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4])
