import json

import pytest

from qcore import errors


@pytest.fixture
def safetensors(tmp_path):
    """Write a safetensors file from a header (an object, or its text) and data."""

    def write(header, data=b"", *, length=None, name="x.safetensors"):
        text = (
            header
            if isinstance(header, bytes)
            else header.encode()
            if isinstance(header, str)
            else json.dumps(header).encode()
        )
        path = tmp_path / name
        path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
        return path

    return write


@pytest.fixture
def refused():
    """Call something that must raise a documented error, and return the error."""

    def call(function, *args, code=None, **kwargs):
        with pytest.raises(errors.QuantError) as caught:
            function(*args, **kwargs)
        error = caught.value
        assert code is None or error.code == code, error
        return error

    return call
