"""Whatever the pickle of an archive says, it ends in tensors or in a documented error, and nothing of it ever runs."""

import pickle
import sys
import tracemalloc
from typing import ClassVar

import pt_bytes as pt
import pytest

import qcore

W = pt.table(w=pt.tensor())
V3 = "torch._utils _rebuild_tensor_v3"


def of(body, members=(("data/0", bytes(24)),)):
    """An archive whose pickle is one value."""
    return lambda path: pt.archive(path, pt.whole(body), members)


def shaped(**changes):
    return of(pt.table(w=pt.tensor(**changes)))


def parameter(inner):
    return pt.table(w=pt.name("torch._utils _rebuild_parameter") + pt.group(inner, b"\x88") + b"R")


def typed(kind, how=pt.REBUILD, args=None):
    inner = pt.group(pt.storage(), *(pt.plain(p) for p in (0, (2, 3), (3, 1), False))) if args is None else args
    call = pt.name("torch._tensor _rebuild_from_type_v2") + pt.group(pt.name(how), pt.name(kind), inner, b"}")
    return pt.table(w=call + b"R")


BROKEN = {
    # the archive
    "two pickles": (lambda p: pt.archive(p, pt.whole(W), [("data/0", bytes(24))]) and more(p), "NAME/data.pkl is 2"),
    "a byte order of its own": (of(W, [("data/0", bytes(24)), ("byteorder", b"middle")]), "little or big"),
    "a byte order without end": (of(W, [("data/0", bytes(24)), ("byteorder", b"little" * 9)]), "the length is 54"),
    # the pickle
    "no instruction": (lambda p: pt.archive(p, b""), "the pickle is"),
    "no end": (lambda p: pt.archive(p, b"\x80\x02" + W), "the pickle is pickle exhausted"),
    "bytes after the end": (lambda p: pt.archive(p, pt.whole(W) + b"x"), "the end of the pickle is 1 bytes"),
    "an unknown instruction": (of(b"\xff"), "the pickle is"),
    "a text cut short": (of(b"X\xff\xff\xff\x7fab"), "the pickle is"),
    "nothing left": (lambda p: pt.archive(p, b"\x80\x02."), "what the pickle leaves is 0 values"),
    "two values left": (of(b"NN"), "what the pickle leaves is 2 values"),
    "an open mark": (of(b"N("), "what the pickle leaves"),
    "an empty stack": (of(b"a"), "the stack is empty"),
    "a value taken across a mark": (of(b"N(\x85"), "the stack is empty"),
    "no mark": (of(b"t"), "the stack is without a mark"),
    "a number that was not stored": (of(b"h\x07"), "a number of the memo is 7"),
    "a key without a value": (of(b"}(Nu"), "keys and values in turn"),
    "items of a list": (of(b"](NNu"), "where items are set is a list"),
    "items after a number": (of(b"K\x01(NNu"), "where items are set is 1"),
    "an append to a table": (of(b"}Na"), "what is appended to is a table"),
    "an addition to a table": (of(b"}(N\x90"), "what is added to is a table"),
    "attributes of a number": (of(b"K\x01}b"), "what attributes are given to is 1"),
    "attributes of a tensor": (of(pt.tensor() + b"}b"), "what attributes are given to is a tensorview"),
    "a name of numbers": (of(b"K\x01K\x02\x93"), "a name is 1"),
    "arguments that are none": (of(pt.name("collections OrderedDict") + b"NR"), "the arguments of a call is None"),
    "an item that is no pair": (of(pt.name("collections OrderedDict") + b"]Na\x85R"), "an item of a table is None"),
    # what it speaks of
    "a reference of another kind": (of(pt.storage(tag="module")), "a reference outside the pickle"),
    "a reference that is a text": (of(pt.plain("0") + b"Q"), "a reference outside the pickle is '0'"),
    "a storage of no type": (of(pt.storage(kind="torch Tensor")), "the type of a storage is torch.Tensor"),
    "a storage by number": (of(pt.storage(key=0)), "the member of a storage is 0"),
    "a storage of negative length": (of(pt.storage(count=-1)), "the length of a storage is -1"),
    "a storage of endless length": (of(pt.storage(count=1 << 200)), "a number of 201 bits"),
    "a truth for a length": (of(pt.storage(count=True)), "the length of a storage is True"),
    "a tensor of a number": (shaped(held=pt.plain(1)), "the storage of a tensor is 1"),
    "a tensor of nothing": (of(pt.name(pt.REBUILD) + b")R"), "the storage of a tensor is None"),
    "an offset below zero": (shaped(offset=-1), "the offset of a tensor is -1"),
    "an offset of a half": (shaped(offset=0.5), "the offset of a tensor is 0.5"),
    "a shape below zero": (shaped(shape=(-2, 3)), "the shape of a tensor is -2"),
    "a shape that is a number": (shaped(shape=6), "the shape of a tensor is 6"),
    "a stride below zero": (shaped(strides=(3, -1)), "the strides of a tensor is -1"),
    "strides of another rank": (shaped(strides=(1,)), "the number of strides is 1"),
    "a dtype that is none": (shaped(rebuild=V3, tail=pt.plain("float32")), "the dtype of a tensor is 'float32'"),
    "a dtype that is a function": (shaped(rebuild=V3, tail=pt.name("torch Size")), "a tensor is torch.Size"),
    "a dtype that nothing holds": (shaped(rebuild=V3, tail=pt.name("torch complex32")), "no format here holds"),
    "a tensor of untyped bytes": (shaped(held=pt.storage(kind="torch.storage UntypedStorage", count=24)), "no format"),
    "a parameter of a number": (of(parameter(pt.plain(1))), "the data of a parameter is 1"),
    "a tensor of another class": (of(typed("numpy ndarray")), "the class of a tensor is numpy.ndarray"),
    "a tensor rebuilt by a table": (of(typed("torch Tensor", "collections OrderedDict")), "how a tensor is rebuilt"),
    "a tensor rebuilt from a list": (of(typed("torch Tensor", args=b"]")), "the arguments of a tensor is a list"),
    # how they fit together
    "a storage that is not there": (shaped(held=pt.storage(key="1")), "its storage is '1'"),
    "a storage outside the folder": (shaped(held=pt.storage(key="../data.pkl")), "its storage is '../data.pkl'"),
    "a storage of another length": (shaped(held=pt.storage(count=7)), "the length of its storage is 28"),
    "a view beyond its storage": (shaped(offset=1), "its last element is 7"),
    "a shape beyond its storage": (shaped(shape=(3, 3)), "its last element is 9"),
    "strides beyond the storage": (shaped(strides=(4, 1)), "its last element is 7"),
    "strides beyond all bounds": (shaped(strides=(2**62, 2**62)), "its last element"),
    "dimensions beyond all bounds": (shaped(shape=(2**62, 2**62), strides=(0, 0)), "the number of elements"),
    "dimensions whose product is zero by wrapping": (shaped(shape=(2**32, 2**32), strides=(0, 0)), "elements"),
    "too many dimensions": (shaped(shape=(1,) * 9, strides=(1,) * 9), "the rank of a tensor"),
    "FP4 without dimensions": (
        shaped(
            held=pt.storage(kind="torch.storage UntypedStorage", count=24),
            shape=(),
            strides=(),
            rebuild=V3,
            tail=pt.name("torch float4_e2m1fn_x2"),
        ),
        "those of a dense tensor",
    ),
    "a key that is a tuple": (of(b"})" + pt.tensor() + b"s"), "the key of a table is ()"),
    "a key of endless digits": (of(b"}" + pt.plain(1 << 400) + pt.tensor() + b"s"), "a number of 401 bits"),
    "the same name twice": (of(b"}(" + 2 * (pt.plain("w") + pt.tensor()) + b"u"), "'w' a second time"),
    "the same name by two ways": (of(pt.table(**{"a.b": pt.tensor(), "a": pt.table(b=pt.tensor())})), "'a.b' a second"),
    "a name that is no Unicode": (of(b"}X\x03\0\0\0\xed\xa0\x80" + pt.tensor() + b"s"), "valid Unicode"),
    "a name too long": (of(pt.table(**{"n" * 5000: pt.tensor()})), "limit name"),
    "a table that holds itself": (of(b"}q\x01X\x01\0\0\0ah\x01s"), "the nesting of the tables"),
    "tables nested deep": (of(b"]" * 80 + b"a" * 79), "the nesting of the tables"),
}


