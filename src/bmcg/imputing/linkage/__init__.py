"""Sites that lie near each other on a chromosome are inherited together.

From genotypes with positions to probabilities of the missing calls: every haplotype is a mosaic
of others, whose pieces are as long as the calls say.
"""

from __future__ import annotations

from .filling import Copied, fill_along, is_possible
from .strands import Along

__all__ = ["Along", "Copied", "fill_along", "is_possible"]
