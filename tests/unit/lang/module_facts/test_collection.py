"""What becomes of the Ruby facts of modules when one of them fails, takes too long, or needs more of Ruby than there is.

That values are those of Facter is tested beside real Facter (`tests/differential/test_module_facts.py`).
"""

import pytest

from tests.unit.lang.module_facts.fake_node import FakeNode, read

OTHER = "\nFacter.add(:other) { setcode { 'fine' } }\n"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("Facter.add(:bad) { setcode { raise 'no' } }", "no"),
        ("Facter.add(:bad) { setcode { nil.upcase } }", "undefined method `upcase' for nil:NilClass"),
        ("Facter.add(:bad) { setcode { return 1 } }", "unexpected return"),
        ("Facter.add(:bad) { setcode { 1..2 } }", "1..2 is a Range"),
        ("Facter.add(:bad) { setcode { File.read('/nowhere') } }", "No such file or directory - /nowhere"),
        ("Facter.add(:bad) { raise 'in the block' }", "in the block"),
        ("Facter.add(:bad) { confine kernel: []; setcode { 1 } }", "One or more values or a block must be provided"),
        ("Facter.add(:bad) { setcode }", "You must pass either code or a block"),
    ],
)
def test_error_costs_one_fact_and_is_told_with_its_place(code: str, reason: str) -> None:
    found = read(code + OTHER)
    assert found.facts == {"other": "fine"}
    ((kind, name, place, told),) = found.problems
    assert (kind, name, told) == ("error", "bad", reason)
    assert place.startswith("m/lib/facter/x.rb")


def test_fact_that_takes_too_long_is_lost_and_no_other() -> None:
    node = FakeNode(programs={"/usr/bin/slow": 100.0, "/usr/bin/quick": "done\n"})
    code = """
        Facter.add(:slow) { setcode { Facter::Core::Execution.execute('slow') } }
        Facter.add(:limited, timeout: 2) { setcode { `/usr/bin/slow` } }
        Facter.add(:handled) { setcode { Facter::Core::Execution.execute('slow', timeout: 1, on_fail: 'gave up') } }
        Facter.add(:quick) { setcode 'quick' }
    """
    found = read(code, node)
    assert found.facts == {"handled": "", "quick": "done"}
    assert [(kind, name, reason) for kind, name, _, reason in found.problems] == [
        ("timeout", "slow", "it took more than 30 s"),
        ("timeout", "limited", "it took more than 2 s"),
    ]


def test_timeout_of_a_fact_cannot_be_rescued_by_its_code() -> None:
    code = "Facter.add(:x, timeout: 2) { setcode { begin; sleep 50; rescue Exception; 'rescued'; end } }"
    assert read(code).facts == {}
    code = (
        "Facter.add(:x) { setcode { begin; Timeout.timeout(2) { sleep 50 }; rescue Timeout::Error; 'rescued'; end } }"
    )
    assert read(code).facts == {"x": "rescued"}


def test_facts_that_come_after_the_time_for_all_are_named() -> None:
    slow = "".join(f"Facter.add(:slow{number}) {{ setcode {{ sleep 25; 1 }} }}\n" for number in range(3))
    found = read(slow + OTHER)
    assert found.facts == {"slow0": 1, "slow1": 1}
    assert [(kind, name) for kind, name, _, _ in found.problems] == [("timeout", "slow2"), ("late", "other")]


def test_endless_loop_ends_at_the_limit_of_steps() -> None:
    found = read("Facter.add(:x) { setcode { loop { } } }" + OTHER)
    assert found.facts == {"other": "fine"}
    assert "did not end within" in found.problems[0][3]


def test_fact_that_needs_more_of_ruby_takes_those_that_ask_for_it_along() -> None:
    code = """
        Facter.add(:hard) { setcode { Augeas.open('/') } }
        Facter.add(:asks) { setcode { Facter.value(:hard) || 'without' } }
        Facter.add(:asks_quietly) { setcode { begin; Facter.value(:hard); rescue StandardError; 'rescued'; end } }
        Facter.add(:confined) { confine(:hard) { |x| x.nil? }; setcode { 1 } }
        Facter.add(:fallback) { setcode { 'plain' } }
        Facter.add(:fallback) { confine hard: 'x'; setcode { 'confined' } }
    """
    found = read(code + OTHER)
    assert found.facts == {"other": "fine"}
    assert {(kind, name) for kind, name, _, _ in found.problems} == {
        ("refused", name) for name in ("hard", "asks", "asks_quietly", "confined", "fallback")
    }
    assert all(place == "m/lib/facter/x.rb:2" for _, _, place, _ in found.problems)


