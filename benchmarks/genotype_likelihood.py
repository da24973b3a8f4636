"""Probabilities of genotypes, by calibration as `bmcg impute` has them and by the likelihood.

    BMCG_DATA=data python benchmarks/genotype_likelihood.py

One call in ten is hidden; `ordinal` with levels 0, 1 and 2 copies, biases and the `row` posterior
gives its probabilities as they are. Writes docs/results/genotype-likelihood.md. A part of each
cohort, 300 sites of 150 people at most, without phase.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

from bmcg import BMCG
from genotype_calibration import HIDDEN, PAGE, Cohort, cohorts, fill
from reporting import machine, table, write_page

MOST = (300, 150)


def of_likelihood(cohort: Cohort) -> np.ndarray:
    """Probabilities of hidden calls, (n, 3), of the same calls that `fill` hides."""
    X = cohort.copies
    gone = np.random.default_rng(5).random(X.shape) < HIDDEN
    seen = np.where(gone, np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BMCG(
            likelihood="ordinal", posterior="row", bias=True, selection=False, random_state=0
        ).fit(seen)
    return model.predict_proba(*np.nonzero(gone))


def main() -> None:
    """Both, on a part of each cohort."""
    lines = []
    for whole in cohorts():
        cohort = Cohort(whole.name, whole.copies[: MOST[0], : MOST[1]], None)
        gone = np.random.default_rng(5).random(cohort.copies.shape) < HIDDEN
        truth = cohort.copies[gone]
        for name, way in (
            ("calibrated, as `bmcg impute`", lambda c: fill(c, False).chances),
            ('`likelihood="ordinal"`', of_likelihood),
        ):
            began = time.process_time()
            chances = way(cohort)
            seconds = time.process_time() - began
            at = chances[np.arange(len(truth)), truth]
            right = (chances.argmax(axis=1) == truth).mean()
            figures = [f"{right:.4f}", f"{-np.log(np.maximum(at, 1e-6)).mean():.4f}"]
            lines.append([cohort.name, name, *figures, f"{seconds:.0f}"])
            print(*lines[-1], flush=True)
    header = ["cohort", "probabilities", "right", "log-loss", "seconds"]
    parts = ["# Genotypes by the likelihood", __doc__.split("\n\n", 2)[2].strip()]
    text = "\n\n".join([*parts, table(header, lines), f"{machine()}."]) + "\n"
    write_page(PAGE.with_name("genotype-likelihood.md"), text)


if __name__ == "__main__":
    main()
