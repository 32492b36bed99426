"""Templates: the supported syntax, a comparison with Jinja where it is installed, and refused templates."""

import json
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precast.base.errors import InputError
from precast.boot.userdata.templates import render

VARIABLES: dict[str, Any] = {
    "v1": {
        "local_hostname": "web",
        "region": "eu-1",
        "instance_id": "i-7",
        "public_ssh_keys": ["k1", "k2"],
        "empty": "",
    },
    "ds": {"meta_data": {"local-ipv4": "10.0.0.1", "tags": {"role": "db", "n": 3}}},
    "n": 7,
}
# Jinja and our renderer print the same.
TEXTS = [
    "plain",
    "name: {{ v1.local_hostname }}",
    "{{ v1['region'] }}-{{ ds.meta_data.tags.role }}",
    "{{ ds['meta_data']['local-ipv4'] }}",
    "{% if v1.region == 'eu-1' %}yes{% else %}no{% endif %}",
    "{% if v1.region != 'eu-1' %}a{% elif n > 5 and n < 9 %}b{% else %}c{% endif %}",
    "{% for key in v1.public_ssh_keys %}\n- {{ key }}\n{% endfor %}\nend",
    "{% for key, value in ds.meta_data.tags.items() %}{{ key }}={{ value }};{% endfor %}",
    "{% for key in [] %}x{% else %}none{% endfor %}",
    "{% for x in [1, 2, 3] %}{{ loop.index }}{% if not loop.last %},{% endif %}{% endfor %}",
    "{{ missing | default('x') }}{{ v1.empty | default('y', true) }}",
    "{{ v1.local_hostname | upper | replace('W', 'V') }}",
    "{{ v1.public_ssh_keys | join(', ') }} {{ v1.public_ssh_keys | length }}",
    "{% set a = n * 2 + 1 %}{{ a }} {{ a // 4 }} {{ a % 4 }} {{ 'x' ~ a }}",
    "{{ 'a' if n is defined else 'b' }}{{ 'a' if q is defined else 'b' }}",
    "{% if q is defined and q.z > 3 %}x{% endif %}{% if 'k1' in v1.public_ssh_keys %}y{% endif %}",
    "{# a comment #}{% raw %}{{ not this }}{% endraw %}",
    "a  {{- n -}}  b {%- if true %} c {% endif -%} d",
    "{{ v1.local_hostname.split('e') | first }}{{ v1.region[0:2] }}{{ v1.region.startswith('eu') }}",
    "{% for i in range(3) %}{{ i }}{% endfor %}",
    "{{ (1, 2)[1] }}{{ {'a': 5}['a'] }}{{ [1, 2] + [3] }}",
    "{{ not n }}{{ n == 7 or q.x }}{{ -n }}",
    "line\n",
    "lines\n\n",
    "\n",
    "{% if n %}\nlast\n{% endif %}\n",
    "{% if n -%}\nlast\n{% endif -%}\n",
    "last\n{# a comment #}\n",
    "{{ n }}\n",
    "{% raw %}\nlast\n{% endraw %}\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_template_prints_what_jinja_prints(text: str) -> None:
    # cloud-init adds the line break at the end that Jinja removes.
    script = (
        "import json, sys, jinja2; text, variables = json.load(sys.stdin);"
        "printed = jinja2.Environment(trim_blocks=True).from_string(text).render(**variables);"
        "print(json.dumps(printed + '\\n' * text.endswith('\\n')))"
    )
    source = json.dumps([text, VARIABLES])
    done = subprocess.run(["/usr/bin/python3", "-c", script], input=source, capture_output=True, text=True)
    if "No module named 'jinja2'" in done.stderr:
        pytest.skip("Debian's python3-jinja2 is not installed")
    assert render(text, VARIABLES).text == json.loads(done.stdout)


def test_missing_names_are_printed_as_such_and_told() -> None:
    rendered = render("a {{ v1.nope.deep }} {{ q }}", VARIABLES)
    assert rendered.text == "a CI_MISSING_JINJA_VAR/nope.deep CI_MISSING_JINJA_VAR/q"
    assert rendered.missing == ("nope.deep", "q")


def test_names_with_dashes_are_found_by_their_underscores() -> None:
    assert render("{{ ds.meta_data.local_ipv4 }}", VARIABLES).text == "10.0.0.1"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb {{ n + }}", 3),
        ("{% if n %}", 2),
        ("{% endif %}", 2),
        ("{% import 'x' %}", 2),
        ("\n\n{{ n | evil }}", 4),
        ("{{ ''.__class__.__mro__ }}{{ ''.format(1) }}", 2),
        ("{% for i in range(999999999) %}x{% endfor %}", 2),
        ("{% for i in range(9999) %}{% for j in range(9999) %}x{% endfor %}{% endfor %}", 2),
        ("{{ 'x' * 999999999 }}", 2),
        ("{{ '%999999999d' % 1 }}", 2),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", 2),
        ("{% if 1 %}" * 500, 2),
        (
            "{{ 9999999999999999999999 * 9999999999999999999999999999 * 99999999999999999999999999999 * 9999999999999999 }}",
            2,
        ),
        ("{{ `x` }}", 2),
        ("{% raw %}", 2),
    ],
)
def test_what_is_not_known_or_endless_is_an_error_with_its_line(text: str, line: int) -> None:
    with pytest.raises(InputError) as caught:
        render(text, VARIABLES)
    assert caught.value.code == "BOOT-308"
    assert f"line {line} " in caught.value.message


def test_nothing_of_python_is_reached() -> None:
    assert render("{{ v1.__class__ }}{{ ds.items }}", VARIABLES).text.count("CI_MISSING_JINJA_VAR") == 2


@given(st.text(alphabet="{}%# ifordne'()[].,|+-*abv1\n", max_size=80))
def test_any_text_is_printed_or_one_clear_error(text: str) -> None:
    try:
        render(text, VARIABLES)
    except InputError as error:
        assert error.code == "BOOT-308"  # noqa: PT017 - most texts are fine
