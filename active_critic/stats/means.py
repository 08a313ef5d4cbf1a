"""The mean of scores as they come, with an interval over documents, in constant memory."""

from __future__ import annotations

import math
from zlib import crc32

import numpy as np

from active_critic.stats.resampling import FEWEST, Interval

MOST = 4096
"""Documents that are told apart; of more, each counts with those of as many random groups, which are as independent."""


class DocumentMean:
    """The mean of all values, and how far it may be off if other documents had been drawn.

    The interval is Student's, of a ratio estimate over clusters (Cochran, Sampling Techniques, 3rd ed., 1977): texts of
    one document count as one draw, however many there are.
    """

    def __init__(self) -> None:
        self.count = 0
        self._sums: dict[str | int, tuple[float, int]] = {}
        self._grouped = False

    def add(self, value: float, document: str) -> None:
        """Count one more value, of this document."""
        self.count += 1
        self._put(self._key(document), value, 1)
        if len(self._sums) > MOST and not self._grouped:
            self._grouped = True
            several, self._sums = self._sums, {}
            for name, (total, count) in several.items():
                self._put(self._key(str(name)), total, count)

    def _key(self, document: str) -> str | int:
        return crc32(document.encode("utf-8", "surrogatepass")) % MOST if self._grouped else document

    def _put(self, key: str | int, total: float, count: int) -> None:
        before, already = self._sums.get(key, (0.0, 0))
        self._sums[key] = before + total, already + count

    @property
    def documents(self) -> int:
        """How many documents are told apart."""
        return len(self._sums)

    @property
    def mean(self) -> float | None:
        """The mean of all values, each counting the same; None without any."""
        return math.fsum(total for total, _ in self._sums.values()) / self.count if self.count else None

    def interval(self, confidence: float = 0.95) -> Interval | None:
        """Where the mean over all such documents lies, at this confidence.

        None with fewer than five documents, or where all have the same mean: that says nothing of others.
        """
        documents = self.documents
        if self.mean is None or documents < FEWEST:
            return None
        from scipy.special import stdtrit

        totals, counts = (np.array(column, dtype=float) for column in zip(*self._sums.values(), strict=True))
        off = totals - self.mean * counts
        error = math.sqrt(documents / (documents - 1) * float((off**2).sum())) / self.count
        if error <= 1e-12 * max(1.0, abs(self.mean)):
            return None
        width = float(stdtrit(documents - 1, (1 + confidence) / 2)) * error
        return self.mean - width, self.mean + width
