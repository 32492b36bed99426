"""One function for each parameterised type: makes the type from the arguments in brackets, with Puppet's errors."""

from typing import Final

from precast.lang.datatypes.base import ANY, EMPTY_SIZE, UNDEF, UNIT, Size, Type
from precast.lang.datatypes.callables import CallableType, parameters_of
from precast.lang.datatypes.collections import ArrayType, CollectionType, HashType, Member, StructType, TupleType
from precast.lang.datatypes.composites import NotUndefType, OptionalType, VariantType, variant
from precast.lang.datatypes.inference import infer, infer_reduced
from precast.lang.datatypes.references import TypeReference
from precast.lang.datatypes.rich import RuntimeType
from precast.lang.datatypes.scalars import (
    BooleanType,
    EnumType,
    FloatType,
    IntegerType,
    PatternType,
    RegexpType,
    StringType,
)
from precast.lang.issues import types as issues
from precast.lang.values import base as values
from precast.lang.values.base import DEFAULT, Hash, Regexp, Value
from precast.lang.values.regexps import compile_regexp

Arguments = tuple[Value, ...]
_VOWELS: Final = "AEIOUaeiou"


def with_article(name: str) -> str:
    return f"{'an' if name[:1] in _VOWELS else 'a'} {name}"


def type_name_of(value: Value) -> str:
    """The kind of an argument as errors name it: a type's name with `-Type`, or the name of the value's type."""
    if isinstance(value, TypeReference):
        return f"{value.text}-Type"
    return f"{value.simple_name}-Type" if isinstance(value, Type) else infer_reduced(value).generalized().text


def inferred_text(value: Value) -> str:
    return infer(value).generalized().text


def wrong_count(name: str, wanted: str, arguments: Arguments) -> Exception:
    return issues.TYPE_ARGUMENT_COUNT.error(type=name, wanted=wanted, count=len(arguments))


def wrong_argument(name: str, got: Value, wanted: str) -> Exception:
    return issues.BAD_TYPE_ARGUMENT.error(type=name, got=type_name_of(got), wanted=wanted)


def _must_be_type(name: str, value: Value) -> Type:
    if not isinstance(value, Type):
        raise issues.ARGUMENT_NOT_A_TYPE.error(type=name, got=type_name_of(value))
    return value


def one_type(name: str, arguments: Arguments) -> Type:
    if len(arguments) != 1:
        raise wrong_count(name, "1 argument", arguments)
    return _must_be_type(name, arguments[0])


def first_type(name: str, arguments: Arguments) -> Type:
    return _must_be_type(name, arguments[0])


def type_or_string(name: str, arguments: Arguments) -> Type:
    if len(arguments) != 1:
        raise wrong_count(name, "1 argument" if name == "Optional" else "0 to 1 arguments", arguments)
    if isinstance(arguments[0], str):
        return StringType(literal=arguments[0])
    return _must_be_type(name, arguments[0])


def _bounds(name: str, arguments: Arguments, wanted: str, kinds: type | tuple[type, ...]) -> list[Value]:
    if not 1 <= len(arguments) <= 2:
        raise wrong_count(name, "1 to 2 arguments", arguments)
    for argument in arguments:
        if argument is not DEFAULT and (not isinstance(argument, kinds) or isinstance(argument, bool)):
            raise issues.BOUNDS_WANTED.error(type=name, wanted=wanted, got=type_name_of(argument))
    return [None if argument is DEFAULT else argument for argument in (*arguments, DEFAULT)[:2]]


def _check_order(low: Value, high: Value) -> None:
    if low is not None and high is not None and low > high:
        raise issues.BOUNDS_REVERSED.error(low=values.to_string(low), high=values.to_string(high))


def construct_integer(arguments: Arguments) -> Type:
    low, high = _bounds("Integer", arguments, "integers", int)
    _check_order(low, high)
    return IntegerType(low, high)


