"""The inspector's house rules: Qt in one folder, widgets that know nobody, small rooms."""

import ast

import source

QT = {"PyQt6", "pyqtgraph"}
SHARED = {"table", "theme", "axes", "overlay"}
"""Parts that widgets are made of; everything else in the folder is a panel or the frame."""
FRAME = {"main_window", "menus", "commands", "frame", "settings_file", "worker"}


def _imports(path):
    for node in ast.walk(source.tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                names = [node.module] if node.module else [alias.name for alias in node.names]
                yield from ("." * node.level + name for name in names)
            else:
                yield (node.module or "").split(".")[0]


def test_qt_is_known_to_the_widgets_and_the_start_up_file_alone():
    found = {source.named(p) for p in source.files("gui", ".py") if QT & set(_imports(p))}
    assert all(name.startswith("gui/widgets/") or name == "gui/app.py" for name in found), found


def test_no_panel_knows_another():
    for path in source.files("gui/widgets", ".py"):
        if path.stem in FRAME | {"__init__"}:
            continue
        siblings = {name[1:] for name in _imports(path) if name.startswith(".") and not name.startswith("..")}
        assert siblings <= SHARED, f"{source.named(path)} imports {siblings - SHARED}"


def test_no_widget_calls_the_library():
    for path in source.files("gui/widgets", ".py"):
        allowed = {"commands"}  # what the help and doctor pages say of the library
        assert path.stem in allowed or "qcore" not in set(_imports(path)), source.named(path)


def test_what_decides_knows_no_widget():
    for path in source.files("gui", ".py"):
        inside = source.named(path)
        if inside.startswith("gui/widgets/") or inside in ("gui/app.py", "gui/panels.py"):
            continue
        assert not [name for name in _imports(path) if "widgets" in name], inside


def test_its_files_are_small_rooms():
    for path in source.files("gui", ".py"):
        budget = 200 if path.stem == "main_window" else 300
        assert len(path.read_text(encoding="utf-8").splitlines()) <= budget, source.named(path)


def test_a_panel_is_one_row_one_presenter_and_one_widget():
    text = (source.ROOT / "gui" / "panels.py").read_text(encoding="utf-8")
    rows = [
        [argument.value for argument in node.args[:5] if isinstance(argument, ast.Constant)]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and source.dotted(node.func) == "Panel"
    ]
    assert len(rows) > 10
    for _, _, area, presenter, widget in rows:
        assert area in ("left", "right", "centre", "tabs")
        for part in (presenter, widget):
            module, name = part.split(":")
            path = source.ROOT / "gui" / (module.replace(".", "/") + ".py")
            assert f" {name}(" in path.read_text(encoding="utf-8"), part


def test_ruff_lets_imports_be_relative_here_and_nowhere_else():
    for path in source.files("qcore", ".py"):
        assert not [name for name in _imports(path) if name.startswith(".")], source.named(path)
