"""The inspector: a window that shows what a quantization scheme does to a tensor.

Importing this costs nothing; Qt is loaded when a window is opened.

Examples
--------
>>> import qcore_inspector
>>> callable(qcore_inspector.view)
True
"""

from __future__ import annotations

from typing import Any

__all__ = ["view"]


def view(what: Any = None, scheme: Any = None, *, name: str = "x", block: bool | None = None) -> Any:
    """Open a window on an array, a quantized tensor or a file.

    Parameters
    ----------
    what : array_like, QTensor or path, optional
        What to look at; nothing opens an empty window.
    scheme : QuantScheme, Preset or str, optional
        The scheme to begin with.
    name : str
        What an array is called.
    block : bool, optional
        Whether to wait until the window is closed. Default: only where nothing else runs Qt's events
        (in IPython ``%gui qt`` does).

    Returns
    -------
    The window; it stays open as long as it is referred to.
    """
    from .app import open_view

    return open_view(what, scheme, name, block)
