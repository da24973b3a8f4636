"""What the tables say of given results, the paper's figures, the priors, the masks."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bmcg.bench.experiments import EXPERIMENTS
from bmcg.bench.methods import OURS_LABEL, PAPER_METHODS, all_entries
from bmcg.bench.priors import GRAPH, log_prior, prior_rows
from bmcg.bench.published import published, references
from bmcg.bench.sources import cross_mask
from bmcg.bench.summary import Summary
from bmcg.bench.tables import page


def row(case, label, seed, value, **more):
    found = {
        "group": case.group, "case": case.name, "label": label, "seed": seed, "quick": False,
        "status": "ok", "reason": None, case.metric: value, "ssim": 0.5, "seconds": 1.0,
        "commit": "c", "machine": "m", "versions": json.dumps({}),
    }  # fmt: skip
    return {**found, **more}


def test_a_cell_shows_mean_spread_and_the_published_figure():
    experiment = EXPERIMENTS["genotype"](False)
    case = experiment.cases[0]
    rows = [row(case, "GRALS", seed, value) for seed, value in enumerate((0.03, 0.05))]
    rows += [row(case, OURS_LABEL, seed, 0.03) for seed in (0, 1)]
    text = page(Summary(experiment, rows))
    assert "0.0400 ± 0.0141 (0.5140)" in text
    assert "**0.0300** ± 0.0000 (0.0373)" in text
    assert "0.0373: -19.6 %, better or equal" in text
    assert "0.0400: -25.0 %, better or equal" in text


def test_tuned_methods_are_compared_apart_from_those_at_their_authors_settings():
    experiment = EXPERIMENTS["genotype"](False)
    case = experiment.cases[0]
    rows = [row(case, "GRALS", 0, 0.04), row(case, "GRALS (tuned)", 0, 0.02)]
    text = page(Summary(experiment, [*rows, row(case, OURS_LABEL, 0, 0.03)]))
    plain = "GRALS 0.0400: -25.0 %, better or equal"
    assert f"| {plain} | GRALS (tuned) 0.0200: +50.0 %, worse |" in text


def test_higher_is_better_for_images():
    experiment = EXPERIMENTS["inpainting"](False)
    case = experiment.cases[0]
    rows = [row(case, "GRALS", 0, 21.0), row(case, OURS_LABEL, 0, 20.0)]
    text = page(Summary(experiment, rows))
    assert "**21.00**" in text
    assert "20.77: -0.77 dB, worse" in text


def test_a_reason_stands_where_a_figure_is_missing():
    experiment = EXPERIMENTS["genotype"](False)
    case = experiment.cases[0]
    rows = [
        row(case, "GRALS", 0, None, status="failed", reason="stopped after 9 s"),
        row(case, "KPMF", 0, 0.1),
        row(case, "KPMF", 1, None, status="not run", reason="time"),
    ]
    text = page(Summary(experiment, rows))
    assert "| GRALS | stopped after 9 s; (0.5140) |" in text
    assert "[1 of 2 seeds; others: not run (time)]" in text


def test_methods_without_graphs_score_the_same_where_only_graphs_differ():
    experiment = EXPERIMENTS["genotype"](False)
    shared = experiment.cases[0]
    twin = next(case for case in experiment.cases if case.twin and case.name == shared.name)
    summary = Summary(experiment, [row(shared, "VBMC", 0, 0.2)])
    assert summary.figure(twin, "VBMC").mean == 0.2
    assert summary.published(twin, "VBMC") is None


def test_the_papers_tables_are_complete():
    for bench, count in (("recommendation", 4), ("genotype", 3), ("inpainting", 9)):
        cases = {case.published or case.name for case in EXPERIMENTS[bench](False).cases}
        assert len(cases) == count
        for method in PAPER_METHODS:
            assert all(published(bench, method, case) is not None for case in cases)
    assert published("genotype", "BMCG", "20 %") == 0.0258
    assert published("synthetic", "BMCG", "rank 5") is None


def test_references_name_columns_of_their_bench():
    for bench in EXPERIMENTS:
        names = {case.name for case in EXPERIMENTS[bench](False).cases}
        assert all(set(entry.values) <= names for entry in references(bench))


def test_every_method_of_the_paper_takes_part_in_each_table():
    assert {entry.method for entry in all_entries()} == set(PAPER_METHODS)
    for name in ("recommendation", "genotype", "inpainting", "synthetic", "cross-mask"):
        for case in EXPERIMENTS[name](False).cases:
            assert {entry.method for entry in case.entries} == set(PAPER_METHODS)


def test_the_prior_is_the_integral_over_its_precision():
    # ∫ N(w | 0, (λL)⁻¹) Gamma(λ | c, d) dλ for the paper's L, on two points.
    from scipy.integrate import quad
    from scipy.stats import gamma, multivariate_normal

    c, d = 1.5, 0.7

    def marginal(w):
        def integrand(lam):
            normal = multivariate_normal.pdf(w, cov=np.linalg.inv(lam * GRAPH))
            return normal * gamma.pdf(lam, c, scale=1.0 / d)

        return quad(integrand, 0.0, 80.0)[0]

    points = np.array([[0.3, 0.1], [-1.0, 0.8]])
    ratio = np.log(marginal(points[0]) / marginal(points[1]))
    logs = log_prior(points, GRAPH, c, d)
    assert ratio == pytest.approx(logs[0] - logs[1], rel=1e-6)


def test_the_graph_prior_prefers_equal_neighbours():
    rows = {
        (r["w1"], r["w2"]): r["value"]
        for r in prior_rows()
        if r["figure"] == "density" and r["prior"] == "graph"
    }
    assert rows[1.0, 1.0] > rows[1.0, -1.0]
    assert max(rows, key=rows.get) == (0.0, 0.0)


def test_the_cross_mask_leaves_whole_rows_and_columns_out():
    mask = cross_mask((256, 256))
    assert (~mask).all(axis=1).sum() == (~mask).all(axis=0).sum() == 32
    rows, cols = mask.any(axis=1), mask.any(axis=0)
    np.testing.assert_array_equal(mask, np.outer(rows, cols))


def test_the_rival_is_the_one_we_fare_worst_against_on_common_seeds():
    case = EXPERIMENTS["synthetic"](True).cases[0]

    def row(label, seed, value, status="ok"):
        place = {"group": case.group, "case": case.name, "label": label, "seed": seed}
        rest = {"status": status, "reason": "why", "seconds": 1.0, "quick": True}
        return {**place, **rest, case.metric: value}

    rows = [row("ours", 0, 2.0), row("ours", 1, 8.0), row("even", 0, 4.0), row("even", 1, 4.0)]
    rows += [row("even", 2, 99.0), row("lucky", 0, 2.5), row("absent", 0, None, "failed")]
    summary = Summary(EXPERIMENTS["synthetic"](True), rows)
    # Means over all seeds, 5.0 against 2.5, would compare different data.
    found = summary.rival(case, "ours", ["lucky", "absent"])
    assert found == ("lucky", 2.0, 2.5, 1)
    assert summary.rival(case, "ours", ["even", "lucky"]) == ("even", 5.0, 4.0, 2)
    assert summary.rival(case, "ours", ["absent"]) is None