def construct_float(arguments: Arguments) -> Type:
    low, high = (
        None if b is None else float(b) for b in _bounds("Float", arguments, "floats, or integers", (int, float))
    )
    _check_order(low, high)
    return FloatType(low, high)


def _is_bound(value: Value) -> bool:
    return value is DEFAULT or (isinstance(value, int) and not isinstance(value, bool))


def _size(arguments: Arguments) -> Size:
    """A size from one Integer type, or from one or two bounds; a negative bound counts as zero."""
    if len(arguments) == 1 and isinstance(arguments[0], IntegerType):
        return Size(max(arguments[0].low or 0, 0), arguments[0].high)
    for argument in arguments:
        if not _is_bound(argument):
            raise issues.BAD_SIZE.error(got=with_article(type_name_of(argument)))
    low, high = (None if argument is DEFAULT else argument for argument in (*arguments, DEFAULT)[:2])
    _check_order(low, high)
    return Size(max(low or 0, 0), None if high is None else max(high, 0))


def construct_string(arguments: Arguments) -> Type:
    if not 1 <= len(arguments) <= 2:
        raise wrong_count("String", "1 to 2 arguments", arguments)
    return StringType(_size(arguments))


def construct_boolean(arguments: Arguments) -> Type:
    if len(arguments) != 1:
        raise wrong_count("Boolean", "1 argument", arguments)
    if not isinstance(arguments[0], bool):
        raise wrong_argument("Boolean", arguments[0], "TrueClass or FalseClass")
    return BooleanType(arguments[0])


def construct_enum(arguments: Arguments) -> Type:
    any_case = arguments[-1:] == (True,) and isinstance(arguments[-1], bool)
    if arguments and isinstance(arguments[-1], bool):
        arguments = arguments[:-1]
    if not arguments:
        raise wrong_count("Enum", "1 or more arguments", arguments)
    for argument in arguments:
        if not isinstance(argument, str):
            raise wrong_argument("Enum", argument, "String")
    return EnumType(arguments, any_case)


def construct_pattern(arguments: Arguments) -> Type:
    patterns: list[Regexp] = []
    for argument in arguments:
        if isinstance(argument, str):
            compile_regexp(argument)
            patterns.append(Regexp(argument))
        elif isinstance(argument, Regexp):
            patterns.append(argument)
        elif isinstance(argument, PatternType):
            patterns.extend(argument.patterns)
        elif isinstance(argument, RegexpType) and argument.pattern is not None:
            patterns.append(argument.pattern)
        else:
            raise wrong_argument("Pattern", argument, "String or Regexp or Pattern-Type or Regexp-Type")
    return PatternType(patterns)


def construct_regexp(arguments: Arguments) -> Type:
    if len(arguments) != 1:
        raise wrong_count("Regexp", "1 argument", arguments)
    if isinstance(arguments[0], str):
        compile_regexp(arguments[0])
        return RegexpType(Regexp(arguments[0]))
    if isinstance(arguments[0], Regexp):
        return RegexpType(arguments[0])
    raise wrong_argument("Regexp", arguments[0], "String or Regexp")


def construct_collection(arguments: Arguments) -> Type:
    if not 1 <= len(arguments) <= 2:
        raise wrong_count("Collection", "1 to 2 arguments", arguments)
    return CollectionType(_size(arguments))


def construct_array(arguments: Arguments) -> Type:
    if len(arguments) == 2 and all(map(_is_bound, arguments)):
        size = _size(arguments)
        return ArrayType(UNIT if size == EMPTY_SIZE else ANY, size)
    if not 1 <= len(arguments) <= 3:
        raise wrong_count("Array", "1 to 3 arguments", arguments)
    return ArrayType(_must_be_type("Array", arguments[0]), _size(arguments[1:]) if arguments[1:] else None)


