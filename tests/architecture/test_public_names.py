"""The public face: one table, and what Python, type checkers and tab completion see of it."""

import ast

import pytest
import source

import qcore


def _for_type_checkers():
    block = next(
        node for node in source.tree(source.ROOT / "qcore" / "__init__.py").body if isinstance(node, ast.If)
    )
    return {alias.asname: (node.module, alias.name) for node in block.body for alias in node.names}


@pytest.mark.parametrize("name", sorted(qcore.__all__))
def test_every_public_name_is_there(name):
    assert getattr(qcore, name) is getattr(qcore, name)
    assert name in dir(qcore)


def test_type_checkers_see_the_same_names_at_the_same_places():
    seen = {}
    for name, home in qcore._HOMES.items():
        module, colon, attribute = home.partition(":")
        seen[name] = tuple(module.rsplit(".", 1)) if colon and not attribute else (module, attribute or name)
    assert _for_type_checkers() == seen
    assert sorted(qcore.__all__) == sorted(seen)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'quantise'"):
        _ = qcore.quantise


def test_the_version_stands_in_one_place():
    said = [
        source.named(path)
        for path in [*source.files("qcore", ".py"), source.ROOT / "pyproject.toml", source.ROOT / "setup.py"]
        if f'"{qcore.__version__}"' in path.read_text(encoding="utf-8")
    ]
    assert said == ["qcore/__init__.py"]


@pytest.mark.parametrize("name", sorted(qcore.__all__))
def test_every_public_function_and_class_is_described(name):
    value = getattr(qcore, name)
    if name in {"PRESETS", "errors"}:
        return
    text = value.__doc__ or ""
    assert len(text.splitlines()) > 1, f"qcore.{name} needs a docstring"
    if not isinstance(value, type):
        assert ">>>" in text, f"qcore.{name} needs an example"
