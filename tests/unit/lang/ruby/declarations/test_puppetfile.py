"""Puppetfiles: the syntax of r10k is read, everything else is refused with its position."""

import pytest

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.ruby.declarations.puppetfile import ModuleSource, Puppetfile, read_puppetfile


def read(text: str) -> Puppetfile:
    return read_puppetfile(Source("Puppetfile", text))


def read_module(text: str) -> ModuleSource:
    (module,) = read(text).modules
    return module


def test_syntax_of_r10k_is_read() -> None:
    puppetfile = read(
        "forge 'https://forge.example'\n"
        "moduledir 'thirdparty'\n"
        "# a comment\n"
        "base = 'https://git.example'\n"
        "mod 'puppetlabs/stdlib', '8.5.0'\n"
        "mod 'puppetlabs-apt', :latest\n"
        "mod 'puppetlabs/concat'\n"
        'mod "ntp", :git => "#{base}/ntp.git",\n'
        "  :tag => 'v1.2.3'\n"
        "mod 'mine', git: 'git@git.example:team/mine.git', branch: 'main', default_branch: 'stable', install_path: 'site'\n"
        "mod 'own', :local => true\n"
    )
    assert puppetfile.forge == "https://forge.example"
    assert puppetfile.modules == (
        ModuleSource("stdlib", "forge", "thirdparty/stdlib", "puppetlabs-stdlib", version="8.5.0"),
        ModuleSource("apt", "forge", "thirdparty/apt", "puppetlabs-apt"),
        ModuleSource("concat", "forge", "thirdparty/concat", "puppetlabs-concat"),
        ModuleSource(
            *("ntp", "git", "thirdparty/ntp", "ntp"),
            url="https://git.example/ntp.git",
            reference="v1.2.3",
            reference_kind="tag",
        ),
        ModuleSource(
            *("mine", "git", "site/mine", "mine"),
            url="git@git.example:team/mine.git",
            reference="main",
            reference_kind="branch",
            default_branch="stable",
        ),
        ModuleSource("own", "local", "thirdparty/own", "own"),
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("mod 'a/b', `date`", "MODULE-001"),
        ("mod 'a/b', ENV['X']", "MODULE-001"),
        ("if true\n mod 'a/b'\nend", "MODULE-001"),
        ("system('x')", "MODULE-001"),
        ("mod", "MODULE-001"),
        ("['a/b'].each { |name| mod name }", "MODULE-001"),
        ("mod '../b'", "MODULE-002"),
        ("mod 'A/B'", "MODULE-002"),
        ("mod 'a', :svn => 'https://x'", "MODULE-003"),
        ("mod 'a', '1.0.0'", "MODULE-003"),
        ("mod 'a/b', '>= 1'", "MODULE-003"),
        ("mod 'a', :git => 'https://x/y', :tag => 'v1', :branch => 'b'", "MODULE-003"),
        ("mod 'a', :git => 'https://x/y', :branch => :control_branch", "MODULE-003"),
        ("mod 'a/b'\nmod 'c/b'", "MODULE-004"),
        ("moduledir '/etc'", "MODULE-005"),
        ("moduledir 'a/../../b'", "MODULE-005"),
        ("moduledir '.git/hooks'", "MODULE-005"),
        ("mod 'a/b', :install_path => '..'", "MODULE-005"),
        ("mod 'a', :git => '--upload-pack=touch /tmp/x'", "MODULE-006"),
        ("mod 'a', :git => 'ext::sh -c id'", "MODULE-006"),
        ("mod 'a', :git => 'ext::sh'", "MODULE-006"),
        ("mod 'a', :git => 'https://x/y z'", "MODULE-006"),
        ("mod 'a', :git => ''", "MODULE-006"),
        ("mod 'a', :git => 'https://x/y', :ref => '--output=x'", "MODULE-007"),
        ("mod 'a', :git => 'https://x/y', :ref => 'a..b'", "MODULE-007"),
        ("mod 'a', :git => 'https://x/y', :tag => 'a b'", "MODULE-007"),
    ],
)
def test_code_that_is_not_constant_or_safe_is_refused(text: str, code: str) -> None:
    with pytest.raises(PrecastError) as failed:
        read(text)
    assert failed.value.code == code
    assert failed.value.span is not None


def test_version_may_be_an_option() -> None:
    assert read_module("mod 'a/b', type: 'forge', version: '1.2.3'").version == "1.2.3"
    module = read_module("mod 'b', type: 'git', source: 'https://x/y', version: 'v1'")
    assert (module.origin, module.url, module.reference, module.reference_kind) == ("git", "https://x/y", "v1", "ref")
