"""The questions of a compile: each is asked once, in order, and is as narrow as possible."""

import msgspec
import pytest

from precast.base.errors import PrecastError
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import ABSENT, ExportedQuery, FactPath, Inputs, KeyedResult, Question
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.node_matching import match_node
from tests.unit.lang.small_manifests import asked, compiled, failure


def facts_asked(code: str) -> list[tuple[str, object]]:
    return [
        (question["ask"], question.get("path") or question.get("name"))
        for question in asked(compiled(code))
        if question["ask"].startswith("fact")
    ]


def test_fact_chain_asks_for_the_whole_path_only() -> None:
    assert facts_asked("notice($facts['os']['release']['major'])") == [("fact", ["os", "release", "major"])]
    assert facts_asked("notice($os['family'])") == [("fact", ["os", "family"])]


def test_absent_path_asks_for_the_kind_of_its_longest_existing_part() -> None:
    assert facts_asked("notice($facts['os']['nope'])") == [("fact", ["os", "nope"]), ("fact_kind", ["os"])]


def test_fact_asked_twice_is_one_read() -> None:
    assert facts_asked("notice($kernel)\nnotice($kernel)\nnotice($facts['kernel'])") == [("fact", ["kernel"])]


def test_unread_facts_leave_no_trace() -> None:
    assert facts_asked("notice('x')") == []


def test_assignment_at_the_top_asks_whether_a_fact_has_the_name() -> None:
    assert facts_asked("$mine = 1") == [("fact_absent", "mine")]
    assert failure("$kernel = 1").error.code == "LANG-615"


def test_autoloader_asks_for_every_file_it_tried() -> None:
    files = {"modules/m/manifests/init.pp": "class m { }", "modules/m/manifests/a/b.pp": "class m::a::b { }"}
    result = compiled("include m::a::b\nnotice(defined('m::x::y'))", files)
    reads = [
        (question["ask"], question.get("path") or question["name"])
        for question in asked(result)
        if question["ask"] in ("file", "module")
    ]
    assert reads == [
        ("file", "environment.conf"),
        ("module", "m"),
        ("file", "modules/m/manifests/init.pp"),  # loaded before any other file of the module, as Puppet does
        ("file", "modules/m/manifests/a/b.pp"),
        ("file", "modules/m/manifests/x/y.pp"),
        ("file", "modules/m/manifests/x.pp"),
    ]


def test_module_is_the_first_of_its_name_on_the_path() -> None:
    files = FileStore(
        TextTree(
            {
                "site/m/manifests/init.pp": "",
                "modules/m/lib/puppet/type/hidden.rb": "",
                "modules/n/lib/puppet/type/thing.rb": "",
                "modules/Bad-name/lib/puppet/type/bad.rb": "",
            }
        )
    )
    roots = ("site", "modules", "nowhere")
    assert files.modules(roots) == {"m": "site/m", "n": "modules/n"}
    assert files.module_file("lib/puppet/type/thing.rb", roots) == "modules/n/lib/puppet/type/thing.rb"
    assert files.module_file("lib/puppet/type/hidden.rb", roots) is ABSENT
    assert files.module_file("lib/puppet/type/bad.rb", roots) is ABSENT


def test_warm_process_asks_what_a_fresh_one_does() -> None:
    files = {"modules/m/manifests/init.pp": "class m { notify { $facts['kernel']: } }"}
    first, second = compiled("include m", files), compiled("include m", files)
    assert first.trace == second.trace
    assert first.body.encoded() == second.body.encoded()


def test_node_block_is_one_question_with_its_captures() -> None:
    result = compiled('node /^web(\\d+)/ { notify { "n${1}": } }\nnode default { }')
    block = next(read for read in result.trace if type(read.question).__name__ == "MatchingNodeBlock")
    assert block.answer == (0, ("web1", "1"))
    assert "certname" not in str([question for question in asked(result) if question["ask"] == "trusted"])


@pytest.mark.parametrize(
    ("matchers", "answer"),
    [
        (("default", "web1.example.com"), (1, ())),
        (("default", "/web/"), (1, ("web",))),
        (("/^(w)(e)?/", "/web/"), (0, ("we", "w", "e"))),
        (("default",), (0, ())),
        (("other",), ABSENT),
        (("WEB1.example.com".lower(),), (0, ())),
    ],
)
def test_match_node_prefers_name_then_expression_then_default(matchers: tuple[str, ...], answer: object) -> None:
    assert match_node(matchers, "web1.example.com") == answer


@pytest.mark.parametrize(
    "question", [KeyedResult("fqdn_rand", (10, ("a",))), ExportedQuery("Notify", ("and", ("=", "tag", "a"), None))]
)
def test_question_of_a_stored_trace_can_be_asked_again(question: Question) -> None:
    stored = msgspec.json.decode(msgspec.json.encode(question), type=type(question))
    assert {stored: 1} == {question: 1}


class UnknownQuestion(Question, frozen=True, tag="unknown"):
    pass


def test_question_outside_the_list_is_an_error() -> None:
    answers = NodeAnswers(NodeData.local("n", {}), FileStore(TextTree({})))
    with pytest.raises(PrecastError) as raised:
        Inputs(answers).ask(UnknownQuestion())
    assert raised.value.code == "LANG-637"


def test_trace_has_the_order_of_first_asking() -> None:
    inputs = Inputs(NodeAnswers(NodeData.local("n", {"a": 1}), FileStore(TextTree({}))))
    for name in ("b", "a", "b"):
        inputs.ask(FactPath((name,)))
    assert [read.answer for read in inputs.trace] == [ABSENT, 1]
