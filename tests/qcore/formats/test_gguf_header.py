"""Every rule of a GGUF header, each with a file that breaks it and nothing else."""

import re
import time
import tracemalloc

import numpy as np
import pytest
from gguf_bytes import File, Tensor

import qcore
from qcore import errors

FILE = File()


def write(tmp_path, data):
    path = tmp_path / "x.gguf"
    path.write_bytes(data)
    return path


def refused(tmp_path, file, code="file-malformed", **limits):
    data = file if isinstance(file, bytes) else file.build()
    with pytest.raises(errors.QuantError) as caught:
        qcore.open(write(tmp_path, data), **limits)
    assert caught.value.code == code, caught.value
    return str(caught.value)


def key(kind="u32", value=1, name=b"k"):
    return name, FILE.scalar(kind, value)


def test_the_smallest_files_open(tmp_path):
    least = File(keys=[key("u32", 8, b"general.alignment")])
    for file in (
        least,
        File(),
        File(version=2),
        File(tensors=[Tensor()]),
        File(keys=[key()]),
        File(tail=bytes(8)),
    ):
        with qcore.open(write(tmp_path, file.build())) as f:
            assert f.format == "gguf"
            assert len(f) == len(file.tensors)


WRONG = {
    "the version is 1": File(version=1),
    "the number of elements or bytes": File(tensors=[Tensor(dims=(1 << 61,))]),
    "the version is 4": File(version=4),
    "the version is 0": File(version=0),
    "the key 'k' is there a second time": File(keys=[key(), key()]),
    "a key is empty": File(keys=[key(name=b"")]),
    "a key is byte 0xff, allowed is UTF-8": File(keys=[key(name=b"a\xff")]),
    "the type of 'k' is 13": File(keys=[(b"k", (13).to_bytes(4, "little") + bytes(8))]),
    "the type of 'k' is 4294967295": File(keys=[(b"k", b"\xff\xff\xff\xff" + bytes(8))]),
    "the array 'k' is an array of arrays": File(keys=[(b"k", b"\x09\0\0\0\x09\0\0\0" + bytes(16))]),
    "a truth value of 'k' is 2": File(keys=[key("bool", 2)]),
    "a truth value of 'a' is 255": File(keys=[(b"a", FILE.array("bool", [0, 1, 255]))]),
    "the type of general.alignment is u64": File(keys=[key("u64", 32, b"general.alignment")]),
    "general.alignment is 0": File(keys=[key("u32", 0, b"general.alignment")]),
    "general.alignment is 4": File(keys=[key("u32", 4, b"general.alignment")]),
    "general.alignment is 12": File(keys=[key("u32", 12, b"general.alignment")]),
    "alignment of a GGUF file is 65544": File(keys=[key("u32", 65544, b"general.alignment")]),
    "the tensor 'w' is there a second time": File([Tensor(), Tensor()]),
    "a tensor's name is byte 0xc3": File([Tensor(name=b"\xc3")]),
    "rank of a tensor in a GGUF file is 5": File([Tensor(dims=(1,) * 5, data=bytes(4))]),
    "rank of a tensor in a GGUF file is 4294967295": File([Tensor(rank=0xFFFFFFFF)]),
    "the type is number 43": File([Tensor(type=43)]),
    "the type is Q4_2": File([Tensor(type=4)]),
    "the type is Q8_1, which exists in memory only": File([Tensor(type=9, dims=(32,), data=bytes(36))]),
    "the type is Q4_0_4_4": File([Tensor(type=31, dims=(32,), data=bytes(18))]),
    "a dimension is 9223372036854775808": File([Tensor(dims=(1 << 63, 0), data=b"")]),
    "a multiple of 32, as Q8_0": File([Tensor(type=8, dims=(33,), data=bytes(68))]),
    "a multiple of 256, as Q4_K": File([Tensor(type=12, dims=(32, 8), data=bytes(144))]),
    "the length of a row is 1, allowed is a multiple of 32": File([Tensor(type=8, dims=(), data=bytes(34))]),
    "leaves a gap": File([Tensor(), Tensor(name=b"v", offset=64)], tail=bytes(32)),
    "overlaps what is before it": File([Tensor(), Tensor(name=b"v", offset=0)]),
    "the offset of the data is 16": File([Tensor(), Tensor(name=b"v", offset=16)]),
    "the end of the file": File([Tensor()], tail=b"x"),
    "of a tensor is 18446744073709551616": File([Tensor(dims=(1 << 32, 1 << 32))]),
}  # fmt: skip


