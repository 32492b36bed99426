"""Exceptions of Ruby code: which class an error has for `rescue`, and the error that an exception becomes outside.

An error that says that code needs more than the subset, or more than its limits, cannot be rescued: the code would take another way than
in Ruby, without a word.
"""

from typing import Any, Final

from precast.base.errors import InputError, Issue, PrecastError
from precast.base.spans import Source, Span
from precast.lang.issues import erb as issues
from precast.lang.ruby.objects import Constant, RubyClass, RubyError

# The built-in classes of exceptions with their parents.
PARENTS: Final[dict[str, str]] = {
    "Exception": "Object", "ScriptError": "Exception", "LoadError": "ScriptError", "NotImplementedError": "ScriptError",
    "SecurityError": "Exception", "SystemExit": "Exception", "NoMemoryError": "Exception", "SystemStackError": "Exception",
    "StandardError": "Exception", "ArgumentError": "StandardError", "UncaughtThrowError": "ArgumentError",
    "EncodingError": "StandardError", "FiberError": "StandardError", "IOError": "StandardError", "EOFError": "IOError",
    "IndexError": "StandardError", "KeyError": "IndexError", "StopIteration": "IndexError", "LocalJumpError": "StandardError",
    "NameError": "StandardError", "NoMethodError": "NameError", "RangeError": "StandardError",
    "FloatDomainError": "RangeError", "RegexpError": "StandardError", "RuntimeError": "StandardError",
    "FrozenError": "RuntimeError", "SystemCallError": "StandardError", "Errno::ENOENT": "SystemCallError",
    "Errno::EACCES": "SystemCallError", "Errno::EPERM": "SystemCallError", "Errno::ENOTDIR": "SystemCallError",
    "Errno::EISDIR": "SystemCallError", "Errno::EINVAL": "SystemCallError", "Errno::ELOOP": "SystemCallError",
    "Errno::EIO": "SystemCallError", "Errno::ENODEV": "SystemCallError", "Errno::EEXIST": "SystemCallError",
    "Facter::Core::Execution::ExecutionFailure": "StandardError", "Errno::ECONNREFUSED": "SystemCallError", "ThreadError": "StandardError",
    "TypeError": "StandardError",
    "ZeroDivisionError": "StandardError", "Timeout::Error": "RuntimeError", "SocketError": "StandardError",
    "Puppet::Error": "RuntimeError", "Puppet::ParseError": "Puppet::Error", "Puppet::ParseErrorWithIssue": "Puppet::ParseError",
    "Puppet::ResourceError": "Puppet::Error", "Puppet::DevError": "Puppet::Error", "Puppet::ExecutionFailure": "Puppet::Error",
    "Puppet::PreformattedError": "Puppet::ParseErrorWithIssue", "Puppet::DataBinding::LookupError": "Puppet::PreformattedError",
    "Puppet::Util::Yaml::YamlLoadError": "Puppet::Error", "Puppet::Pops::Types::TypeAssertionError": "Puppet::Error",
    "IPAddr::Error": "ArgumentError", "IPAddr::InvalidAddressError": "IPAddr::Error",
    "IPAddr::AddressFamilyError": "IPAddr::Error", "IPAddr::InvalidPrefixError": "IPAddr::InvalidAddressError",
    "JSON::JSONError": "StandardError", "JSON::ParserError": "JSON::JSONError", "JSON::GeneratorError": "JSON::JSONError",
    "PSON::ParserError": "StandardError",
    "Psych::Exception": "RuntimeError", "Psych::SyntaxError": "Psych::Exception", "Psych::DisallowedClass": "Psych::Exception",
    "URI::Error": "StandardError", "URI::InvalidURIError": "URI::Error", "URI::InvalidComponentError": "URI::Error",
    "OpenSSL::OpenSSLError": "StandardError", "OpenURI::HTTPError": "StandardError",
}  # fmt: skip
# Other names of these classes.
ALIASES: Final = {
    "Puppet::Util::Errors": "Puppet::Error", "YAML::SyntaxError": "Psych::SyntaxError", "YAML::Exception": "Psych::Exception",
    "YAML::DisallowedClass": "Psych::DisallowedClass", "Exception2MessageMapper": "StandardError",
}  # fmt: skip

_BY_CODE: Final = {
    issues.NO_METHOD.code: "NoMethodError",
    issues.NO_NAME.code: "NameError",
}
_NEVER_RESCUED: Final = frozenset(
    issue.code for issue in (issues.NO_SYNTAX, issues.NOT_IN_SUBSET, issues.TOO_LONG, issues.TOO_DEEP, issues.TOO_LARGE)
)
_BY_TYPE: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (ZeroDivisionError, "ZeroDivisionError"),
    (KeyError, "KeyError"),
    (StopIteration, "StopIteration"),
    (IndexError, "IndexError"),
    (OverflowError, "FloatDomainError"),
    (TypeError, "TypeError"),
    (ValueError, "ArgumentError"),
)


class Raised(InputError):
    """An exception of Ruby code on its way to a `rescue` or out of the code."""

    def __init__(
        self,
        code: str,
        message: str,
        hint: str,
        source: Source | None = None,
        span: Span | None = None,
        exception: RubyError | None = None,
    ) -> None:
        super().__init__(code, message, hint, source, span)
        self.exception = exception


def raised(kind: str | RubyClass | Constant, message: Any = None, issue: Issue = issues.RAISED) -> Raised:
    """Return the error of an exception of a class."""
    return of_exception(RubyError(Constant(kind) if isinstance(kind, str) else kind, message), issue)


def of_exception(exception: RubyError, issue: Issue = issues.RAISED) -> Raised:
    """Return the error that an exception becomes."""
    error = issue.error(message=str(exception.message))
    return Raised(error.code, error.message, error.hint, exception=exception)


def exception_of(error: PrecastError) -> RubyError | None:
    """Return the exception that a `rescue` sees; None if none may see the error."""
    if isinstance(error, Raised) and error.exception is not None:
        return error.exception
    if error.code in _NEVER_RESCUED:
        return None
    if error.code == issues.BAD_CALL.code and error.__cause__ is not None:
        cause = error.__cause__
        name = next((name for kind, name in _BY_TYPE if isinstance(cause, kind)), "StandardError")
        exception = RubyError(Constant(name), str(cause))
    else:
        exception = RubyError(Constant(_BY_CODE.get(error.code, "Puppet::Error")), error.message)
    exception.cause = error
    return exception


def descends(kind: RubyClass | Constant, wanted: Any) -> bool:
    """Return whether a class is another class or descends from it."""
    if isinstance(wanted, RubyClass):
        return isinstance(kind, RubyClass) and wanted in kind.ancestors()
    if isinstance(kind, RubyClass):
        root = kind.root()
        return root is not None and descends(root, wanted)
    name, target = ALIASES.get(kind.name, kind.name), ALIASES.get(wanted.name, wanted.name)
    while name != target:
        if name not in PARENTS:
            return False
        name = PARENTS[name]
    return True
