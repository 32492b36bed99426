"""ERB templates: errors outside of the subset have a position, templates reach nothing outside, and every rendering ends."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.ruby.erb.template import render
from precast.lang.values.base import Hash
from precast.lang.values.unknowns import Hole, UnknownText


class Host:
    """A compile with a few variables."""

    def __init__(self, **variables: Any) -> None:
        self.variables = variables
        self.asked: list[Any] = []
        self.replaced: dict[str, Any] = {}

    def variable(self, scope: Any, name: str) -> Any:
        return self.variables[name.removeprefix("::")]

    def has_variable(self, scope: Any, name: str) -> bool:
        return name.removeprefix("::") in self.variables

    def call_function(self, scope: Any, name: str, args: Any, block: Any = None) -> Any:
        return (name, *args) if block is None else block.call(*args)

    def variable_names(self, scope: Any) -> list[str]:
        return list(self.variables)

    def replace_value(self, scope: Any, before: Any, now: Any) -> None:
        self.replaced.update((name, now) for name, value in self.variables.items() if value is before)

    def call_legacy_function(self, scope: Any, name: str, args: Any, block: Any = None) -> Any:
        return self.call_function(scope, name, args, block)

    def template_methods(self) -> dict[str, Any]:
        return {}

    def template_variables(self, scope: Any) -> dict[str, Any]:
        return {}

    def concrete(self, value: Any, span: Any) -> Any:
        self.asked.append(value)
        return "node1.example.org"


def rendered(text: str, **variables: Any) -> Any:
    return render(Host(**variables), None, Source("t.erb", text))


def refused(text: str, **variables: Any) -> str:
    with pytest.raises(PrecastError) as caught:
        rendered(text, **variables)
    return str(caught.value.code)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("<%= Time.now %>", "LANG-901"),
        ("<%= `id` %>", "LANG-901"),
        ("<%= File.read('/etc/passwd') %>", "LANG-901"),
        ("<%= Dir.glob('*') %>", "LANG-901"),
        ("<%= Facter.value('os') %>", "LANG-901"),
        ("<%= system('id') %>", "LANG-901"),
        ("<%= eval('1') %>", "LANG-901"),
        ("<%= ENV['HOME'] %>", "LANG-901"),
        ("<%= $stdout %>", "LANG-901"),
        ("<% undef foo %>", "LANG-901"),
        ("<%= scope.compiler %>", "LANG-901"),
        ("<%= 'x'.__class__ %>", "LANG-902"),
        ("<%= [].instance_eval('1') %>", "LANG-901"),
        ("<%= 1 / 0 %>", "LANG-903"),
        ("<%= raise 'no' %>", "LANG-905"),
        ("<% if true %>", "LANG-900"),
        ("<%= 'x", "LANG-900"),
        ("<%= 'x %>", "LANG-900"),
        ("<% end %>", "LANG-900"),
        ("<%= zork %>", "LANG-904"),
    ],
)
def test_construct_outside_of_the_subset_is_refused(text: str, code: str) -> None:
    assert refused(text) == code


def test_error_has_the_position_in_the_template() -> None:
    with pytest.raises(PrecastError) as caught:
        rendered("line one\n<% [1].each do |x| -%>\n  <%= x.frobnicate %>\n<% end -%>\n")
    assert caught.value.source is not None
    assert caught.value.span is not None
    assert caught.value.source.position(caught.value.span.start).line == 3
    assert "frobnicate" in caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "<% while true do %>x<% end %>",
        "<% loop do %><% end %>",
        "<% def f(x) f(x) end %><%= f(1) %>",
        "<% a = [1]; a.each { |x| a << x } ; 1 while true %>",
    ],
)
def test_endless_template_is_stopped(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("precast.lang.ruby.execution.MAX_STEPS", 10_000)
    assert refused(text) in ("LANG-906", "LANG-907")


@pytest.mark.parametrize("number", ["09", "0x_", "1" * 5000])
def test_number_that_ruby_has_not_is_refused(number: str) -> None:
    assert refused(f"<%= {number} %>") == "LANG-900"


def test_code_nested_beyond_reason_is_refused() -> None:
    assert refused(f"<%= {'(' * 5000}1{')' * 5000} %>") == "LANG-901"


def test_array_that_a_template_changes_is_written_back() -> None:
    given = ("b", "a")
    host = Host(l=given, other=("x",))
    text = "<% mine = @l; mine.sort! ; mine << 'c'; @other = ['y'] -%><%= @l.join %>"
    assert render(host, None, Source("t.erb", text)) == "abc"
    assert given == ("b", "a")
    assert host.replaced == {"l": ("a", "b", "c")}


def test_array_that_a_template_only_reads_is_not_written_back() -> None:
    host = Host(l=("b", "a"))
    assert render(host, None, Source("t.erb", "<% copy = @l.sort; copy << 'c' -%><%= copy.join %>")) == "abc"
    assert host.replaced == {}


def test_unknown_value_stays_unknown_in_text() -> None:
    hole = Hole("facts", ("fqdn",))
    host = Host(fqdn=hole, names=("a", hole))
    text = render(
        host,
        None,
        Source("t", 'ServerName <%= @fqdn %>\n<% @names.each do |n| -%>\n<%= n %> <%= "x#{n}y" %>\n<% end -%>'),
    )
    assert text == UnknownText(("ServerName ", hole, "\na xay\n", hole, " x", hole, "y\n"))
    assert host.asked == []


def test_unknown_value_that_is_inspected_becomes_a_question() -> None:
    hole = Hole("facts", ("fqdn",))
    host = Host(fqdn=hole)
    assert render(host, None, Source("t", "<%= @fqdn.split('.').first %>")) == "node1"
    assert host.asked == [hole]


def test_functions_get_values_of_the_language() -> None:
    host = Host()
    text = "<%= scope.call_function('f', [[1, {'a' => :b}], nil]).inspect %> <%= scope.function_g([1]).inspect %>"
    assert render(host, None, Source("t", text)) == '["f", [1, {"a"=>"b"}], nil] ["g", 1]'


def test_block_given_to_a_function_is_called_with_its_values() -> None:
    assert rendered("<%= scope.call_function('with', [[1, 2]]) { |x| x.map { |n| n + 1 } }.inspect %>") == "[2, 3]"


def test_hash_of_the_manifest_keeps_its_order() -> None:
    assert rendered("<% @h.each do |k, v| %><%= k %><%= v %><% end %>", h=Hash.of([("b", 1), ("a", 2)])) == "b1a2"


PIECES = st.sampled_from(
    [
        *(
            "<%",
            "<%=",
            "<%-",
            "<%#",
            "%>",
            "-%>",
            "\n",
            " ",
            "text",
            "@a",
            "@l.each do |x|",
            "end",
            "if @a",
            "else",
            "x",
            "1",
            "+",
        ),
        *(
            "'q'",
            '"#{x}"',
            "{",
            "}",
            "|k, v|",
            "[1,2]",
            ".map",
            ".join(',')",
            "(",
            ")",
            "?",
            ":",
            "=>",
            "when",
            "case",
            "unless",
        ),
        *(
            "&&",
            "!",
            "nil",
            "def f",
            "->",
            "*",
            "&",
            "%w[a b]",
            "/x/",
            "=~",
            "rescue",
            "begin",
            "..",
            "::",
            "scope['x']",
            ";",
            ",",
        ),
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=60).map(lambda text: f"<%= {text} %>"))
def test_any_text_is_rendered_or_refused(text: str) -> None:
    code = "LANG-"
    try:
        rendered(text, a="A", l=("x", "y"), x=1)
    except PrecastError as error:
        code = error.code
    assert code.startswith("LANG-")


@pytest.mark.parametrize("text", ["1.5", '"a"', "null", "", " "])
def test_pson_is_an_object_or_an_array_where_json_may_be_any_value(text: str) -> None:
    code = f"<% begin %><%= PSON.parse({text!r}) %><% rescue PSON::ParserError %>refused<% end %>"
    assert rendered(code) == "refused"
