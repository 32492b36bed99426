"""Every expression of Fuel's own task files can be read, and has a value where the data has what it reads."""

import copy
from typing import Any

import msgspec
import pytest
import yaml  # type: ignore[import-untyped]

from precast.services.plans.evaluation.batches import Batch, NodeData, Question
from precast.services.plans.evaluation.messages import Value
from tests.unit.services.plans.evaluation.evaluating import reply_to
from tests.unit.services.plans.evaluation.fuel_data import FuelExpression, make_common, make_node, read_expressions

NUMBERS = (1, 2, 3)


@pytest.fixture(scope="module")
def expressions() -> list[FuelExpression]:
    return read_expressions()


class Deployment:
    """The values of all expressions on the nodes of a deployment that was changed since it succeeded, or never has."""

    def __init__(self, expressions: list[FuelExpression], before: dict[str, Any] | None) -> None:
        common = make_common(expressions)
        names = [f"node-{number}" for number in NUMBERS]
        nodes = {name: NodeData(make_node(number), common) for name, number in zip(names, NUMBERS, strict=True)}
        olds = {} if before is None else {name: NodeData(nodes[name].node, before) for name in names}
        self.questions = [
            Question(found.task, found.text, found.text, name, name if olds else "", found.is_condition)
            for name in names
            for found in expressions
        ]
        self.replies = reply_to(Batch(self.questions, nodes, olds))

    def failures(self) -> list[object]:
        return [
            (question.task, question.expression, reply)
            for question, reply in zip(self.questions, self.replies, strict=True)
            if not isinstance(reply, Value)
        ]

    def values(self, task: str, part: str = "") -> list[Any]:
        """The values of the expression of a task that contains a text, node by node."""
        return [
            msgspec.json.decode(reply.json)
            for question, reply in zip(self.questions, self.replies, strict=True)
            if question.task == task and part in question.expression and isinstance(reply, Value)
        ]


def test_corpus_has_the_expressions_that_it_should(expressions: list[FuelExpression]) -> None:
    assert len({found.text for found in expressions}) == 151
    assert sum(found.is_condition for found in expressions) == 181


def test_every_expression_has_a_value_in_a_first_deployment(expressions: list[FuelExpression]) -> None:
    deployment = Deployment(expressions, None)
    assert deployment.failures() == []
    assert deployment.values("ironic-db") == [True, True, True]
    assert deployment.values("reserved_ports") == [True, True, True]  # every node has been added
    assert deployment.values("restart-haproxy", "len(old") == [False, False, False]  # nothing was deployed before
    assert deployment.values("generate_deleted_nodes", "deleted_nodes") == ["deleted_nodes: []\n"] * 3
    assert deployment.values("generate_changed_admin_user", "toYaml") == ["old_access: {}\n"] * 3
    assert deployment.values("move_to_bootstrap", "first()") == ["node-1", "node-2", "node-3"]
    assert deployment.values("database", "=> 6") == [6, 6, 6]
    assert (
        deployment.values("hiera_default_route", "configure_default_route")
        == [[{"name": "netconfig", "role": "self"}]] * 3
    )
    assert yaml.safe_load(deployment.values("v_upload_node_configuration")[0]) == make_node(1)


def test_nothing_is_to_be_done_where_nothing_has_changed(expressions: list[FuelExpression]) -> None:
    deployment = Deployment(expressions, make_common(expressions))
    assert deployment.failures() == []
    conditions = [found for found in expressions if found.is_condition]
    # Those that do not compare with earlier data stay true.
    always = {found.task for found in conditions if all(deployment.values(found.task, found.text))}
    assert always == {"generate_ironic_bootstrap_keys", "plugins_rsync", "plugins_setup_repositories"}


def test_only_what_reads_a_change_is_to_be_done(expressions: list[FuelExpression]) -> None:
    before = copy.deepcopy(make_common(expressions))
    del before["network_metadata"]["nodes"]["node-3"]
    before["nodes"] = [node for node in before["nodes"] if node["uid"] != "3"]
    before["public_ssl"]["hostname"] = "other"
    before["network_metadata"]["nodes"]["node-9"] = {
        **before["network_metadata"]["nodes"]["node-1"],
        "fqdn": "node-9.test",
    }
    deployment = Deployment(expressions, before)
    assert deployment.failures() == []
    assert deployment.values("reserved_ports") == [False, False, True]
    assert deployment.values("configuration_symlink_node") == [False, False, True]
    assert deployment.values("generate_deleted_nodes", "deleted_nodes") == ["deleted_nodes:\n- node-9.test\n"] * 3
    assert deployment.values("restart-haproxy", "len(old") == [True, True, True]
    assert deployment.values("ironic-db") == [False, False, False]  # it reads neither
    assert deployment.values("ironic-keystone") == [True, True, True]  # it reads all of public_ssl
    assert deployment.values("copy_haproxy_keys") == [True, True, True]