@pytest.mark.parametrize("reason", WRONG)
def test_a_broken_rule_is_named(tmp_path, reason):
    assert re.search(re.escape(reason), refused(tmp_path, WRONG[reason]))


def test_another_mark_is_no_gguf_file(tmp_path):
    assert "the mark at the start" in refused(tmp_path, File(magic=b"ggjt"))


@pytest.mark.parametrize("length", [*range(4, 24)])
def test_a_file_shorter_than_the_fixed_part_is_truncated(tmp_path, length):
    refused(tmp_path, File().build()[:length], "file-truncated")


def test_a_file_cut_anywhere_is_refused(tmp_path):
    keys = [key("str", b"llama", b"general.architecture"), (b"t", FILE.array("str", [b"a", b"bc", b""]))]
    keys += [(b"n", FILE.array("f32", [1.0, 2.0])), (b"b", FILE.array("bool", [1]))]
    whole = File([Tensor(), Tensor(name=b"v")], keys, pads_last=False).build()
    for length in range(4, len(whole)):
        refused(tmp_path, whole[:length], "file-truncated")
    qcore.open(write(tmp_path, whole)).close()


@pytest.mark.parametrize(
    "value", [FILE.scalar("u32", 1), FILE.array("u64", [1, 2]), FILE.array("str", [b"ab"])]
)
def test_a_value_that_the_file_ends_in_is_missed(tmp_path, value):
    whole = File(keys=[(b"k", value)]).build()
    for length in range(24, len(whole)):
        refused(tmp_path, whole[:length], "file-truncated")


def test_counts_are_held_against_what_the_file_has_room_for(tmp_path):
    told = refused(tmp_path, File(counts=(90_000, 3)), "file-truncated")
    assert "3 keys and 90000 tensors needs 2160066" in told
    told = refused(tmp_path, File(keys=[(b"k", FILE.array("str", [b"a"], 1000))]), "file-truncated")
    assert "the value of 'k' needs 8049" in told


