"""A quantized tensor as a small HTML table for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qcore.tensor.qtensor import QTensor


def tensor_html(q: QTensor) -> str:
    """Facts of a tensor: shape, scheme, size, scales, rules."""
    rows = {
        "shape": " x ".join(map(str, q.shape)) or "0-d",
        "scheme": str(q.scheme),
        "stored": f"{q.nbytes:,} bytes, {q.bits_per_weight:.3f} bits/weight",
        "scales": f"{q.scales.size:,} of {q.scales.dtype.name}",
        "global scale": "none" if q.global_scale is None else f"{float(q.global_scale):.9g}",
        "backend": q.backend,
        "rules": ", ".join(f"{key}={value}" for key, value in q.rules.items()) or "unknown",
    }
    return html_table("QTensor", rows)


def html_table(title: str, rows: dict[str, str]) -> str:
    """Two columns under a title, everything escaped."""
    body = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows.items())
    return f"<table><caption>{escape(title)}</caption><tbody>{body}</tbody></table>"
