"""Archives as PyTorch writes them, and pickles put together opcode by opcode: right ones and broken ones."""

import pickle
import zipfile

FLOATS, REBUILD = "torch FloatStorage", "torch._utils _rebuild_tensor_v2"


def plain(value):
    """A number, a text, None, a list, a tuple or a dict of such, without the frame of a whole pickle."""
    return pickle.dumps(value, 2)[2:-1]


def name(words):
    """The opcode that looks a name up: ``module word``."""
    return b"c" + words.replace(" ", "\n").encode() + b"\n"


def group(*items):
    """A tuple of values that are opcodes already."""
    return b"(" + b"".join(items) + b"t"


def storage(key="0", count=6, kind=FLOATS, *, tag="storage"):
    """The reference to a storage."""
    return group(plain(tag), name(kind), plain(key), plain("cpu"), plain(count)) + b"Q"


def tensor(held=None, offset=0, shape=(2, 3), strides=(3, 1), *, rebuild=REBUILD, tail=b""):
    """The call that makes a tensor of a storage."""
    numbers = [plain(part) for part in (offset, shape, strides, False)]
    hooks = name("collections OrderedDict") + b")R"
    return name(rebuild) + group(held or storage(), *numbers, hooks, tail) + b"R"


def table(**items):
    """A dict of values that are opcodes already."""
    return b"}(" + b"".join(plain(key) + value for key, value in items.items()) + b"u"


def whole(body, protocol=2):
    """A pickle of one value."""
    return b"\x80" + bytes([protocol]) + body + b"."


def archive(path, pickled, members=(("data/0", bytes(24)),), *, root="archive", compression=zipfile.ZIP_STORED):
    """Write an archive; ``pickled`` is a whole pickle."""
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr(f"{root}/data.pkl", pickled)
        for member, data in members:
            file.writestr(f"{root}/{member}", data)
    return path
