"""Which files of an environment are checked before it is deployed, and which findings forbid deployment."""

import pytest

from precast.lang.syntax.validation import is_checked, validate_file


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("manifests/site.pp", True),
        ("modules/a/manifests/init.pp", True),
        ("site-modules/a/types/port.pp", True),
        ("modules/a/templates/x.epp", True),
        ("modules/a/templates/x.erb", True),
        ("modules/a/lib/x.erb", False),
        ("hiera.yaml", True),
        ("modules/a/hiera.yaml", True),
        ("data/hiera.yaml", False),
        ("data/common.yaml", False),
        ("modules/a/spec/x.pp", False),
        ("modules/a/examples/init.pp", False),
        ("modules/a/plans/x.pp", False),
        ("modules/a/files/x.txt", False),
    ],
)
def test_code_that_a_compile_could_read_is_checked(path: str, expected: bool) -> None:
    assert is_checked(path) is expected


@pytest.mark.parametrize(
    ("path", "text", "errors", "warnings"),
    [
        ("manifests/site.pp", b"notify { 'x': }", [], []),
        ("manifests/site.pp", b"notify {", ["LANG-"], []),
        ("manifests/site.pp", b"\xff", ["LANG-639"], []),
        ("modules/a/manifests/init.pp", b"class b { }", [], ["LANG-102"]),
        ("modules/a/templates/x.epp", b"<%= $x %>", [], []),
        ("modules/a/templates/x.erb", b"<%= @x %>", [], []),
        ("modules/a/templates/x.erb", b"<% undef x %>", [], ["LANG-901"]),
        ("modules/a/templates/x.erb", b"<% if x %>", ["LANG-900"], []),
        ("hiera.yaml", b"version: 5\n", [], []),
        ("hiera.yaml", b"version: [", ["HIERA-"], []),
    ],
)
def test_findings_about_a_file(path: str, text: bytes, errors: list[str], warnings: list[str]) -> None:
    findings = validate_file(path, text)
    assert [error.code[: len(code)] for error, code in zip(findings.errors, errors, strict=True)] == errors
    assert [warning.code for warning in findings.warnings] == warnings
    reported = (*findings.errors, *findings.warnings)
    assert all(problem.source is not None and problem.source.path == path for problem in reported)