def construct_hash(arguments: Arguments) -> Type:
    if len(arguments) == 2 and all(map(_is_bound, arguments)):
        size = _size(arguments)
        element = UNIT if size == EMPTY_SIZE else ANY
        return HashType(element, element, size)
    if not 2 <= len(arguments) <= 4:
        raise wrong_count("Hash", "2 to 4 arguments", arguments)
    key, item = (_must_be_type("Hash", argument) for argument in arguments[:2])
    return HashType(key, item, _size(arguments[2:]) if arguments[2:] else None)


def _with_size(name: str, arguments: Arguments) -> tuple[tuple[Type, ...], Size | None]:
    """The types, and the size if one follows them."""
    size: Size | None = None
    if len(arguments) > 2 and _is_bound(arguments[-1]) and _is_bound(arguments[-2]):
        arguments, size = arguments[:-2], _size(arguments[-2:])
    elif len(arguments) == 2 and all(map(_is_bound, arguments)):
        arguments, size = (), _size(arguments)
    elif arguments and _is_bound(arguments[-1]):
        arguments, size = arguments[:-1], _size(arguments[-1:])
    for argument in arguments:
        if not isinstance(argument, Type):
            raise wrong_argument(name, argument, "Any-Type")
    return arguments, size


def construct_tuple(arguments: Arguments) -> Type:
    types, size = _with_size("Tuple", arguments)
    if not types:
        raise wrong_count("Tuple", "1 or more arguments", types)
    return TupleType(types, size)


def construct_struct(arguments: Arguments) -> Type:
    if len(arguments) != 1:
        raise wrong_count("Struct", "1 argument", arguments)
    if not isinstance(arguments[0], Hash):
        raise wrong_argument("Struct", arguments[0], "Hash")
    return StructType(_member(key, item) for key, item in arguments[0].items())


def _member(key: Value, item: Value) -> Member:
    item_type = item if isinstance(item, Type) else infer(item).generalized()
    if isinstance(key, str):
        if not key:
            raise issues.BAD_STRUCT_KEY.error(got="an empty String")
        return Member(key, item_type)
    inner = key.inner if isinstance(key, OptionalType | NotUndefType) else None
    if isinstance(inner, StringType) and inner.literal is not None:
        return Member(inner.literal, item_type, key.name)
    raise issues.BAD_STRUCT_KEY.error(got=type_name_of(key))


def construct_variant(arguments: Arguments) -> Type:
    for argument in arguments:
        if not isinstance(argument, Type):
            raise wrong_argument("Variant", argument, "Any-Type")
    return variant(arguments) if arguments else VariantType()


def construct_callable(arguments: Arguments) -> Type:
    returns: Type | None = None
    if arguments and isinstance(arguments[0], tuple):
        if len(arguments) != 2:
            raise wrong_count("Callable", "2 arguments", arguments)
        returns = _must_be_type("Callable", arguments[1])
        arguments = arguments[0]
    block: Type | None = None
    if arguments and _is_block(arguments[-1]):
        block, arguments = arguments[-1], arguments[:-1]
    types, size = _with_size("Callable", _as_types(arguments))
    return CallableType(parameters_of(types, size), block, None if returns == ANY else returns)


def _as_types(arguments: Arguments) -> Arguments:
    """The parameters of a Callable as types: a value becomes its type, a string becomes a class of the runtime."""
    end = len(arguments)
    while end > max(len(arguments) - 2, 0) and _is_bound(arguments[end - 1]):
        end -= 1

    def as_type(value: Value) -> Type:
        if isinstance(value, Type):
            return value
        return RuntimeType("ruby", value) if isinstance(value, str) else infer_reduced(value).generalized()

    return (*map(as_type, arguments[:end]), *arguments[end:])


def _is_block(value: Value) -> bool:
    if isinstance(value, OptionalType):
        return isinstance(value.inner, CallableType)
    if isinstance(value, VariantType):
        return all(isinstance(t, CallableType) or t == UNDEF for t in value.types)
    return isinstance(value, CallableType)
