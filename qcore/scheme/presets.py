"""The named schemes: a scheme, what it implies, and where it loads. One row each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from qcore.scheme import words
from qcore.scheme.scheme import QuantScheme
from qcore.scheme.text import parse_text


@dataclass(frozen=True, slots=True)
class Preset:
    """A named scheme and what quantizing with it implies.

    Parameters
    ----------
    name : str
        The name.
    scheme : QuantScheme
        The scheme.
    summary : str
        What it is, in one sentence.
    portable : str
        Where it loads, in one sentence.
    calibration : str
        How scales are found unless the caller says otherwise.
    scale_rounding : str
        How they are rounded to their dtype unless the caller says otherwise.
    tied : str or None
        ``"row"``: one calibration for each row of the last axis.
    codebook : str or None
        Name of the table of a lookup scheme.
    arithmetic : str
        ``"exact"``, or the foreign arithmetic whose bytes it reproduces.

    Examples
    --------
    >>> PRESETS["nvfp4"].scale_rounding, str(PRESETS["nvfp4"].scheme)
    ('nearest', 'e2m1/packed/b16:ue4m3/t:f32')
    """

    name: str
    scheme: QuantScheme
    summary: str
    portable: str
    calibration: str = "minmax"
    scale_rounding: str = "up"
    tied: str | None = None
    codebook: str | None = None
    arithmetic: str = "exact"

    def __str__(self) -> str:
        """Return the preset's name."""
        return self.name


