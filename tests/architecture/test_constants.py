"""A number that means something stands in one place."""

import ast
from collections import defaultdict

import source

TABLE = 8  # a run of so many numbers is a table


def _number(node):
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
    ):
        return float(node.value)
    return None


def test_a_table_of_numbers_is_written_once():
    places = defaultdict(set)
    for path, node in source.nodes("qcore", ast.Tuple, ast.List):
        numbers = tuple(map(_number, node.elts))
        if len(numbers) >= TABLE and None not in numbers:
            places[numbers].add(f"{source.named(path)}:{node.lineno}")
    assert not [sorted(where) for where in places.values() if len(where) > 1]


def test_a_precise_constant_is_written_once():
    places = defaultdict(set)
    for path, node in source.nodes("qcore", ast.Constant):
        if isinstance(node.value, float) and len(repr(node.value).strip("-0.").replace(".", "")) >= 6:
            places[node.value].add(source.named(path))
    assert not {value: sorted(where) for value, where in places.items() if len(where) > 1}


def test_kernels_own_no_codebook():
    for path in source.files("qcore_ext", ".pyx", ".pxd", ".h"):
        text = path.read_text(encoding="utf-8")
        assert "0.6961" not in text, source.named(path)  # the entry that NF4 is known by
        assert "nf4" not in text.lower(), source.named(path)
