"""Whatever refuses goes through the catalogue of errors."""

import ast
import builtins
import string

import pytest
import source

from qcore.errors import CATALOG

# what Python's own protocols ask a method to raise
PROTOCOLS = {
    ("__getattr__", "AttributeError"),
    ("__setattr__", "AttributeError"),
    ("__delattr__", "AttributeError"),
    ("__len__", "TypeError"),
    ("seek", "OSError"),  # of a file object
    ("__hash__", "TypeError"),
}

# rows whose situation is found in parts of qcore that are not there yet
AWAITED: dict[str, str] = {}


def _is_builtin_exception(name):
    found = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)


def _builds():
    for path, node in source.nodes("qcore", ast.Call):
        if source.dotted(node.func) in {"errors.build", "qcore.errors.build", "build"}:
            yield f"{source.named(path)}:{node.lineno}", node


def _fields(template):
    return {
        name.partition(".")[0].partition("[")[0]
        for _, name, _, _ in string.Formatter().parse(template)
        if name
    }


def _raises():
    """Every raise, with the innermost function around it."""
    for path in source.files("qcore", ".py"):
        around = dict.fromkeys(ast.walk(source.tree(path)), "")
        for node in ast.walk(source.tree(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                around.update(dict.fromkeys(ast.walk(node), node.name))  # an inner function is walked later
        for node, function in around.items():
            if isinstance(node, ast.Raise) and node.exc is not None:
                called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                yield source.named(path), node.lineno, function, source.dotted(called)


def test_nothing_raises_a_bare_builtin():
    bare = [
        f"{name}:{line} raises {raised}"
        for name, line, function, raised in _raises()
        if _is_builtin_exception(raised)
        and (function, raised) not in PROTOCOLS
        # the command line speaks the interpreter's language at its outer edge
        and not (name.startswith("qcore/cli/") and raised in {"SystemExit", "KeyboardInterrupt"})
    ]
    assert not bare


def test_every_error_that_is_built_has_a_row():
    unknown = [
        f"{where}: {node.args[0].value}"
        for where, node in _builds()
        if node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value not in CATALOG
    ]
    assert not unknown


def test_every_error_is_built_with_the_parameters_of_its_message():
    wrong = []
    for where, node in _builds():
        if not (node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value in CATALOG):
            continue
        row = CATALOG[node.args[0].value]
        given = {word.arg: word.value for word in node.keywords}
        if None in given:  # **params: only a run can tell
            continue
        variant = given.get("variant")
        if variant is None:
            templates = [row.message]
        elif isinstance(variant, ast.Constant):
            if variant.value is not None and variant.value not in row.variants:
                wrong.append(f"{where}: {row.code} has no variant {variant.value!r}")
                continue
            templates = [row.template(variant.value)]
        else:
            templates = []
        wrong += [
            f"{where}: {row.code} needs {sorted(_fields(template) - set(given))}"
            for template in templates
            if not _fields(template) <= set(given)
        ]
    assert not wrong


def test_every_row_has_a_place_that_raises_it():
    said = {
        node.value
        for path, node in source.nodes("qcore", ast.Constant)
        if isinstance(node.value, str) and not source.named(path).startswith("qcore/errors/")
    }
    silent = set(CATALOG) - said
    assert silent == set(AWAITED), (
        f"never raised: {sorted(silent - set(AWAITED))}; "
        f"raised by now, strike them: {sorted(set(AWAITED) - silent)}"
    )


@pytest.mark.parametrize("code", sorted(CATALOG))
def test_every_row_says_why_when_and_what_to_do(code):
    row = CATALOG[code]
    assert row.code == code
    assert row.cause
    assert row.when
    assert row.solutions
    assert set(row.refs) <= set(CATALOG)