def test_facts_of_a_file_that_cannot_be_parsed_are_refused_for_those_that_ask() -> None:
    files = {
        "m/lib/facter/a.rb": "Facter.add(:asks) { setcode { Facter.value(:hidden) || 'without' } }\n",
        "m/lib/facter/b.rb": "Facter.add(:hidden) do\n  setcode { ( }\nend\n",
    }
    found = read(files)
    assert found.facts == {}
    assert [(kind, name) for kind, name, _, _ in found.problems] == [("refused", ""), ("refused", "asks")]


def test_error_at_the_top_of_a_file_costs_the_rest_of_the_file() -> None:
    code = "Facter.add(:before) { setcode { 1 } }\nraise 'top'\nFacter.add(:after) { setcode { 2 } }\n"
    found = read({"m/lib/facter/a.rb": code, "n/lib/facter/b.rb": OTHER})
    assert found.facts == {"before": 1, "other": "fine"}
    assert found.problems == [("error", "", "m/lib/facter/a.rb:2", "top")]


def test_external_fact_overrides_and_is_seen() -> None:
    code = """
        Facter.add(:site) { has_weight 500; setcode { 'module' } }
        Facter.add(:sees) { setcode { Facter.value(:site) } }
        Facter.add(:heavy) { has_weight 20_000; setcode { 'module' } }
    """
    assert read(code, external={"site": "given", "heavy": "given"}).facts == {"sees": "given", "heavy": "module"}


def test_fact_of_a_file_that_is_loaded_later_is_found_by_name_and_otherwise() -> None:
    files = {
        "m/lib/facter/a.rb": "value = [Facter.value(:named), Facter.value(:hidden)]\nFacter.add(:a) { setcode { value } }\n",
        "m/lib/facter/named.rb": "Facter.add(:named) { setcode { 1 } }\n",
        "m/lib/facter/zz.rb": "Facter.add(:hidden) { setcode { 2 } }\n",
        "m/lib/facter/util/not_loaded.rb": "Facter.add(:nobody) { setcode { 3 } }\n",
    }
    assert read(files).facts == {"a": [1, 2], "named": 1, "hidden": 2}


def test_warning_of_the_code_is_told_with_the_file() -> None:
    found = read("Facter.warn('look here')\nFacter.debug('not this')\n")
    assert found.problems == [("told", "", "m/lib/facter/x.rb", "look here")]


@pytest.mark.parametrize(
    "code",
    ["File.write('/etc/x', 'y')", "File.open('/etc/x', 'w')", "Dir.mkdir('/x')", "FileUtils.rm('/x')", "eval('1')", "fork", "exec('id')",
     "Process.kill(9, 1)", "Net::HTTP.get('x')", "Facter.to_hash", "Object.send(:system, 'id')"],
)  # fmt: skip
def test_what_is_outside_of_the_interface_is_refused(code: str) -> None:
    node = FakeNode()
    found = read(f"Facter.add(:x) {{ setcode {{ {code} }} }}", node)
    assert (found.facts, node.commands) == ({}, [])
    assert found.problems[0][0] == "refused"


@pytest.mark.parametrize(
    ("files", "provider"),
    [({"/proc/1/comm": "systemd\n"}, "systemd"), ({"/proc/1/comm": "init\n"}, "debian"), ({}, "debian")],
)
def test_default_providers_are_puppets(files: dict[str, str], provider: str) -> None:
    code = """
        require 'puppet/type/service'
        Facter.add(:service_provider) { setcode { Puppet::Type.type(:service).newservice(name: 'dummy')[:provider].to_s } }
        Facter.add(:systemd) { confine kernel: :linux; setcode { Facter.value(:service_provider) == 'systemd' } }
        Facter.add(:package_provider) { setcode { Puppet::Type.type(:package).defaultprovider.name.to_s } }
    """
    facts = read(code, FakeNode(files)).facts
    assert facts == {"service_provider": provider, "systemd": provider == "systemd", "package_provider": "apt"}
