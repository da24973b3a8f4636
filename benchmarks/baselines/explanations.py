"""Measurements that explain figures which the methods miss."""

from __future__ import annotations

from benchmarks.baselines.rows import AUTHORS, OF_AUTHORS, PAPER, Anchor

ON_TEST = "best on the TEST entries"
LOW_RANKS = {"rank": [1, 2, 5, 10], "ridge": [0.1, 1.0]}

# The figures that lie outside twenty masks, by the settings they were measured with.
_OUTSIDE = {
    ("GRALS", "chr22-20%", "demo"),
    ("GPMF", "chr22-20%", "training positions only"),
    ("GRALS", "chr22-10%", "no graph (PMF)"),
    ("BPMF", "chr22-10%", "values × 4"),
}
_single_masks = [
    anchor for anchor in OF_AUTHORS if (anchor.method, anchor.dataset, anchor.label) in _OUTSIDE
]

# Title: (what is behind it, the measurements that show it).
NOTES: dict[str, tuple[str, list[Anchor]]] = {
    "Genotypes: the references come from one mask each": (
        "Which entries are observed changes an error by several per cent: means over masks lie "
        "on both sides of the references. Four references lie just outside all of 20 masks, two "
        "with graphs at 20 % and two without at 10 %. The distances below say how improbable "
        "that is if nothing but the mask differs. The same code agrees with the same references "
        "on every published split, where nothing is drawn; no other cause was found.",
        _single_masks,
    ),
    "GRALS on Flixster, weights chosen": (
        "Which weights the reference chose from is not known. Our grid has powers of ten; a "
        "finer one holds weights that reach the reference, as the best of it on the test "
        "entries shows. That row is told the answer and is no result.",
        [
            Anchor(
                "GRALS",
                "flixster",
                0.9041,
                AUTHORS,
                ON_TEST,
                best_of={"graph_weight": [0.1, 0.4, 1.0, 1.6], "ridge": [0.01, 0.1, 0.3]},
            )
        ],
    ),
    "GRALS, GPMF and KPMF on Douban": (
        "Douban has one graph, which leaves 1,831 users alone, and its ratings say little of a "
        "user beyond how generous he is: at rank 10 the demonstration's ridge of 1e-4 overfits, "
        "with the authors' own codes as with ours (1.0347 and 1.0564 above). The paper's figures "
        "are not those of the settings it states. The best of lower ranks and larger ridges on "
        "the test entries, told the answer and no result, shows what settings of that kind reach.",
        [
            Anchor("GRALS", "douban", 0.7504, PAPER, ON_TEST, best_of=LOW_RANKS),
            Anchor("GPMF", "douban", 0.7497, PAPER, ON_TEST, best_of=LOW_RANKS),
            Anchor(
                "KPMF",
                "douban",
                0.7328,
                PAPER,
                ON_TEST,
                best_of={"rank": [1, 2, 10], "noise_variance": [0.2, 1.0]},
            ),
        ],
    ),
    "GPMF on Flixster": (
        "The authors' own code, rerun, gives 0.9083, or 0.9071 without the test positions, and "
        "ours is within 1 % of both above. The paper's 0.8857 needs other settings; the best of "
        "a small grid on the test entries, no result, shows how much there is to gain.",
        [
            Anchor(
                "GPMF",
                "flixster",
                0.8857,
                PAPER,
                ON_TEST,
                best_of={"rank": [2, 10], "graph_weight": [0.4, 1.6], "ridge": [0.1, 1.0]},
            )
        ],
    ),
}

# Those that are measured for the explanation alone.
EXPLANATIONS = [
    anchor for _, anchors in NOTES.values() for anchor in anchors if anchor.best_of is not None
]
