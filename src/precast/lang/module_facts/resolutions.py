"""Resolutions: the ways in which a fact gets its value, each with its confines and its weight.

They are objects of Ruby: the block of `Facter.add` runs with the resolution as self.
"""

from typing import Any

from precast.base.errors import PrecastError
from precast.lang.module_facts.values import MergeError, comparable, deep_merge
from precast.lang.ruby.errors import exception_of, raised
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import call_method
from precast.lang.ruby.objects import Constant, Proc, RubyObject
from precast.lang.ruby.values import Instance, hash_key, inspect, is_truthy, plain_key


class Confine:
    """A condition on another fact, or a block; a resolution runs only if all of its conditions are true."""

    def __init__(self, fact: str | None, values: list[Any], block: Proc | None) -> None:
        if fact is not None and not values and block is None:
            raise raised("ArgumentError", "One or more values or a block must be provided")
        self._fact, self._values, self._block = fact, values, block

    def is_true(self, execution: Any) -> bool:
        """Whether it is met. Errors of the block count as no; raises what no code may rescue."""
        if self._fact is None:
            return self._test(())
        value = execution.facts.value(self._fact)
        if value is None:
            return False
        value = comparable(value)
        if self._block is not None:
            return self._test((value,))
        return any(
            is_truthy(call_method(execution, comparable(wanted), "===", [value], None)) for wanted in self._values
        )

    def _test(self, args: tuple[Any, ...]) -> bool:
        assert self._block is not None
        try:
            return is_truthy(self._block.call(*args))
        except PrecastError as error:
            if exception_of(error) is None:
                raise
            return False


class Resolution(Instance, RubyObject):
    """One `Facter.add` of a fact, with `setcode`."""

    kind_name = "Facter::Util::Resolution"
    resolution_type = "simple"

    def __init__(self, name: str | None, fact: str) -> None:
        RubyObject.__init__(self, Constant(self.kind_name))
        self.name = name
        self.fact = fact
        self.confines: list[Confine] = []
        self.given_weight: int | None = None
        self.timeout_s: float = 0
        self.code: Proc | str | None = None
        self.fixed_value: Any = None

    @property
    def weight(self) -> int:
        return len(self.confines) if self.given_weight is None else self.given_weight

    def is_suitable(self, execution: Execution) -> bool:
        return all(confine.is_true(execution) for confine in self.confines)

    def resolve(self, execution: Any) -> Any:
        """Run the code. Raises the errors of the code."""
        if self.fixed_value is not None:
            return self.fixed_value
        if isinstance(self.code, str):
            output = execution.facts.command_output(self.code)
            return output or None
        return None if self.code is None else self.code.call()


class Aggregate(Resolution):
    """A fact of parts (`chunk`), which may use each other's results, and which `aggregate` combines."""

    kind_name = "Facter::Core::Aggregate"
    resolution_type = "aggregate"

    def __init__(self, name: str | None, fact: str) -> None:
        super().__init__(name, fact)
        self.chunks: dict[Any, tuple[Proc, list[Any]]] = {}
        self.combine: Proc | None = None

    def resolve(self, execution: Any) -> Any:
        results: dict[Any, Any] = {}
        for key in self._order():
            block, needed = self.chunks[key]
            results[key] = block.call(*(results[each] for each in needed))
        if self.combine is not None:
            return self.combine.call(results)
        merged: Any = None
        try:
            for at, result in enumerate(results.values()):
                merged = result if at == 0 else deep_merge(merged, result)
        except MergeError as error:
            raise raised("ArgumentError", f"Could not deep merge all chunks (Original error: {error})") from None
        return merged

    def _order(self) -> list[Any]:
        """The parts, each after those that it needs. Raises Ruby's error for an unknown one and for a cycle."""
        done: list[Any] = []

        def visit(key: Any, waiting: tuple[Any, ...]) -> None:
            if key in waiting:
                raise raised("StandardError", f"Could not order chunks; {inspect(plain_key(key))} needs itself")
            if key not in self.chunks:
                raise raised("StandardError", f"Cannot sort elements; there is no chunk {inspect(plain_key(key))}")
            if key not in done:
                for needed in self.chunks[key][1]:
                    visit(needed, (*waiting, key))
                done.append(key)

        for key in self.chunks:
            visit(key, ())
        return done

    def add_chunk(self, name: Any, needed: list[Any], block: Proc) -> None:
        self.chunks[hash_key(name)] = (block, [hash_key(each) for each in needed])