class Presets(Mapping[str, Preset]):
    """The presets by name, read whatever the case and the dashes; an unknown name is a documented error.

    Examples
    --------
    >>> PRESETS["FP4_BNB"] is PRESETS["fp4-bnb"], "nf5" in PRESETS
    (True, False)
    """

    def __init__(self, rows: tuple[Preset, ...]) -> None:
        """Index the rows by every name they have."""
        self._rows = {row.name: row for row in rows}
        self._by_word = {words.key(row.name): row for row in rows}

    def find(self, word: object) -> Preset | None:
        """Return the preset that a word names, or None.

        Parameters
        ----------
        word : object
            A name as somebody wrote it.

        Returns
        -------
        Preset or None
            The preset.

        Examples
        --------
        >>> PRESETS.find("MXFP4").name
        'mxfp4'
        """
        return words.look_up(self._by_word, word)

    def __getitem__(self, name: str) -> Preset:
        """Return the preset of that name, or raise ``unknown-name``."""
        found = self.find(name)
        return found if found is not None else words.unknown("preset", name, self._rows)

    def __contains__(self, name: object) -> bool:
        """Tell whether a word names a preset."""
        return self.find(name) is not None

    def get(self, name: object, default: Any = None) -> Any:
        """Return the preset of that name, or the default.

        Parameters
        ----------
        name : object
            A name.
        default : object
            What to return when it names nothing.

        Returns
        -------
        Preset or object
            The preset or the default.

        Examples
        --------
        >>> PRESETS.get("nf5") is None
        True
        """
        found = self.find(name)
        return default if found is None else found

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in the order of the table."""
        return iter(self._rows)

    def __len__(self) -> int:
        """Return the number of presets."""
        return len(self._rows)

    def __repr__(self) -> str:
        """Return the names."""
        return f"PRESETS({', '.join(self._rows)})"


def _row(name: str, text: str, summary: str, portable: str, **implied: str) -> Preset:
    return Preset(name, parse_text(text).scheme, summary, portable, **implied)


PRESETS: Final = Presets(
    (
        _row(
            "burn-default",
            "q8f/u32",
            "What Burn quantizes to when nothing is said: full-range 8-bit integers, one F32 scale.",
            "Every Burn target, where a row is a multiple of 4.",
        ),
        _row(
            "burn-int8",
            "q8s/u32/b32:f32",
            "8-bit integers in blocks of 32, in the form that every Burn backend reads.",
            "Every Burn target, where a row is a multiple of 32.",
        ),
        _row(
            "burn-int4",
            "q4s/u32/b32:f32",
            "4-bit integers in blocks of 32, in the form that Burn's backends share.",
            "Every Burn target but burn-ndarray, where a row is a multiple of 32.",
        ),
        _row(
            "int8",
            "q8s/native/t:f32",
            "8-bit integers and one scale for the whole tensor.",
            "Every Burn target, whatever the shape.",
        ),
        _row(
            "int8-b32",
            "q8s/native/b32:f16",
            "8-bit integers in blocks of 32 with F16 scales.",
            "Every Burn target; GGUF, where a row is a multiple of 32.",
        ),
        _row(
            "int8-channel",
            "q8s/native",
            "8-bit integers and one scale for each row.",
            "Every Burn target, as blocks that repeat the row's scale.",
            tied="row",
        ),
        _row(
            "int4-b32",
            "q4s/u32/b32:f16",
            "4-bit integers in blocks of 32 with F16 scales.",
            "Every Burn target but burn-ndarray, and GGUF, where a row is a multiple of 32.",
        ),
        _row(
            "int2-b32",
            "q2s/u32/b32:f16",
            "Ternary integers in blocks of 32 with F16 scales.",
            "Every Burn target but burn-ndarray, where a row is a multiple of 32.",
        ),
        _row(
            "bitnet",
            "q2s/u32/t:f32",
            "BitNet's ternary weights: one scale, the mean of the magnitudes.",
            "Every Burn target but burn-ndarray, where a row is a multiple of 16.",
            calibration="absmean",
        ),
        _row(
            "fp8",
            "e4m3/native/t:f32",
            "FP8 (E4M3) and one scale for the whole tensor.",
            "Burn's GPU targets hold the bits; no Burn CPU backend reads them.",
        ),
        _row(
            "fp8-channel",
            "e4m3/native",
            "FP8 (E4M3) and one scale for each row.",
            "Burn's GPU targets hold the bits; no Burn CPU backend reads them.",
            tied="row",
        ),
        _row(
            "fp8-e5m2",
            "e5m2/native/t:f32",
            "FP8 (E5M2, more range and less precision) and one scale for the whole tensor.",
            "Burn's GPU targets hold the bits; no Burn CPU backend reads them.",
        ),
        _row(
            "mxfp8",
            "e4m3/native/b32:ue8m0",
            "OCP MXFP8: E4M3 in blocks of 32 with power-of-two scales, rounded up so that nothing clips.",
            "No Burn target: Burn neither reads nor writes UE8M0 scales.",
        ),
        _row(
            "mxfp4",
            "e2m1/packed/b32:ue8m0",
            "OCP MXFP4: E2M1 in blocks of 32 with power-of-two scales, from the peak's rounded exponent.",
            "GGUF, where a row is a multiple of 32; no Burn target: Burn neither reads nor writes UE8M0 scales.",
            scale_rounding="even",
        ),
        _row(
            "nvfp4",
            "e2m1/packed/b16:ue4m3/t:f32",
            "NVIDIA's NVFP4: E2M1 in blocks of 16 with E4M3 scales under one F32 scale.",
            "GGUF, where a row is a multiple of 64; no Burn target splits its bytes rightly yet.",
            scale_rounding="nearest",
        ),
        _row(
            "nf4",
            "q4f/u32/lookup/b64:f32",
            "NormalFloat 4: indices into the quantiles of a normal distribution, in blocks of 64.",
            "qcore alone: the table travels beside the tensor, and Burn's formats have no place for it.",
            codebook="nf4",
        ),
        _row(
            "fp4-bnb",
            "q4f/u32/lookup/b64:f32",
            "The 4-bit float of bitsandbytes, as a table, in blocks of 64.",
            "qcore alone: the table travels beside the tensor, and Burn's formats have no place for it.",
            codebook="fp4-bnb",
        ),
        _row(
            "q8_0",
            "q8s/native/b32:f16",
            "ggml's Q8_0, byte for byte.",
            "GGUF, where a row is a multiple of 32; every Burn target reads the scheme.",
            scale_rounding="nearest",
            arithmetic="ggml-q8_0",
        ),
        _row(
            "q4_0",
            "q4f/u32/b32:f16",
            "ggml's Q4_0, byte for byte; its scales may be negative.",
            "GGUF, where a row is a multiple of 32; every Burn target but burn-ndarray reads the scheme.",
            scale_rounding="nearest",
            arithmetic="ggml-q4_0",
        ),
    )
)
"""The presets by name."""
