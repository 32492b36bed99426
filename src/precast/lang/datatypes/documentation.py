"""What each data type is, for people: its parameters, its instances, and what its `new` takes.

Kept beside the types and held complete by a test, since hints send people here.
"""

from typing import Final, NamedTuple


class Documentation(NamedTuple):
    """One data type. `forms` are its ways of being written, `new` what `T.new` or `T(…)` takes; empty if it has none."""

    summary: str
    forms: tuple[str, ...]
    new: tuple[str, ...] = ()


_RANGE: Final = "`default` leaves a side open"

DOCUMENTATION: Final[dict[str, Documentation]] = {
    "Any": Documentation("Every value, undef included.", ("Any",)),
    "Array": Documentation(
        "An Array of one element type and a size.",
        ("Array", "Array[TYPE]", "Array[TYPE, MIN, MAX]", "Array[MIN, MAX]"),
        ("Array(ITERABLE)", "Array(VALUE, true): the value itself, in an Array unless it is one"),
    ),
    "Binary": Documentation(
        "Bytes; their text is base64.",
        ("Binary",),
        (
            "Binary(STRING, '%B'): strict base64; '%b' relaxed, '%u' for URLs, '%s' and '%r' the text itself",
            "Binary([BYTE, …])",
        ),
    ),
    "Boolean": Documentation(
        "true and false, or one of them.",
        ("Boolean", "Boolean[true]", "Boolean[false]"),
        ("Boolean(VALUE): numbers (0 is false), and the words true, yes, y, false, no, n",),
    ),
    "Callable": Documentation(
        "What can be called: parameters, a block last, and in the second form what it gives.",
        ("Callable", "Callable[TYPE, …, MIN, MAX, CALLABLE]", "Callable[[TYPE, …], TYPE]"),
    ),
    "CatalogEntry": Documentation("Resources and classes, as types.", ("CatalogEntry",)),
    "Class": Documentation("A class, by its name.", ("Class", "Class[NAME]", "Class[NAME, …]: an Array of them")),
    "Collection": Documentation("An Array or a Hash of a size.", ("Collection", "Collection[MIN, MAX]")),
    "Data": Documentation("What JSON can say: ScalarData, undef, Array[Data], Hash[String, Data].", ("Data",)),
    "Default": Documentation("The value of the word default.", ("Default",)),
    "Deferred": Documentation(
        "A call that is made on the node, just before the resource that needs it.",
        ("Deferred",),
        ("Deferred(NAME, [ARGUMENT, …])", "Deferred('$variable', [KEY, …])"),
    ),
    "Enum": Documentation(
        "One of some strings; with true at the end whatever their case.",
        ("Enum", "Enum[STRING, …]", "Enum[STRING, …, true]"),
    ),
    "Error": Documentation(
        "An error as a value.",
        ("Error", "Error[KIND, ISSUE_CODE]"),
        ("Error(MSG, KIND, DETAILS, ISSUE_CODE)",),
    ),
    "Float": Documentation(
        f"A Float in a range; {_RANGE}.",
        ("Float", "Float[MIN, MAX]"),
        ("Float(VALUE, ABS): numbers, Booleans, moments, durations, and strings that hold a number",),
    ),
    "Hash": Documentation(
        "A Hash of one key type, one value type, and a size.",
        ("Hash", "Hash[KEY, VALUE]", "Hash[KEY, VALUE, MIN, MAX]", "Hash[MIN, MAX]"),
        (
            "Hash([[KEY, VALUE], …])",
            "Hash([KEY, VALUE, KEY, VALUE, …])",
            "Hash([[PATH, VALUE], …], 'tree'): nested by paths; 'hash_tree' makes hashes of arrays too",
        ),
    ),
    "Init": Documentation(
        "The values from which a type can be made, with further arguments of its `new`.",
        ("Init", "Init[TYPE]", "Init[TYPE, ARGUMENT, …]"),
        ("Init[TYPE](VALUE): TYPE.new(VALUE, ARGUMENT, …)",),
    ),
    "Integer": Documentation(
        f"An Integer in a range; {_RANGE}. A range with both sides can be iterated.",
        ("Integer", "Integer[MIN, MAX]"),
        (
            "Integer(VALUE, RADIX, ABS): numbers, Booleans, moments, durations, and strings; the radix is 2, 8, 10, 16 or default",
        ),
    ),
    "Iterable": Documentation("What can be iterated, by what it yields.", ("Iterable", "Iterable[TYPE]")),
    "Iterator": Documentation("What step and reverse_each give.", ("Iterator", "Iterator[TYPE]")),
    "NotUndef": Documentation("A type without undef.", ("NotUndef", "NotUndef[TYPE]")),
    "Numeric": Documentation(
        "Integer and Float.", ("Numeric",), ("Numeric(VALUE, ABS): an Integer or a Float, as the value has it",)
    ),
    "Object": Documentation(
        "Objects with attributes. A definition gives the type its name: type Point = Object[{attributes => {x => Integer}}].",
        ("Object", "Object[{attributes, constants, functions, parent, type_parameters, equality, …}]"),
        ("NAME(VALUE, …): the attributes in order", "NAME({ATTRIBUTE => VALUE, …})"),
    ),
    "Optional": Documentation(
        "undef or a type; a string stands for itself.", ("Optional", "Optional[TYPE]", "Optional[STRING]")
    ),
    "Pattern": Documentation(
        "A string that matches one of some regular expressions.", ("Pattern", "Pattern[REGEXP, …]")
    ),
    "Puppet::LookupContext": Documentation(
        "What a function that gives data for Hiera is called with: not_found, interpolate, cache, explain and their kin.",
        ("Puppet::LookupContext",),
    ),
    "Puppet::LookupKey": Documentation("A key of data: a string or a number.", ("Puppet::LookupKey",)),
    "Puppet::LookupValue": Documentation("A value of data: RichData.", ("Puppet::LookupValue",)),
    "Regexp": Documentation(
        "A regular expression, or exactly one.",
        ("Regexp", "Regexp[REGEXP]"),
        ("Regexp(STRING, ESCAPE): with true every character stands for itself",),
    ),
    "Resource": Documentation(
        "A resource type or a resource; File['/tmp'] is short for Resource['file', '/tmp'].",
        ("Resource", "Resource[TYPE]", "Resource[TYPE, TITLE, …]", "File[TITLE, …]"),
    ),
    "RichData": Documentation("Data, and every other value but iterators and functions.", ("RichData",)),
    "RichDataKey": Documentation("The keys of hashes in RichData: strings and numbers.", ("RichDataKey",)),
    "Runtime": Documentation(
        "Something of Ruby, by name. Signatures mention it; no value is one.", ("Runtime", "Runtime[ruby, NAME]")
    ),
    "Scalar": Documentation(
        "Values that hold no others: ScalarData, Regexp, moments, durations, versions.", ("Scalar",)
    ),
    "ScalarData": Documentation("Integer, Float, String and Boolean.", ("ScalarData",)),
    "SemVer": Documentation(
        "A semantic version inside one of some ranges.",
        ("SemVer", "SemVer[RANGE, …]"),
        ("SemVer('1.2.3-rc1+b5')", "SemVer(MAJOR, MINOR, PATCH, PRERELEASE, BUILD)"),
    ),
    "SemVerRange": Documentation(
        "A range of versions: '>=1.0.0 <2.0.0', '1.x', '~1.2.3', '^1.2.3', '1.0.0 - 2.0.0', and || between.",
        ("SemVerRange",),
        ("SemVerRange(STRING)", "SemVerRange(MIN, MAX, EXCLUDE_MAX)"),
    ),
    "Sensitive": Documentation(
        "A value that is never printed.", ("Sensitive", "Sensitive[TYPE]"), ("Sensitive(VALUE); unwrap gives it back",)
    ),
    "String": Documentation(
        "A String of a size.",
        ("String", "String[MIN, MAX]"),
        (
            "String(VALUE, FORMAT): '%d %x %o %b %e %f %g %s %p …' with flags, width and precision, as the value's type allows",
            "String(VALUE, {TYPE => FORMAT, Array => {format => '%(a', separator => ';', string_formats => {…}}})",
        ),
    ),
    "Struct": Documentation(
        "A Hash with known keys; Optional around a key lets it be missing.",
        ("Struct", "Struct[{KEY => TYPE, Optional[KEY] => TYPE, …}]"),
        ("as of Hash",),
    ),
    "Timespan": Documentation(
        f"A duration in a range; {_RANGE}.",
        ("Timespan", "Timespan[MIN, MAX]"),
        (
            "Timespan(SECONDS)",
            "Timespan(STRING, FORMATS)",
            "Timespan(DAYS, HOURS, MINUTES, SECONDS, …)",
            "Timespan({days => 1, …})",
        ),
    ),
    "Timestamp": Documentation(
        f"A moment in a range; {_RANGE}.",
        ("Timestamp", "Timestamp[MIN, MAX]"),
        ("Timestamp(): the moment the version was deployed", "Timestamp(SECONDS)", "Timestamp(STRING, FORMATS, ZONE)"),
    ),
    "Tuple": Documentation(
        "An Array with a type for each place; the last repeats where the size allows more.",
        ("Tuple", "Tuple[TYPE, …]", "Tuple[TYPE, …, MIN, MAX]"),
        ("as of Array",),
    ),
    "Type": Documentation(
        "A type that fits into another.", ("Type", "Type[TYPE]"), ("Type(STRING): the type a text states",)
    ),
    "TypeAlias": Documentation("A name for a type: type Port = Integer[1, 65535].", ("type NAME = TYPE",)),
    "TypeSet": Documentation(
        "A named set of types: type NAME = TypeSet[{…}]; a member is NAME::MEMBER.", ("TypeSet", "TypeSet[{…}]")
    ),
    "Undef": Documentation("undef.", ("Undef",)),
    "URI": Documentation(
        "A URI whose parts match.",
        ("URI", "URI[STRING]", "URI[{scheme, userinfo, host, port, path, query, fragment, opaque}]"),
        ("URI(STRING)", "URI({scheme => …, host => …})"),
    ),
    "Variant": Documentation("One of several types.", ("Variant[TYPE, …]",)),
}


def find(name: str) -> tuple[str, Documentation] | None:
    """The documentation of a data type, whatever the case of the name."""
    return next(((known, each) for known, each in DOCUMENTATION.items() if known.lower() == name.lower()), None)