def more(path):
    import zipfile

    with zipfile.ZipFile(path, "a") as file:
        file.writestr("other/data.pkl", pt.whole(W))


@pytest.mark.parametrize("rule", BROKEN)
def test_an_archive_that_breaks_a_rule_is_refused(tmp_path, refused, rule):
    write, words = BROKEN[rule]
    write(tmp_path / "x.pt")
    error = refused(qcore.open, tmp_path / "x.pt")
    assert error.code in ("file-malformed", "file-limit")
    assert words in str(error)
    assert str(tmp_path / "x.pt") in str(error)


def test_a_compressed_storage_is_refused(tmp_path, refused):
    pt.archive(tmp_path / "x.pt", pt.whole(W), compression=8)
    assert "its storage is compressed" in str(refused(qcore.open, tmp_path / "x.pt", code="file-malformed"))


def test_a_truth_value_of_another_byte_is_refused(tmp_path, refused):
    held = pt.storage(kind="torch BoolStorage", count=6)
    of(pt.table(w=pt.tensor(held)), [("data/0", b"\0\1\0\1\0\2")])(tmp_path / "x.pt")
    with qcore.open(tmp_path / "x.pt") as f:
        assert "a truth value is 2" in str(refused(f.tensor, "w", code="file-malformed"))


LIMITED = {
    "pt-pickle": (of(W), 10),
    "pt-values": (of(b"](" + b"N" * 50 + b"e"), 50),
    "pt-tensors": (of(pt.table(a=pt.tensor(), b=pt.tensor())), 1),
    "pt-repeated": (shaped(shape=(100, 3), strides=(0, 1)), 1199),
    "zip-members": (of(W), 1),
    "pt-memory": (of(b"](" + b"}" * 9000 + b"e"), 1000),
}


