"""Finds constants: those of the code, from the innermost module outwards, and the built-in classes and modules."""

from typing import Any, Final

from precast.lang.issues import erb as issues
from precast.lang.ruby.errors import ALIASES, PARENTS
from precast.lang.ruby.methods.dispatch import METHODS
from precast.lang.ruby.objects import Constant, RubyClass
from precast.lang.ruby.values import CLASSES
from precast.lang.settings import PUPPET_VERSION

# Constants with a value of their own.
VALUES: Final[dict[str, Any]] = {
    "RUBY_VERSION": "3.1.2",
    "Puppet::PUPPETVERSION": PUPPET_VERSION,
    "RUBY_PLATFORM": "x86_64-linux-gnu",
    "RUBY_ENGINE": "ruby",
    "Float::INFINITY": float("inf"),
    "Float::NAN": float("nan"),
    "Float::EPSILON": 2.220446049250313e-16,
    "Float::MAX": 1.7976931348623157e308,
    "Float::MIN": 2.2250738585072014e-308,
    "Math::PI": 3.141592653589793,
    "Math::E": 2.718281828459045,
    "Regexp::IGNORECASE": 1,
    "Regexp::EXTENDED": 2,
    "Regexp::MULTILINE": 4,
    "File::SEPARATOR": "/",
    "File::PATH_SEPARATOR": ":",
    "Socket::AF_INET": 2,
    "Socket::AF_INET6": 10,
}
# Modules and classes that are known by name only, for `is_a?`, as parents, and as the first part of other names.
NAMES: Final = frozenset((
    "Puppet", "Puppet::Parser", "Puppet::Parser::Functions", "Puppet::Functions", "Puppet::Functions::Function",
    "Puppet::Functions::InternalFunction", "Puppet::Pops", "Puppet::Pops::Types", "Puppet::Pops::Types::PSensitiveType",
    "Puppet::Pops::Types::PSensitiveType::Sensitive", "Puppet::Pops::Types::PAnyType", "Puppet::Pops::Types::PBinaryType::Binary",
    "Puppet::Pops::Types::PBinaryType", "Puppet::Pops::Time", "Puppet::Util", "Puppet::Resource", "Puppet::Type",
    "Puppet::Pops::Types::PResourceType", "Puppet::Pops::Types::PClassType", "Puppet::Pops::Types::PStringType",
    "Puppet::Parser::Resource", "Puppet::Parser::Scope", "Comparable", "Enumerable", "Kernel", "Object", "BasicObject", "Module",
    "Class", "Struct", "Random", "Time", "Date", "DateTime", "File", "Dir", "IO", "ENV", "Encoding", "Encoding::UTF_8", "Encoding::BINARY",
    "Encoding::ASCII_8BIT", "Encoding::US_ASCII", "MatchData", "Bignum", "Errno", "Process", "Method", "Psych", "OpenSSL", "Digest",
    "Base64", "JSON", "YAML", "PSON", "URI", "IPAddr", "Set", "Shellwords", "SecureRandom", "Math", "ERB", "ERB::Util", "CGI", "Timeout",
    "URI::HTTP", "URI::HTTPS", "URI::Generic", "Facter", "Open3", "StringIO", "Logger", "GC", "ObjectSpace", "Marshal",
    "Net", "Net::HTTP", "Etc", "Tempfile", "FileUtils", "Pathname", "RbConfig", "Augeas", "SemanticPuppet", "SemanticPuppet::Version",
    "Puppet::Parameter", "Puppet::Parameter::Boolean", "Puppet::Parameter::Path", "Puppet::Parameter::PackageOptions",
    "Puppet::Property", "Puppet::Property::Boolean", "Puppet::Property::Ensure", "Puppet::Property::List",
    "Puppet::Property::OrderedList", "Puppet::Property::KeyValue", "Puppet::ResourceApi", "Puppet::Provider",
    "Puppet::Type::File", "Puppet::Type::File::Owner", "Puppet::Type::File::Group", "Puppet::Type::File::Mode",
    "Facter::Util", "Facter::Util::Resolution", "Facter::Core", "Facter::Core::Execution", "FileTest", "File::Stat", "Process::Status",
    "Gem", "Gem::Version", "Iconv", "Zlib", "Socket", "Resolv", "Thread", "Mutex", "BigDecimal", "Rational", "Complex", "Symbol",
))  # fmt: skip


_OLD_NAMES: Final = {"Fixnum": "Integer", "Bignum": "Integer", "TRUE": "TrueClass", "FALSE": "FalseClass"}


def is_builtin(name: str) -> bool:
    """Return whether a name is a class or module that is built in."""
    return name in CLASSES or name in PARENTS or name in ALIASES or name in NAMES or f"{name}." in METHODS


def find_constant(frame: Any, name: str) -> Any:
    """Return a constant. Raises InputError LANG-901 for one that neither the code nor the subset has."""
    name = _OLD_NAMES.get(name, name)
    head, _, rest = name.partition("::")
    found = _find_own(frame, head)
    if found is not None:
        return _below(found, rest) if rest else found[0]
    if name in VALUES:
        return VALUES[name]
    if is_builtin(name):
        return Constant(name)
    for module in reversed(frame.modules):  # `Functions` inside of `module Puppet::Parser`
        if is_builtin(f"{module.name}::{name}"):
            return Constant(f"{module.name}::{name}")
    this = frame.this
    if isinstance(this, Constant) and is_builtin(f"{this.name}::{name}"):
        return Constant(f"{this.name}::{name}")
    if (inside := _find_inside_builtin(frame.execution.constants, name)) is not None:
        return inside[0]
    if name in frame.execution.class_methods:
        return Constant(name)
    raise issues.NOT_IN_SUBSET.error(construct=f"the constant {name}")


def _find_own(frame: Any, name: str) -> tuple[Any] | None:
    """Return a constant of the code, in a tuple because its value may be nil."""
    for module in reversed(frame.modules):
        if name in module.constants:
            return (module.constants[name],)
    for holder in (*frame.modules[-1:], frame.definee):
        if isinstance(holder, RubyClass):
            try:
                return (holder.constant(name),)
            except KeyError:
                continue
    table = frame.execution.constants
    return (table[name],) if name in table else None


def _find_inside_builtin(table: dict[str, Any], name: str) -> tuple[Any] | None:
    """Return a constant that the code defined inside of a built-in module, such as `Facter::Util::Disks`."""
    parts = name.split("::")
    for count in range(len(parts), 1, -1):
        full = "::".join(parts[:count])
        if full in table:
            rest = "::".join(parts[count:])
            return (_below((table[full],), rest),) if rest else (table[full],)
    return None


def _below(found: tuple[Any], rest: str) -> Any:
    value = found[0]
    for part in rest.split("::"):
        if not isinstance(value, RubyClass):
            raise issues.NOT_IN_SUBSET.error(construct=f"the constant {part}")
        try:
            value = value.constant(part)
        except KeyError:
            raise issues.NOT_IN_SUBSET.error(construct=f"the constant {value.name}::{part}") from None
    return value


def knows_constant(frame: Any, name: str) -> bool:
    """Return whether a constant exists, for `defined?`."""
    if _find_own(frame, name.partition("::")[0]) is not None or name in VALUES or is_builtin(name):
        return True
    if name in frame.execution.class_methods:
        return True
    return _find_inside_builtin(frame.execution.constants, name) is not None
