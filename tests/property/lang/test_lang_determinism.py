"""The same inputs give the same trace and the same bytes: for any order of facts, fresh or warm, with any hash seed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from precast.base import digests
from precast.base.spans import Source
from precast.lang.compile import compile_catalog
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import ABSENT, Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings

ROOT = Path(__file__).resolve().parents[3]
CODE = """
class c($k = $facts['kernel'], Hash $extra = { 'z' => 1, 'a' => 2 }) {
  tag 'one', 'two'
  $facts['nics'].each |$name, $nic| { d { $name: nic => $nic } }
  notify { "on ${facts['fqdn']}": message => "k=${k} ${facts['fqdn']}", tag => keys($extra) }
}
define d($nic) { notify { "nic ${title}": message => $nic, withpath => $title in ['a', 'b'] } }
include c
@user { ['x', 'y']: groups => ['g', 'h'] }
User <| groups == 'g' |> -> Notify <| |>
notify { 'rand': message => fqdn_rand(1000, 'seed') }
"""
FACTS = {
    "fqdn": "n1.example.com",
    "kernel": "Linux",
    "networking": {"fqdn": "n1.example.com"},
    "nics": {"a": {"ip": "1", "mac": "2"}, "b": {"ip": "3"}},
    "unread": {"x": 1},
}


def outcome(facts: dict[str, Any]) -> list[str]:
    """The digests of a compile's body and trace."""
    inputs = Inputs(NodeAnswers(NodeData.local("n1.example.com", facts), FileStore(TextTree({}))))
    result = compile_catalog(inputs, Settings(), Source("site.pp", CODE))
    reads = [
        [msgspec.to_builtins(read.question), "absent" if read.answer is ABSENT else read.answer]
        for read in result.trace
    ]
    # A hash that was read whole keeps the order in which the node sent it: the order is part of the answer.
    return [result.body.digest(), digests.of_value(json.loads(json.dumps(reads)))]


@given(order=st.permutations(sorted(FACTS)), unread=st.integers())
@settings(max_examples=30, deadline=None)
def test_order_of_facts_and_unread_facts_change_nothing(order: list[str], unread: int) -> None:
    facts = {name: FACTS[name] for name in order} | {"unread": unread}
    assert outcome(facts) == outcome(FACTS)


def test_fresh_processes_with_any_hash_seed_agree_with_a_warm_one() -> None:
    warm = [outcome(FACTS) for _ in range(3)]
    assert warm[0] == warm[1] == warm[2]
    program = "import json; from tests.property.lang.test_lang_determinism import *; print(json.dumps(outcome(FACTS)))"
    for seed in ("0", "1", "4242"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout) == warm[0]
