"""User documentation of each data type: its parameters, its instances, and the arguments of its `new`.

It is kept beside the types, and a test checks that it is complete, because hints refer to it.
"""

from typing import Final, NamedTuple


class Documentation(NamedTuple):
    """One data type. `forms` are its notations, `new` the arguments of `T.new` or `T(…)`; empty if it has no `new`."""

    summary: str
    forms: tuple[str, ...]
    new: tuple[str, ...] = ()


_RANGE: Final = "`default` means no bound"

DOCUMENTATION: Final[dict[str, Documentation]] = {
    "Any": Documentation("Every value, including undef.", ("Any",)),
    "Array": Documentation(
        "An Array of one element type and a size.",
        ("Array", "Array[TYPE]", "Array[TYPE, MIN, MAX]", "Array[MIN, MAX]"),
        ("Array(ITERABLE)", "Array(VALUE, true): the value itself, wrapped in an Array unless it is one"),
    ),
    "Binary": Documentation(
        "Bytes; as text they are base64.",
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
        "A callable: its parameters, its block last, and in the second form its result.",
        ("Callable", "Callable[TYPE, …, MIN, MAX, CALLABLE]", "Callable[[TYPE, …], TYPE]"),
    ),
    "CatalogEntry": Documentation("Resources and classes, as types.", ("CatalogEntry",)),
    "Class": Documentation("A class, by its name.", ("Class", "Class[NAME]", "Class[NAME, …]: an Array of references")),
    "Collection": Documentation("An Array or a Hash of a size.", ("Collection", "Collection[MIN, MAX]")),
    "Data": Documentation(
        "Values that JSON can represent: ScalarData, undef, Array[Data], Hash[String, Data].", ("Data",)
    ),
    "Default": Documentation("The value of the word default.", ("Default",)),
    "Deferred": Documentation(
        "A call that is made on the node, just before the resource that needs it.",
        ("Deferred",),
        ("Deferred(NAME, [ARGUMENT, …])", "Deferred('$variable', [KEY, …])"),
    ),
    "Enum": Documentation(
        "One of several strings; with true at the end, in any case.",
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
        ("Float(VALUE, ABS): numbers, Booleans, timestamps, timespans, and numeric strings",),
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
        "The values from which a type can be made, and further arguments of its `new`.",
        ("Init", "Init[TYPE]", "Init[TYPE, ARGUMENT, …]"),
        ("Init[TYPE](VALUE): TYPE.new(VALUE, ARGUMENT, …)",),
    ),
    "Integer": Documentation(
        f"An Integer in a range; {_RANGE}. A range with both sides can be iterated.",
        ("Integer", "Integer[MIN, MAX]"),
        (
            "Integer(VALUE, RADIX, ABS): numbers, Booleans, timestamps, timespans, and strings; the radix is 2, 8, 10, 16 or default",
        ),
    ),
    "Iterable": Documentation(
        "Values that can be iterated, by the type of the values they yield.", ("Iterable", "Iterable[TYPE]")
    ),
    "Iterator": Documentation("Lazy sequences, as step and reverse_each return them.", ("Iterator", "Iterator[TYPE]")),
    "NotUndef": Documentation("A type without undef.", ("NotUndef", "NotUndef[TYPE]")),
    "Numeric": Documentation(
        "Integer and Float.", ("Numeric",), ("Numeric(VALUE, ABS): an Integer or a Float, depending on the value",)
    ),
    "Object": Documentation(
        "Objects with attributes. A definition names the type: type Point = Object[{attributes => {x => Integer}}].",
        ("Object", "Object[{attributes, constants, functions, parent, type_parameters, equality, …}]"),
        ("NAME(VALUE, …): the attributes in order", "NAME({ATTRIBUTE => VALUE, …})"),
    ),
    "Optional": Documentation(
        "undef or a type; a string means that string.", ("Optional", "Optional[TYPE]", "Optional[STRING]")
    ),
    "Pattern": Documentation(
        "A string that matches one of several regular expressions.", ("Pattern", "Pattern[REGEXP, …]")
    ),
    "Puppet::LookupContext": Documentation(
        "The context of a Hiera data function: not_found, interpolate, cache, explain and others.",
        ("Puppet::LookupContext",),
    ),
    "Puppet::LookupKey": Documentation("A key of Hiera data: a string or a number.", ("Puppet::LookupKey",)),
    "Puppet::LookupValue": Documentation("A value of Hiera data: RichData.", ("Puppet::LookupValue",)),
    "Regexp": Documentation(
        "A regular expression, or exactly one.",
        ("Regexp", "Regexp[REGEXP]"),
        ("Regexp(STRING, ESCAPE): with true, all special characters are escaped",),
    ),
    "Resource": Documentation(
        "A resource type or a resource; File['/tmp'] is short for Resource['file', '/tmp'].",
        ("Resource", "Resource[TYPE]", "Resource[TYPE, TITLE, …]", "File[TITLE, …]"),
    ),
    "RichData": Documentation("Data, and every other value except iterators and functions.", ("RichData",)),
    "RichDataKey": Documentation("The keys of hashes in RichData: strings and numbers.", ("RichDataKey",)),
    "Runtime": Documentation(
        "A Ruby class, by name. Only signatures use it; no value is an instance.", ("Runtime", "Runtime[ruby, NAME]")
    ),
    "Scalar": Documentation(
        "Values that contain no others: ScalarData, Regexp, timestamps, timespans, versions.", ("Scalar",)
    ),
    "ScalarData": Documentation("Integer, Float, String and Boolean.", ("ScalarData",)),
    "SemVer": Documentation(
        "A semantic version inside one of several ranges.",
        ("SemVer", "SemVer[RANGE, …]"),
        ("SemVer('1.2.3-rc1+b5')", "SemVer(MAJOR, MINOR, PATCH, PRERELEASE, BUILD)"),
    ),
    "SemVerRange": Documentation(
        "A range of versions: '>=1.0.0 <2.0.0', '1.x', '~1.2.3', '^1.2.3', '1.0.0 - 2.0.0', combined with ||.",
        ("SemVerRange",),
        ("SemVerRange(STRING)", "SemVerRange(MIN, MAX, EXCLUDE_MAX)"),
    ),
    "Sensitive": Documentation(
        "A value that is never printed.",
        ("Sensitive", "Sensitive[TYPE]"),
        ("Sensitive(VALUE); unwrap returns the value",),
    ),
    "String": Documentation(
        "A String of a size.",
        ("String", "String[MIN, MAX]"),
        (
            "String(VALUE, FORMAT): '%d %x %o %b %e %f %g %s %p …' with flags, width and precision, depending on the value's type",
            "String(VALUE, {TYPE => FORMAT, Array => {format => '%(a', separator => ';', string_formats => {…}}})",
        ),
    ),
    "Struct": Documentation(
        "A Hash with known keys; a key in Optional[…] may be missing.",
        ("Struct", "Struct[{KEY => TYPE, Optional[KEY] => TYPE, …}]"),
        ("as for Hash",),
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
        f"A point in time in a range; {_RANGE}.",
        ("Timestamp", "Timestamp[MIN, MAX]"),
        (
            "Timestamp(): the time of deployment of the version",
            "Timestamp(SECONDS)",
            "Timestamp(STRING, FORMATS, ZONE)",
        ),
    ),
    "Tuple": Documentation(
        "An Array with a type for each position; the last repeats if the size allows more elements.",
        ("Tuple", "Tuple[TYPE, …]", "Tuple[TYPE, …, MIN, MAX]"),
        ("as for Array",),
    ),
    "Type": Documentation(
        "A type that another type accepts.", ("Type", "Type[TYPE]"), ("Type(STRING): parses the text of a type",)
    ),
    "TypeAlias": Documentation("A name for a type: type Port = Integer[1, 65535].", ("type NAME = TYPE",)),
    "TypeSet": Documentation(
        "A named set of types: type NAME = TypeSet[{…}]; a member is NAME::MEMBER.", ("TypeSet", "TypeSet[{…}]")
    ),
    "Undef": Documentation("undef.", ("Undef",)),
    "URI": Documentation(
        "A URI, optionally with given parts.",
        ("URI", "URI[STRING]", "URI[{scheme, userinfo, host, port, path, query, fragment, opaque}]"),
        ("URI(STRING)", "URI({scheme => …, host => …})"),
    ),
    "Variant": Documentation("One of several types.", ("Variant[TYPE, …]",)),
}


def find(name: str) -> tuple[str, Documentation] | None:
    """The documentation of a data type; the case of the name does not matter."""
    return next(((known, text) for known, text in DOCUMENTATION.items() if known.lower() == name.lower()), None)
