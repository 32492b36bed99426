"""Values at Python's limits cause an error with a code, never a crash, and never exhaust the memory."""

import pytest

from precast.lang.compile import CompileFailure
from tests.unit.lang.small_manifests import evaluated

MANY = "9" * 6000


@pytest.mark.parametrize(
    "code",
    [
        "Timestamp(1e300)",
        "Timespan(1) * 1e308",
        "Timestamp(1) + 1e300",
        "String(1, '%9999999999d')",
        "String('a', '%.9999999999s')",
        "sprintf('%9999999999d', 1)",
        "Timestamp(0).strftime('%99999999999Y')",
        "String(Float('1e999'), '%x')",
        "String(-1, '%c')",
        "Array(9223372036854775807)",
        "Array(Integer[1, 99999999999].reverse_each)",
        "Hash([[['a'], [1, 2]], [['a', 99999999999], 9]], 'tree')",
        "Hash([[['a'], [1, 2]], [['a', 'x'], 9]], 'tree')",
        f"Integer('{MANY}')",
        f"Float('{MANY}')",
        f"SemVer('{MANY}.0.0')",
        f"SemVerRange('>={MANY}')",
        f"URI('http://a:{MANY}/')",
        f"Timespan('{MANY}')",
        f"Regexp('a{{{MANY}}}')",
        f"'{MANY}' + 1",
    ],
)
def test_value_beyond_a_limit_is_refused_with_a_code(code: str) -> None:
    with pytest.raises(CompileFailure) as caught:
        evaluated(code)
    assert caught.value.error.code.startswith("LANG-")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("Timestamp(9999999999999)", "318857-05-20T17:46:39.000000000 UTC"),
        ("Timestamp(-99999999999)", "-1199-02-15T14:13:21.000000000 UTC"),
        ("Timestamp('0000-01-01')", "0000-01-01T00:00:00.000000000 UTC"),
    ],
)
def test_timestamp_beyond_pythons_calendar_is_written(code: str, text: str) -> None:
    assert str(evaluated(code).value) == text
