"""A model in several GGUF files is read as one; files that do not belong together are refused."""

import gguf
import gguf_bytes as raw
import numpy as np
import pytest

import qcore

X = np.random.default_rng(3).standard_normal((4, 64), dtype=np.float32)
ARRAYS = {f"blk.{n}.weight": X * (n + 1) for n in range(5)}


@pytest.fixture
def split(tmp_path):
    """Three files by the gguf package, two tensors in each but the last."""
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama", split_max_tensors=2)
    writer.add_uint32("llama.block_count", 5)
    for name, array in ARRAYS.items():
        kind = gguf.GGMLQuantizationType.Q8_0
        writer.add_tensor(name, gguf.quants.quantize(array, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return sorted(tmp_path.glob("m-*.gguf"))


def test_any_part_opens_the_whole(split):
    assert len(split) == 3
    for path in split:
        with qcore.open(path) as f:
            assert f.names() == tuple(ARRAYS)
            assert f.metadata["llama.block_count"] == "5"
            assert not [key for key in f.metadata if key.startswith("split.")]
            for name, array in ARRAYS.items():
                expected = gguf.quants.quantize(array, gguf.GGMLQuantizationType.Q8_0)
                assert b"".join(f.stored.raw(name)) == expected.tobytes()
                assert np.array_equal(
                    f.tensor(name).dequantize(), gguf.quants.dequantize(expected, gguf.GGMLQuantizationType.Q8_0)
                )


def test_a_split_model_is_saved_as_one_file_and_opens_in_the_gguf_package(split, tmp_path):
    with qcore.open(split[1]) as f:
        qcore.save(tmp_path / "one.gguf", f)
    reader = gguf.GGUFReader(tmp_path / "one.gguf")
    assert [tensor.name for tensor in reader.tensors] == list(ARRAYS)
    assert "split.count" not in reader.fields
    with qcore.open(split[0]) as f, qcore.open(tmp_path / "one.gguf") as g:
        assert all(b"".join(f.stored.raw(n)) == b"".join(g.stored.raw(n)) for n in ARRAYS)


def test_a_part_that_is_missing_is_named(split, refused):
    split[2].unlink()
    error = refused(qcore.open, split[0], code="file-part-missing")
    assert "m-00003-of-00003.gguf" in str(error)
    assert "part 1 of 3" in str(error)


def test_a_part_under_another_name_is_refused(split, tmp_path, refused):
    renamed = split[0].rename(tmp_path / "model.gguf")
    assert "NAME-00001-of-00003.gguf" in str(refused(qcore.open, renamed, code="file-malformed"))


def part(number, count, tensors, *, names=(b"w",), kind="u16", order="<", keys=None):
    values = {b"split.no": number, b"split.count": count, b"split.tensors.count": tensors}
    values.update(keys or {})
    told = [(key, raw_number(kind, value, order)) for key, value in values.items() if value is not None]
    return raw.File([raw.Tensor(name=name) for name in names], told, order=order).build()


def raw_number(kind, value, order):
    import struct

    word, form = raw.TYPES[kind]
    return struct.pack(f"{order}I{form}", word, value)


BROKEN = {
    "two first parts": ([part(0, 2, 2), part(0, 2, 2, names=(b"v",))], "'split.no' is 0"),
    "another count": ([part(0, 2, 2), part(1, 3, 2, names=(b"v",))], "'split.count' is 3"),
    "another number of tensors": ([part(0, 2, 2), part(1, 2, 7, names=(b"v",))], "'split.tensors.count' is 7"),
    "too few tensors": ([part(0, 2, 3), part(1, 2, 3, names=(b"v",))], "'split.tensors.count' is 3"),
    "a tensor twice": ([part(0, 2, 2), part(1, 2, 2)], "allowed is each once"),
    "a number that is missing": ([part(0, 2, 2), part(None, 2, 2, names=(b"v",))], "'split.no' is missing"),
    "a number that is a fraction": ([part(0, 2, 2), part(1, 2, 2, names=(b"v",), kind="f32")], "is f32"),
    "no total": ([part(0, 2, None), part(1, 2, None, names=(b"v",))], "'split.tensors.count' is missing"),
    "another byte order": ([part(0, 2, 2), part(1, 2, 2, names=(b"v",), order=">")], "the byte order"),
    "no GGUF": ([part(0, 2, 2), b"hello, world, hello, world"], "the mark at the start"),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_parts_that_contradict_each_other_are_refused(tmp_path, refused, rule):
    files, words = BROKEN[rule]
    for number, data in enumerate(files, 1):
        (tmp_path / f"m-{number:05d}-of-00002.gguf").write_bytes(data)
    assert words in str(refused(qcore.open, tmp_path / "m-00001-of-00002.gguf", code="file-malformed"))


def test_parts_may_lack_tensors_and_a_set_of_one_is_a_file(tmp_path):
    (tmp_path / "m-00001-of-00002.gguf").write_bytes(part(0, 2, 1, names=()))
    (tmp_path / "m-00002-of-00002.gguf").write_bytes(part(1, 2, 1))
    (tmp_path / "x.gguf").write_bytes(part(0, 1, 1))
    for name in ("m-00001-of-00002.gguf", "x.gguf"):
        with qcore.open(tmp_path / name) as f:
            assert f.names() == ("w",)


def test_more_parts_than_the_limit_are_refused_before_any_is_looked_for(tmp_path, refused):
    (tmp_path / "m-00001-of-09999.gguf").write_bytes(part(0, 9999, 1))
    for number in (1, 2):
        data = part(number - 1, 2, 100_001, names=(b"w",) if number == 1 else (), kind="u32")
        (tmp_path / f"n-{number:05d}-of-00002.gguf").write_bytes(data)
    assert "limit gguf-tensors" in str(refused(qcore.open, tmp_path / "n-00001-of-00002.gguf", code="file-limit"))
    assert "limit shards" in str(refused(qcore.open, tmp_path / "m-00001-of-09999.gguf", code="file-limit"))
