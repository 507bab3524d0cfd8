"""Python objects as readable tagged JSON, and back: the one owner of the form of values.

What must never be here: Temporal, I/O, and any decision about a run.

# The form

Read for ever: a kind, once written by a release, is read by all later ones. `None`, `bool`, `int`, finite `float`,
`str`, `list`, and a `dict` whose keys are all `str` and none of them `$`, stand for themselves. This holds for exact
types; their subclasses, and everything else, are an object whose `$` names the kind. In the list below `json` is
tagged JSON, `type` a type expression (see `typenames`), and `?` marks a key that may be missing:

    int          value: "0x..."                   more than 2,000 bits, which JSON libraries do not print
    float        value: "nan" | "inf" | "-inf"
    str          value                            with lone surrogates, in the escapes of Python source
    complex      real, imag: json
    decimal, uuid, date, zoneinfo                 value: text
    fraction     numerator, denominator: json
    bytes, bytearray                              value: base64
    datetime, time                                value: ISO 8601, zone?: json, fold?: 1
    timedelta    value: ISO 8601 in seconds, "PT5400S"
    timezone     value: like timedelta, name?: json
    path         flavour: "PosixPath" ..., value: json
    ip           flavour: "IPv4Address" ..., value: text
    ellipsis
    range, slice                                  start, stop, step: json
    tuple, set, frozenset                         items: [json, ...]     sets in the order of their JSON
    deque        items, maxlen?
    dict, ordereddict, counter, mappingproxy      items: [[json, json], ...]
    defaultdict  factory: json, items
    type         value: type
    enum         type, name, value?               value is for people; a combination of flags has it alone
    dataclass    type, fields, absent?, attributes?
    model        type, fields, absent?, attributes?, extra?, private?, unset?     Pydantic
    struct       type, fields                     msgspec
    namedtuple   type, fields, attributes?
    exception    type, args: [json, ...], attributes?, cause?, context?: json
    object       type, fields?, state?, new?, items?, entries?
    pickle       type, data: base64

`fields`, `extra`, `private` and `attributes` are JSON objects of name to json. `absent` names fields that the
instance did not have, `unset` those not in Pydantic's `model_fields_set`. Of an object, `state` is what its
`__getstate__` returned for a `__setstate__` of its own, `new` the arguments of `__new__` (for a subclass of `str`),
`items` and `entries` what it holds as a `list` or `dict`. Of MAF's `Content`, attributes that are None are left out.
Of an exception, the cause is stored, or without one the context, if it can be; the traceback never is.

What an object shares with another, or holds twice, is stored as often. Nesting is limited (`MAX_DEPTH`), cycles
are refused. The order of a `dict` is that of the JSON object, so keep it when printing.

# Change of classes

A field that JSON lacks takes its default; without one that is an error that says so. A field that the class no
longer has is dropped without being looked at. A renamed enum member is found by value, if that is a scalar of JSON;
one that is gone is an error that says so. Of an `object`, nothing is known about its attributes: one that its class
has added since is missing, so give it a value in the class body. A renamed class is read if
its old name is mapped to it. What was a dataclass may have become a Pydantic model, and so on.

# Trust

A class is stored, and built, only if it is

- declared by the graph (`declared_types`), or derives from a class that is (save for bases that say nothing, such as
  `object`, `Enum` or `BaseModel`);
- registered: given to the codec, or by `agent_framework.register_checkpoint_type`;
- MAF's own, or one of the OpenAI SDK's types, as in MAF;
- one of the standard types above, or an exception of the standard library.

Names lead to declared and registered classes first, then to what is loaded. A module is imported for a name only if
its top-level package is MAF's or that of a declared or registered class. No `__init__` runs (msgspec excepted), no
attribute is looked up by a name from JSON. A pickle is followed only for a class that has a `__reduce__` of its own,
so none is where no such class is declared or registered; it reaches only trusted classes, calls none of MAF's, and
changes no class. A dict of a user's that looks like a kind, or like a marker of MAF's, is a dict.
"""

from .codec import Codec, client_codec, graph_codec
from .coerce import coerce_json, coerce_response, expression_text
from .declared import declared_types
from .errors import CoercionError, DecodeError, EncodeError
from .json_schemas import response_schema
from .plain_json import to_plain_json
from .typenames import type_name
from .walk import MAX_DEPTH

__all__ = [
    "MAX_DEPTH",
    "Codec",
    "CoercionError",
    "DecodeError",
    "EncodeError",
    "client_codec",
    "coerce_json",
    "coerce_response",
    "declared_types",
    "expression_text",
    "graph_codec",
    "response_schema",
    "to_plain_json",
    "type_name",
]