@pytest.mark.parametrize("name", LIMITED)
def test_a_limit_holds_to_the_unit(tmp_path, refused, name):
    write, limit = LIMITED[name]
    write(tmp_path / "x.pt")
    assert name in str(refused(qcore.open, tmp_path / "x.pt", limits={name: limit}, code="file-limit"))
    if name not in ("pt-memory", "pt-pickle"):
        qcore.open(tmp_path / "x.pt", limits={name: limit + 1}).close()


@pytest.mark.parametrize("unit", [b"}", b"]\x94", b"("])
def test_opening_takes_memory_in_proportion_to_the_pickle(tmp_path, refused, unit):
    size = 1 << 20
    pt.archive(tmp_path / "x.pt", b"\x80\x04" + unit * (size // len(unit)))
    tracemalloc.start()
    refused(qcore.open, tmp_path / "x.pt")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 16 * size + (64 << 20)


def test_doubling_lists_are_not_walked_without_end(tmp_path, refused):
    """Sixty lists, each of which holds the one before twice: two to the sixty leaves."""
    body = b"]q\0" + b"".join(b"](h%ch%ceq%c" % (n, n, n + 1) for n in range(59))
    of(b"(" + body + b"t")(tmp_path / "x.pt")
    refused(qcore.open, tmp_path / "x.pt", code="file-limit")


CALLS = (
    *("os system", "posix system", "nt system", "subprocess Popen", "subprocess check_output", "pty spawn"),
    *("builtins eval", "builtins exec", "builtins compile", "builtins __import__", "builtins getattr"),
    *("builtins open", "builtins input", "__builtin__ eval", "__builtin__ file", "io open", "os popen"),
    *("runpy run_path", "importlib import_module", "pickle loads", "marshal loads", "shutil rmtree"),
    *("torch load", "torch.hub load", "torch._C _load", "torch.jit load", "torch.storage _load_from_bytes"),
    *("torch.serialization load", "torch._utils _rebuild_qtensor", "torch._utils _rebuild_wrapper_subclass"),
    *("numpy load", "numpy.core.multiarray fromfile", "numpy.f2py.crackfortran getlincoef", "operator attrgetter"),
    *("functools partial", "webbrowser open", "socket socket", "ctypes CDLL", "code interact", "timeit timeit"),
    *("torch.nn.modules.linear Linear", "collections namedtuple", "collections OrderedDict.fromkeys", "sys exit"),
)
# how a pickle can come to run something, beside a name and REDUCE
WAYS = {
    "a call": lambda words: pt.name(words) + pt.group(pt.plain("true")) + b"R",
    "a name on the stack": lambda words: b"".join(map(pt.plain, words.split(" "))) + b"\x93" + b")R",
    "an instance": lambda words: b"(" + pt.plain("true") + b"i" + words.replace(" ", "\n").encode() + b"\n",
    "a new object": lambda words: pt.name(words) + pt.group(pt.plain("true")) + b"\x81",
    "a name that is only kept": lambda words: pt.name(words),
}
OTHERS = {
    "an object": b"(" + pt.name("collections OrderedDict") + b"o",
    "keywords": pt.name("collections OrderedDict") + b")}\x92",
    "an extension": b"\x82\x01",
    "a longer extension": b"\x84\x01\0\0\0",
    "a persistent text": b"P0\n",
    "a buffer": b"\x97",
    "a read-only buffer": b"N\x98",
    "a call of a value": pt.plain("os.system") + b")R",
    "a call of a word": pt.name("torch FloatStorage") + b")R",
    "a call of a tensor": pt.tensor() + b")R",
}


class Armed:
    """An audit hook that notes what a pickle would need; it cannot be taken off, so it is switched."""

    events: ClassVar[list] = []
    on = False
    installed = False
    WATCHED = ("exec", "compile", "import", "os.system", "subprocess.Popen", "socket.connect", "pickle.find_class")

    @classmethod
    def hook(cls, event, args):
        if cls.on and event in cls.WATCHED and not (event == "import" and str(args[0]).startswith("qcore")):
            cls.events.append((event, args[0] if args else None))


@pytest.fixture
def armed():
    if not Armed.installed:
        sys.addaudithook(Armed.hook)
        Armed.installed = True
    pt_open = [of(W)]  # what the reader imports when it is first used is not what a file makes it do
    Armed.events.clear()
    yield pt_open
    Armed.on = False


@pytest.mark.parametrize("words", CALLS)
@pytest.mark.parametrize("way", WAYS)
def test_a_name_beyond_the_closed_list_is_refused_and_nothing_runs(tmp_path, refused, armed, words, way):
    good, bad = tmp_path / "good.pt", tmp_path / "bad.pt"
    of(W)(good)
    of(pt.table(w=pt.tensor(), x=WAYS[way](words)))(bad)
    qcore.open(good).close()
    refused(qcore.open, bad, code="file-pickle-refused")  # and once more, with everything imported:
    Armed.on = True
    error = refused(qcore.open, bad, code="file-pickle-refused")
    Armed.on = False
    assert Armed.events == []
    assert words.replace(" ", ".") in str(error) or way == "an instance"


@pytest.mark.parametrize("what", OTHERS)
def test_an_instruction_that_makes_objects_is_refused(tmp_path, refused, what):
    of(OTHERS[what])(tmp_path / "x.pt")
    refused(qcore.open, tmp_path / "x.pt", code="file-pickle-refused")


def test_the_audit_hook_would_have_seen_a_pickle_run(armed):
    """The positive control: what the reader never does, done once."""
    Armed.on = True
    pickle.loads(pt.whole(pt.name("collections OrderedDict") + b")R"))
    Armed.on = False
    assert ("pickle.find_class", "collections") in Armed.events


def test_a_program_of_torchscript_is_refused(tmp_path, refused):
    of(W, [("data/0", bytes(24)), ("code/__torch__.py", b"pass")])(tmp_path / "x.pt")
    assert "TorchScript" in str(refused(qcore.open, tmp_path / "x.pt", code="file-pickle-refused"))
