"""A pickle read as what it is, a program for a stack machine, without ever running one.

Opcodes come one by one from the standard library's disassembler. Those that build plain values build the values of
:mod:`qcore.formats.pt_values`; a name is looked up in the closed list there and never imported; whatever else a pickle
can do is refused. Values are kept as pairs and lists: nothing of the file is hashed, compared or called.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from qcore import errors
from qcore.formats.faults import malformed
from qcore.formats.pt_values import CALLS, OPAQUE, Broken, Name, Opaque, Table, known, shown, storage_of

if TYPE_CHECKING:
    from qcore.formats.limits import Limits

__all__ = ["run"]

_FOR_EACH_BYTE = 16  # the memory that opening may take, for each byte of a header
# what an opcode costs in memory, about: a container, a place in the memo, a value on the stack
_CONTAINER, _MEMO, _VALUE = 120, 110, 40
_PUSHED = (
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
)
_CONSTANTS = MappingProxyType({"NONE": None, "NEWTRUE": True, "NEWFALSE": False})
_COSTS: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("EMPTY_LIST", "EMPTY_DICT", "EMPTY_SET", "MARK"), _CONTAINER),
        **dict.fromkeys(("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "LIST", "DICT", "FROZENSET"), _CONTAINER),
        **dict.fromkeys(("REDUCE", "NEWOBJ", "BINPERSID", "SETITEM", "SETITEMS"), _CONTAINER),
        **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), _MEMO),
        **dict.fromkeys(_PUSHED, _VALUE),
    }
)


def run(pickle: bytes, path: str, where: str, limits: Limits) -> Any:
    """Build what a pickle describes.

    Parameters
    ----------
    pickle
        The whole pickle.
    path, where
        The file and the place in it, for messages.
    limits
        The memory that a pickle may take beyond 16 times its length.

    Returns
    -------
    None, numbers, texts, bytes, lists, tuples and the values of :mod:`qcore.formats.pt_values`.
    """
    return _Machine(path, where).run(pickle, limits)


class _Machine:
    def __init__(self, path: str, where: str) -> None:
        self._path, self._where = path, where
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._does: dict[str, Callable[[Any], None]] = {
            **dict.fromkeys(_PUSHED, self._stack.append),
            **{word: self._constant(value) for word, value in _CONSTANTS.items()},
            **{f"TUPLE{n}": self._short_tuple(n) for n in (1, 2, 3)},
            **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), self._get),
            **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), self._put),
            "MEMOIZE": lambda _: self._put(len(self._memo)),
            "PROTO": lambda _: None,
            "FRAME": lambda _: None,
            "MARK": lambda _: self._marks.append(len(self._stack)),
            "POP": self._drop,
            "POP_MARK": self._drop_to_mark,
            "DUP": lambda _: self._stack.append(self._top()),
            "EMPTY_LIST": lambda _: self._stack.append([]),
            "EMPTY_TUPLE": lambda _: self._stack.append(()),
            "EMPTY_DICT": lambda _: self._stack.append(Table()),
            "EMPTY_SET": lambda _: self._stack.append(OPAQUE),
            "LIST": lambda _: self._stack.append(self._since_mark()),
            "TUPLE": lambda _: self._stack.append(tuple(self._since_mark())),
            "DICT": lambda _: self._stack.append(Table(self._paired(self._since_mark()))),
            "FROZENSET": self._frozen_set,
            "APPEND": lambda _: self._extend([self._pop()]),
            "APPENDS": lambda _: self._extend(self._since_mark()),
            "ADDITEMS": lambda _: self._add(self._since_mark()),
            "SETITEM": lambda _: self._set([self._pop(), self._pop()][::-1]),
            "SETITEMS": lambda _: self._set(self._since_mark()),
            "GLOBAL": lambda arg: self._name(*arg.split(" ", 1)),
            "STACK_GLOBAL": self._stacked_name,
            "REDUCE": self._call,
            "NEWOBJ": self._call,
            "BUILD": self._build,
            "BINPERSID": lambda _: self._stack.append(storage_of(self._pop())),
        }

    def run(self, pickle: bytes, limits: Limits) -> Any:
        allowed = _FOR_EACH_BYTE * len(pickle) + limits["pt-memory"]
        spent, word, at = 0, "", 0
        try:
            for opcode, arg, place in pickletools.genops(pickle):
                word, at = opcode.name, place or 0
                spent += _COSTS.get(word, _VALUE // 4)
                if spent > allowed:
                    over = spent - _FOR_EACH_BYTE * len(pickle)
                    limits.hold("pt-memory", over, path=self._path)
                if word == "STOP":
                    return self._end(pickle, at)
                does = self._does.get(word)
                if does is None:
                    raise self._refused(f"the instruction {word}")
                does(arg)
        except Broken as broken:
            raise self._fault(at, broken.rule, broken.found, broken.allowed) from None
        except ValueError as problem:
            if isinstance(problem, errors.QuantError):
                raise
            raise self._fault(at, "the pickle", problem, "complete and well formed") from None
        raise self._fault(at, "the pickle", "without an end", "complete")

    def _end(self, pickle: bytes, at: int) -> Any:
        if at + 1 != len(pickle):
            after = f"{len(pickle) - at - 1} bytes after its last instruction"
            raise Broken.plainly("the end of the pickle", after, "none")
        if len(self._stack) != 1 or self._marks:
            raise Broken.plainly("what the pickle leaves", f"{len(self._stack)} values", "one value")
        return self._stack[0]

    def _fault(self, at: int, rule: str, found: object, allowed: str) -> errors.QuantError:
        return malformed(self._path, f"{self._where}, byte {at}", rule, found, allowed)

    def _refused(self, found: str) -> errors.QuantError:
        return errors.build("file-pickle-refused", variant="asks-for-more", path=self._path, found=found)

    def _floor(self) -> int:
        return self._marks[-1] if self._marks else 0

    def _top(self) -> Any:
        if len(self._stack) <= self._floor():
            raise Broken.plainly("the stack", "empty", "a value")
        return self._stack[-1]

    def _pop(self) -> Any:
        value = self._top()
        self._stack.pop()
        return value

    def _drop(self, _: Any) -> None:
        if self._marks and len(self._stack) == self._marks[-1]:
            self._marks.pop()  # as Python's own machine: POP takes a mark that lies on top
        else:
            self._pop()

    def _since_mark(self) -> list[Any]:
        if not self._marks:
            raise Broken.plainly("the stack", "without a mark", "one")
        at = self._marks.pop()
        values = self._stack[at:]
        del self._stack[at:]
        return values

    def _drop_to_mark(self, _: Any) -> None:
        self._since_mark()

    def _frozen_set(self, _: Any) -> None:
        self._since_mark()
        self._stack.append(OPAQUE)

    def _constant(self, value: Any) -> Callable[[Any], None]:
        return lambda _: self._stack.append(value)

    def _short_tuple(self, count: int) -> Callable[[Any], None]:
        def make(_: Any) -> None:
            values = [self._pop() for _ in range(count)]
            self._stack.append(tuple(reversed(values)))

        return make

    def _get(self, number: Any) -> None:
        if number not in self._memo:
            raise Broken("a number of the memo", number, "one that was stored")
        self._stack.append(self._memo[number])

    def _put(self, number: Any) -> None:
        self._memo[number] = self._top()

    def _paired(self, values: list[Any]) -> list[tuple[Any, Any]]:
        if len(values) % 2:
            raise Broken.plainly("the items of a table", f"{len(values)} values", "keys and values in turn")
        return list(zip(values[::2], values[1::2], strict=True))

    def _extend(self, values: list[Any]) -> None:
        target = self._top()
        if not isinstance(target, list):
            raise Broken("what is appended to", target, "a list")
        target.extend(values)

    def _add(self, values: list[Any]) -> None:
        if not isinstance(self._top(), Opaque):
            raise Broken("what is added to", self._top(), "a set")

    def _set(self, values: list[Any]) -> None:
        pairs, target = self._paired(values), self._top()
        if not isinstance(target, Table):
            raise Broken("where items are set", target, "a table")
        target.pairs.extend(pairs)

    def _name(self, module: str, word: str = "") -> None:
        name = Name(module, word)
        if not known(name):
            raise self._refused(f"the name {shown(str(name))}")
        self._stack.append(name)

    def _stacked_name(self, _: Any) -> None:
        word, module = self._pop(), self._pop()
        if not isinstance(word, str) or not isinstance(module, str):
            raise Broken("a name", (word if isinstance(module, str) else module), "two texts")
        self._name(module, word)

    def _call(self, _: Any) -> None:
        args, name = self._pop(), self._pop()
        if not isinstance(name, Name) or str(name) not in CALLS:
            raise self._refused(f"a call of {shown(name)}")
        if not isinstance(args, tuple):
            raise Broken("the arguments of a call", args, "a tuple")
        self._stack.append(CALLS[str(name)](args))

    def _build(self, _: Any) -> None:
        """Attributes of a table are what PyTorch notes of versions; those of what is left out are left out."""
        self._pop()
        if not isinstance(self._top(), (Table, Opaque)):
            raise Broken("what attributes are given to", self._top(), "a table")
