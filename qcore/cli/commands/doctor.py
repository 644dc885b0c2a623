"""``qcore doctor``: what is installed, what is missing, what is in the way."""

from __future__ import annotations

import platform
import sys
from importlib import metadata, util

from qcore import __version__
from qcore.cli import exits
from qcore.cli.output import Result, columns
from qcore.cli.settings import Settings

OURS = "qcore-quant"
_OPTIONAL = (
    ("pyopencl", "backend opencl", "pip install qcore-quant[pocl], or qcore-quant[opencl] and a driver"),
    ("PyQt6", "the inspector", "pip install qcore-quant[gui]"),
)


def run(settings: Settings) -> Result:
    """Nothing is installed, changed or sent anywhere. Another package that installs an import package called qcore
    ends with exit code 5: which of the two is imported then depends on the order of installation.
    """
    facts = [
        ("qcore", __version__),
        ("python", f"{platform.python_version()} on {platform.machine()} {sys.platform}"),
    ]
    facts += [(name, _version(name) or "missing") for name in ("numpy", "ml_dtypes", "typer")]
    facts += [("cpu kernels", _kernels()), ("threads", _threads())]
    missing = [f"{name} {text}" for name, text in facts if text.startswith("missing")]
    for name, use, how in _OPTIONAL:
        found = util.find_spec(name) is not None
        facts.append(
            (
                name,
                f"{_version(name) or 'found'}" if found else f"not installed: {use} is not available ({how})",
            )
        )
    opencl, broken = opencl_facts()
    facts += opencl
    conflicts = other_distributions()
    for name in conflicts:
        facts.append(("conflict", f"the distribution {name} installs an import package named qcore, too"))
    lines = columns(("", ""), facts)[1:]
    lines += [f"OpenCL, to get it or mend it: {advice}" for advice in broken]
    if conflicts:
        lines.append(
            f"what to do: pip uninstall {' '.join(conflicts)}, then pip install --force-reinstall {OURS}"
        )
    document = {"facts": dict(facts), "conflicts": conflicts, "ok": not conflicts and not missing}
    return Result(document, lines, exits.FAILED if conflicts or missing else exits.OK)


def opencl_facts() -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Rows about OpenCL, and what to do where it does not work. Looked for in a process that may crash."""
    from qcore.backends.opencl import diagnosis

    found = diagnosis()
    facts = [("opencl", found.meaning + (f": {found.text}" if found.text else ""))]
    for device, fault in zip(found.devices, found.builds, strict=True):
        works = f"kernels do not build: {fault}" if fault else "kernels build and run"
        facts.append((device.spelled, f"{device.name} ({device.platform_name} {device.driver}), {works}"))
    faulty = ("update its driver, or empty its cache: qcore explain opencl-build-failed",) if any(found.builds) else ()
    return facts, found.advice + faulty


def other_distributions() -> list[str]:
    """Names of installed distributions, other than ours, that bring an import package called qcore."""
    found = set()
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"] or ""
        if name.lower().replace("_", "-") != OURS and _brings_qcore(distribution):
            found.add(name)
    return sorted(found)


def _brings_qcore(distribution: metadata.Distribution) -> bool:
    top = (distribution.read_text("top_level.txt") or "").split()
    if top:
        return "qcore" in top
    return any(
        file.parts[:2] == ("qcore", "__init__.py") or file.parts == ("qcore.py",)
        for file in distribution.files or ()
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _kernels() -> str:
    try:
        import qcore_ext
    except ImportError as problem:
        return f"missing: {problem}"
    return f"level {qcore_ext.level()}"


def _threads() -> str:
    try:
        from qcore.backends.cpu.threads import resolve
    except ImportError as problem:
        return f"missing: {problem}"
    return f"{resolve(None)} for qcore"
