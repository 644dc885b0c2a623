"""Reading never evaluates content, the library never prints, and Qt stays where it belongs."""

import ast
import tomllib

import source

EVALUATING_MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
EVALUATING_CALLS = {"eval", "exec", "compile", "__import__"}
WORLD_MODULES = {"subprocess", "socket", "urllib", "http", "ftplib", "requests", "ctypes"}
QT_MODULES = {"PyQt6", "PyQt5", "PySide6", "PySide2", "pyqtgraph", "qtpy"}


def _imports(folder):
    for path, node in source.nodes(folder, ast.Import, ast.ImportFrom):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for name in names:
            yield path, node.lineno, name.split(".")[0]


def test_no_module_that_evaluates_what_it_reads_is_imported():
    assert not [(source.named(p), line, m) for p, line, m in _imports("qcore") if m in EVALUATING_MODULES]


def test_nothing_reaches_for_other_programs_or_the_network():
    found = [(source.named(p), line, m) for p, line, m in _imports("qcore") if m in WORLD_MODULES]
    # a driver that crashes when it is listed may take a process of its own down, not ours
    assert [(name, module) for name, _, module in found] == [("qcore/backends/opencl/probing.py", "subprocess")]


def test_qt_is_imported_by_the_inspector_alone():
    assert not [(source.named(p), line, m) for p, line, m in _imports("qcore") if m in QT_MODULES]


def test_only_the_extra_for_the_inspector_asks_for_qt():
    project = tomllib.loads((source.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {"": project["dependencies"], **project["optional-dependencies"]}
    extras = {
        extra
        for extra, needs in asked.items()
        if any(n.lower().startswith(("pyqt", "pyside")) for n in needs)
    }
    assert extras == {"gui"}


def test_nothing_is_evaluated():
    found = [
        f"{source.named(path)}:{node.lineno} {source.dotted(node.func)}"
        for path, node in source.nodes("qcore", ast.Call)
        if source.dotted(node.func) in EVALUATING_CALLS
    ]
    assert not found


def test_numpy_never_loads_objects():
    for path, node in source.nodes("qcore", ast.Call):
        if source.dotted(node.func) in {"np.load", "numpy.load", "np.lib.format.read_array"}:
            allowed = {word.arg: word.value for word in node.keywords}.get("allow_pickle")
            assert isinstance(allowed, ast.Constant), f"{source.named(path)}:{node.lineno} leaves it open"
            assert allowed.value is False, f"{source.named(path)}:{node.lineno}"
        for word in node.keywords:
            if word.arg == "allow_pickle":
                assert isinstance(word.value, ast.Constant)
                assert word.value.value is False


def test_only_the_command_line_prints():
    found = [
        f"{source.named(path)}:{node.lineno}"
        for path, node in source.nodes("qcore", ast.Call)
        if source.dotted(node.func) in {"print", "sys.stdout.write", "sys.stderr.write"}
        and not source.named(path).startswith("qcore/cli/")
    ]
    assert not found


def test_the_rules_would_notice():
    sample = ast.parse("import pickle\neval('1')\nnumpy.load(f, allow_pickle=True)")
    names = [source.dotted(node.func) for node in ast.walk(sample) if isinstance(node, ast.Call)]
    assert names == ["eval", "numpy.load"]
    assert "eval" in EVALUATING_CALLS
