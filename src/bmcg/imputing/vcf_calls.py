"""What the GT of calls say, looked up by code: each spelling is understood once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.uint16]

TAB, COLON = 9, 58
UNKNOWN = -1

# Bytes of an allele and of what stands between two, as digits of a code; 3 and 2 are neither.
_ALLELES = b"01."
_BETWEEN = b"/|"
_ALLELE_DIGIT = np.full(256, 3, dtype=np.uint16)
_ALLELE_DIGIT[list(_ALLELES)] = range(3)
_BETWEEN_DIGIT = np.full(256, 2, dtype=np.uint16)
_BETWEEN_DIGIT[list(_BETWEEN)] = range(2)
_SINGLE = 32  # codes of calls of one allele start here, those of longer ones four later


class Call(NamedTuple):
    """What a GT says.

    `copies` of the alternative allele are those of two chromosomes, NaN for a missing call;
    `first` and `second` are the alleles of a pair, `UNKNOWN` elsewhere; `problem` says why a
    call cannot be used.
    """

    copies: float
    ploidy: int
    problem: str | None = None
    phased: bool = False
    first: int = UNKNOWN
    second: int = UNKNOWN


def read_call(gt: str) -> Call:
    """The meaning of a GT such as 0/1, 1|1, ./. or 0."""
    alleles = re.split("[/|]", gt)
    ploidy, phased = len(alleles), "|" in gt
    n_missing = alleles.count(".")
    if n_missing == ploidy:
        return Call(np.nan, ploidy, None, phased)
    if n_missing:
        return Call(np.nan, ploidy, "which is half missing")
    if not all(allele in ("0", "1") for allele in alleles):
        return Call(np.nan, ploidy, "which names an allele that the site does not have")
    copies = 2.0 * alleles.count("1") / ploidy
    if ploidy > 2:
        return Call(copies, ploidy, None, phased)
    second = int(alleles[1]) if ploidy == 2 else UNKNOWN
    return Call(copies, ploidy, None, phased, int(alleles[0]), second)


@dataclass(frozen=True)
class CallTable:
    """Properties of the codes, arrays of shape (n_codes,); fields are those of `Call`."""

    copies: Array
    ploidy: NDArray[np.uint8]
    usable: NDArray[np.bool_]
    phased: NDArray[np.bool_]
    first: NDArray[np.int8]
    second: NDArray[np.int8]


class CallReader:
    """Turns the calls of records into codes."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        for between in _BETWEEN:
            for first in (*_ALLELES, None):
                for second in (*_ALLELES, None):
                    known = first is not None and second is not None
                    self.texts.append(f"{first:c}{between:c}{second:c}" if known else "?")
        self.texts += [f"{allele:c}" for allele in _ALLELES] + ["?"]
        self.calls = [read_call(text) for text in self.texts]
        self._longer: dict[bytes, int] = {}
        self._problems = np.array([call.problem is not None for call in self.calls])

    def read(self, cells: bytes) -> Codes:
        """Codes of the calls of a record.

        Parameters
        ----------
        cells : bytes
            The record from its first sample on, cells separated by tabs.

        Returns
        -------
        ndarray of uint16, one for each cell
        """
        data = np.frombuffer(cells + b"\t\t\t\t", dtype=np.uint8)
        starts = np.flatnonzero(data[: len(cells)] == TAB) + 1
        starts = np.concatenate(([0], starts))
        c0, c1, c2, c3 = (data[starts + k] for k in range(4))
        single = (c1 == TAB) | (c1 == COLON)
        pair = (c3 == TAB) | (c3 == COLON)
        a, between, b = _ALLELE_DIGIT[c0], _BETWEEN_DIGIT[c1], _ALLELE_DIGIT[c2]
        codes = np.where(single, _SINGLE + a, 16 * between + 4 * a + b).astype(np.uint16)
        plain = (a < 3) & (single | (pair & (between < 2) & (b < 3)))
        for at in np.flatnonzero(~plain):
            cell = cells[starts[at] :].split(b"\t", 1)[0]
            codes[at] = self._code(cell.split(b":", 1)[0])
        return codes

    def unusable(self, codes: Codes) -> NDArray[np.bool_]:
        """Which codes stand for calls with a problem."""
        return np.asarray(self._problems[codes])

    def _code(self, text: bytes) -> int:
        code = self._longer.get(text)
        if code is None:
            self.texts.append(text.decode("utf-8", "surrogateescape"))
            self.calls.append(read_call(self.texts[-1]))
            code = self._longer[text] = len(self.texts) - 1
            self._problems = np.append(self._problems, self.calls[-1].problem is not None)
        return code

    def table(self) -> CallTable:
        """What the codes handed out so far mean."""
        copies, ploidy, problem, phased, first, second = zip(*self.calls, strict=True)
        return CallTable(
            np.array(copies),
            np.minimum(ploidy, 255).astype(np.uint8),
            np.array([reason is None for reason in problem]),
            np.array(phased),
            np.array(first, dtype=np.int8),
            np.array(second, dtype=np.int8),
        )
