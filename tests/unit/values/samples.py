"""Classes that the tests of the codec store and rebuild, and one helper."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
from collections import namedtuple
from datetime import datetime
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import msgspec
import pydantic
import pydantic.dataclasses

from temporal_adapter.values import Codec, type_name

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Right(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
    RUN = enum.auto()


class Point(NamedTuple):
    x: int
    y: int = 0


Pair = namedtuple("Pair", ["left", "right"])


@dataclasses.dataclass
class Note:
    text: str
    tags: list[str] = dataclasses.field(default_factory=list)
    length: int = dataclasses.field(init=False)
    KIND: ClassVar[str] = "note"

    def __post_init__(self) -> None:
        self.length = len(self.text)


@dataclasses.dataclass
class SignedNote(Note):
    author: str = "nobody"


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any
    b: Any = None


@dataclasses.dataclass(slots=True)
class Slotted:
    a: Any
    b: Any = 1


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenSlotted:
    a: Any
    __secret: int = 3


@dataclasses.dataclass(kw_only=True)
class Measured:
    name: str
    unit: dataclasses.InitVar[str] = "m"
    text: str = dataclasses.field(init=False)

    def __post_init__(self, unit: str) -> None:
        self.text = f"{self.name} in {unit}"


@dataclasses.dataclass(slots=True)
class SlottedMore(Slotted):
    c: Any = 2


@dataclasses.dataclass
class Held(Generic[T]):
    content: T


@pydantic.dataclasses.dataclass
class Checked:
    a: int
    tags: list[str] = pydantic.Field(default_factory=list)


class Explodes(Exception):
    pass


@dataclasses.dataclass
class NeverInitialised:
    value: int

    def __post_init__(self) -> None:
        if self.value == 13:
            raise Explodes("the codec must not run this")


class Line(pydantic.BaseModel):
    name: str
    amount: float = 0.0
    when: datetime | None = None


class PricedLine(Line):
    price: int = 1


class Order(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    id: str
    lines: list[Line] = []
    colour: Colour = Colour.RED
    _seen: int = pydantic.PrivateAttr(default=0)
    _token: str = pydantic.PrivateAttr()

    @functools.cached_property
    def total(self) -> float:
        return sum(line.amount for line in self.lines)


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True)
    code: str

    @pydantic.field_validator("code")
    @classmethod
    def check(cls, code: str) -> str:
        if code == "forbidden":
            raise ValueError("the codec must not validate")
        return code


class Box(pydantic.BaseModel, Generic[T]):
    content: T


class Names(pydantic.RootModel[list[str]]):
    pass


class Contact(pydantic.BaseModel):
    site: pydantic.HttpUrl
    secret: pydantic.SecretStr


class Aliased(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(populate_by_name=True)
    name: str = pydantic.Field(alias="theName")
    hidden: str = pydantic.Field(default="", exclude=True)
    address: pydantic.IPvAnyAddress | None = None
    __mangled: Any = pydantic.PrivateAttr(default=4)
    _made: list[Any] = pydantic.PrivateAttr(default_factory=list)

    @pydantic.computed_field
    @property
    def shouted(self) -> str:
        return self.name.upper()

    def keep(self, value: Any) -> Aliased:
        self.__mangled = value
        self._made.append(value)
        return self


class Word(str, enum.Enum):
    YES = "yes"
    AYE = "yes"  # noqa: PIE796 - an alias
    NO = "no"


class Bits(enum.IntFlag):
    A = 1
    B = 2


class Odd(enum.Enum):
    THING = object()
    PAIR = (1, 2)


class Struct(msgspec.Struct, frozen=True):
    a: Any
    b: list[Any] = []


class KeywordStruct(msgspec.Struct, kw_only=True):
    a: int = 1
    b: str


class Refused(Exception):
    def __init__(self, code: int, *, reason: str) -> None:
        super().__init__(f"refused with {code}")
        self.code = code
        self.reason = reason


class Plain:
    def __init__(self, a: Any) -> None:
        self.a = a

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)


class SlotsAndDict(Plain):
    __slots__ = ("__hidden", "b")

    def __init__(self, a: Any, b: Any) -> None:
        super().__init__(a)
        self.b = b
        self.__hidden = b

    @property
    def hidden(self) -> Any:
        return self.__hidden


class OwnState(Plain):
    def __init__(self, a: Any) -> None:
        super().__init__(a)
        self.client = object()

    def __getstate__(self) -> Any:
        return [self.a]

    def __setstate__(self, state: Any) -> None:
        (self.a,) = state
        self.client = None

    def __eq__(self, other: object) -> bool:
        return type(other) is OwnState and other.a == self.a


class Basket(list[Any]):
    owner: str = ""


class Index(dict[str, Any]):
    pass


class Tag(str):
    pass


class Reduced:
    """Has a reduction that only pickle can follow."""

    def __init__(self, a: Any) -> None:
        self.a = a

    def __reduce__(self) -> Any:
        return Reduced, (self.a,)

    def __eq__(self, other: object) -> bool:
        return type(other) is Reduced and other.a == self.a

    def __hash__(self) -> int:
        return hash(self.a)


class Unknown:
    """Declared by nobody."""


TYPES: dict[str, type] = {
    type_name(cls): cls
    for cls in (
        *(Colour, Level, Right, Point, Pair, Note, Frozen, Slotted, FrozenSlotted, NeverInitialised, Line, Order),
        *(Strict, Box, Names, Contact, pydantic.HttpUrl, pydantic.SecretStr, Struct, KeywordStruct, Refused, Plain),
        *(Basket, Index, Tag, Reduced, Explodes, Measured, SlottedMore, Held, Checked, Aliased, Word, Bits, Odd),
    )
}


def through_json(codec: Codec, obj: Any, *, reader: Codec | None = None) -> Any:
    """Encode, print as JSON, parse, decode."""
    return (reader or codec).decode(json.loads(json.dumps(codec.encode(obj), ensure_ascii=True, allow_nan=False)))