CLAIMS = (1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_of_huge_counts_or_lengths_takes_no_memory(tmp_path, claim):
    text = claim.to_bytes(8, "little")
    string = b"\x08\0\0\0" + text
    strings = b"\x09\0\0\0\x08\0\0\0" + (1).to_bytes(8, "little") + text
    hostile = [
        File(counts=(claim, None)), File(counts=(None, claim)), File(keys=[(b"k", string)]),
        File(keys=[(b"k", strings)]), File(keys=[(b"k", FILE.array("u64", [], claim))]),
        File(keys=[(b"k", FILE.array("str", [], claim))]), File(keys=[(b"k", FILE.array("bool", [], claim))]),
        File([Tensor(dims=(claim,))]), File().build()[:16] + (1).to_bytes(8, "little") + text,
    ]  # fmt: skip
    tracemalloc.start()
    begun = time.monotonic()
    try:
        for file in hostile:
            with pytest.raises(errors.FormatError):
                qcore.open(write(tmp_path, file if isinstance(file, bytes) else file.build()))
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert time.monotonic() - begun < 5


EDGES = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


@pytest.mark.parametrize("type", [0, 8])
def test_no_product_of_dimensions_wraps(tmp_path, type):
    small = {(1, 0), (0, 1), (0, 0), (0, 2**31 - 1), (2**31 - 1, 0), (0, 2**31), (2**31, 0), (0, 2**32 - 1)}
    for a in EDGES:
        for b in EDGES:
            for dims in ((a, b), (a, b, 2**32)):
                path = write(tmp_path, File([Tensor(dims=dims, type=type, data=b"")]).build())
                try:
                    with qcore.open(path) as f:
                        found = f.tensor("w")
                except errors.FormatError:
                    assert (a, b) not in small or len(dims) == 3 or type == 8
                    continue
                assert 0 in dims, f"{dims} has elements, and the file none"
                assert found.shape == dims[::-1]


def test_tensors_without_elements_are_tensors(tmp_path):
    from qcore.formats.gguf_types import BY_ID

    shapes = ((1, 0), (0, 1), (0, 2, 3), (0,))
    file = File(
        [
            Tensor(
                f"{row.name} {dims}".encode(),
                tuple(dim * row.block for dim in dims[:1]) + dims[1:],
                row.id,
                b"",
            )
            for row in BY_ID.values()
            for dims in shapes
        ]
    )
    with qcore.open(write(tmp_path, file.build())) as f:
        for name in f.names():
            found = f.tensor(name)
            assert found.shape == f.info(name).shape
            assert np.asarray(found).shape == found.shape
            if f.info(name).foreign and found.codes is not None:
                assert (found.codes.size, found.scales.size, found.minima.size) == (0, 0, 0)
        qcore.save(tmp_path / "y.gguf", {n: f.tensor(n) for n in f.names() if "Q8_0" in n or "MXFP4" in n})


def test_dimensions_are_turned_around_and_scalars_have_none(tmp_path):
    data = np.arange(6, dtype="<f4").tobytes()
    file = File(
        [Tensor(dims=(3, 2), data=data), Tensor(b"s", (), 26, b"\x07\0\0\0"), Tensor(b"4", (4, 1, 1, 1))]
    )
    with qcore.open(write(tmp_path, file.build())) as f:
        assert f.tensor("w").tolist() == [[0, 1, 2], [3, 4, 5]]
        assert (f.tensor("s").shape, f.tensor("s").item()) == ((), 7)
        assert f.tensor("4").shape == (1, 1, 1, 4)


def tensors(count):
    return File([Tensor(b"%d" % index, (0,), data=b"") for index in range(count)])


LIMITS = [
    ("gguf-tensors", tensors),
    ("gguf-keys", lambda n: File(keys=[key(name=b"%d" % index) for index in range(n)])),
    ("gguf-key", lambda n: File(keys=[key(name=b"k" * n)])),
    ("gguf-string", lambda n: File(keys=[key("str", b"s" * n)])),
    ("gguf-string", lambda n: File(keys=[(b"k", FILE.array("str", [b"s", b"s" * n]))])),
    ("gguf-array", lambda n: File(keys=[(b"k", FILE.array("u8", [1] * n))])),
    ("gguf-array", lambda n: File(keys=[(b"k", FILE.array("str", [b""] * n))])),
]


@pytest.mark.parametrize(("name", "make"), LIMITS)
def test_a_limit_holds_at_its_number_and_not_before(tmp_path, name, make):
    for most in (7, 300):
        qcore.open(write(tmp_path, make(most).build()), limits={name: most}).close()
        told = refused(tmp_path, make(most + 1), "file-limit", limits={name: most})
        assert str(most) in told


def test_the_fixed_limit_on_names_is_kept(tmp_path):
    qcore.open(write(tmp_path, File([Tensor(b"n" * 4096)]).build())).close()
    refused(tmp_path, File([Tensor(b"n" * 4097)]))


def test_a_hundred_thousand_tensors_open_in_time_that_grows_with_their_number(tmp_path):
    times = []
    for count in (20_000, 40_000):
        path = write(tmp_path, tensors(count).build())
        begun = time.process_time()
        with qcore.open(path) as f:
            assert len(f) == count
        times.append(time.process_time() - begun)
    assert times[1] < 5 * times[0] + 0.2


def test_a_large_vocabulary_is_stepped_over(tmp_path):
    tokens = [b"token %d" % index for index in range(150_000)]
    keys = [(b"tokenizer.ggml.tokens", FILE.array("str", tokens))]
    keys += [(b"tokenizer.ggml.scores", FILE.array("f32", [0.0] * 150_000))]
    path = write(tmp_path, File([Tensor()], keys).build())
    begun = time.process_time()
    tracemalloc.start()
    with qcore.open(path) as f:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        took = time.process_time() - begun
        assert f.brief("tokenizer.ggml.tokens", 30) == '150000 x str: "token 0", "token 1", "token 2...'
        assert f.brief("gguf.layout") == "the types of 2 keys and 1 tensors"
        assert f.brief("tokenizer.ggml.scores").startswith("150000 x f32: 0.0, 0.0, ")
        assert f.metadata["tokenizer.ggml.tokens"].startswith('["token 0", "token 1"')
    assert peak < 16 << 20
    assert took < 4
