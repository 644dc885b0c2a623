"""Archives of torch.save give the tensors that PyTorch itself reads from them (tests/data/torch/README.md)."""

import ml_dtypes
import numpy as np
import pt_bytes as pt
import pytest
import source

import qcore
from qcore.formats.digests import digest_like

DATA = source.ROOT / "tests" / "data" / "torch"
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def read(path):
    with qcore.open(path) as f:
        assert f.format == "pt"
        return {name: f.tensor(name) for name in f.names()}


def test_every_type_of_element_is_read():
    expected = np.load(DATA / "types.npz")
    got = read(DATA / "types.pt")
    assert list(got) == expected.files
    for name, array in got.items():
        assert array.dtype.name == {"none": "float32", "scalar": "float32"}.get(name, name)
        if name == "float4_e2m1fn":
            codes = array.view(np.uint8)
            assert np.array_equal(codes[:, ::2] | codes[:, 1::2] << 4, expected[name])
        else:
            assert (array.shape, array.tobytes()) == (expected[name].shape, expected[name].tobytes())


@pytest.mark.parametrize("protocol", [2, 4])
def test_views_of_any_strides_nested_tables_and_shared_storages_are_read(protocol):
    expected = np.load(DATA / "nested.npz")
    got = read(DATA / f"nested{protocol}.pt")
    assert list(got) == expected.files
    for name, array in got.items():
        assert (array.dtype, array.shape) == (expected[name].dtype, expected[name].shape)
        assert array.tobytes() == expected[name].tobytes(), name
    assert "optimizer.state.0.exp_avg" in got


def test_plain_values_are_texts_and_the_rest_is_counted():
    with qcore.open(DATA / "nested2.pt") as f:
        assert {key: f.metadata[key] for key in ("epoch", "name", "best", "done", "size.1")} == {
            "epoch": "7",
            "name": "a run",
            "best": "0.5",
            "done": "True",
            "size.1": "3",
        }
        assert f.notes == ("8 values of its tables are no tensors and no texts, and are left out",)


def test_a_bare_tensor_is_called_after_its_file_and_need_not_have_sums():
    assert read(DATA / "bare.pt")["bare"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_model_and_an_old_file_are_refused_with_what_to_do(refused):
    error = refused(qcore.open, DATA / "model.pt", code="file-pickle-refused")
    assert "torch.nn.modules.container.Sequential" in str(error)
    old = refused(qcore.open, DATA / "legacy.pt", code="file-pickle-refused")
    assert any("weights_only=True" in advice for advice in old.solutions)


@pytest.mark.parametrize("name", ["w.pt", "w.pth", "w.bin", "w.ckpt", "w"])
def test_an_archive_is_known_by_its_content(tmp_path, name):
    path = pt.archive(tmp_path / name, pt.whole(pt.table(w=pt.tensor())), [("data/0", X.tobytes())])
    assert np.array_equal(read(path)["w"], X)


@pytest.mark.parametrize(("word", "order"), [(b"big", ">"), (b"little", "<"), (None, "<")])
def test_the_byte_order_of_the_archive_is_honoured(tmp_path, word, order):
    members = [("data/0", X.astype(f"{order}f4").tobytes())]
    members += [] if word is None else [("byteorder", word)]
    path = pt.archive(tmp_path / "w.pt", pt.whole(pt.table(w=pt.tensor())), members)
    assert np.array_equal(read(path)["w"], X)
    with qcore.open(path) as f:
        assert b"".join(f.stored.raw("w")) == X.tobytes()
        assert (f.position("w") is None) == (word == b"big")


def test_position_is_where_the_elements_of_a_dense_tensor_lie(tmp_path):
    with qcore.open(DATA / "nested2.pt") as f:
        whole, row = f.position("views.0"), f.position("views.3")
        assert row is None  # a column: its elements do not lie side by side
        assert f.source.read(whole, 32) == f.tensor("views.0")[0].tobytes()
        assert f.position("views.4") == whole


def test_an_archive_converts_to_other_formats(tmp_path):
    with qcore.open(DATA / "types.pt") as f:
        qcore.save(tmp_path / "x.safetensors", {n: f.tensor(n) for n in f.names() if n != "complex128"})
    with qcore.open(DATA / "nested2.pt") as f:
        qcore.save(tmp_path / "y.safetensors", f, provenance=True)
        with qcore.open(tmp_path / "y.safetensors") as g:
            assert all(np.array_equal(f.tensor(n), g.tensor(n)) for n in f.names())
            assert g.metadata["epoch"] == "7"
    with qcore.open(tmp_path / "x.safetensors") as g:
        assert g.tensor("bfloat16").dtype == ml_dtypes.bfloat16


def test_it_is_not_written(tmp_path, refused):
    error = refused(qcore.save, tmp_path / "x.pt", {"x": X}, code="unknown-name")
    assert ".safetensors" in str(error)
    assert ".pth" not in str(error)
    with qcore.open(DATA / "bare.pt") as f:
        refused(qcore.save, tmp_path / "x.pt", f, code="unknown-name")
    assert not list(tmp_path.iterdir())


def test_a_change_of_a_whole_storage_is_found_by_the_sum_of_the_archive(tmp_path):
    path = pt.archive(tmp_path / "w.pt", pt.whole(pt.table(w=pt.tensor())), [("data/0", X.tobytes())])
    data = bytearray(path.read_bytes())
    with qcore.open(path) as f:
        at = f.position("w")
        assert f.stored.digests["w"].startswith("crc32:")
    data[at] ^= 1
    path.write_bytes(data)
    with qcore.open(path) as f:
        recorded = f.stored.digests["w"]
        assert digest_like(recorded, f.stored.raw("w")) != recorded
