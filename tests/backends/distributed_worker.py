"""One of several processes of a fit, for `test_distributed`: prints what it saw as JSON."""

from __future__ import annotations

import json
import sys

import numpy as np

from bmcg import BMCG, Observations
from bmcg.graphs import chain_graph

M, N, RANK, SWEEPS = 60, 56, 4, 6
ROW = {"posterior": "row", "rank": RANK, "bias": True, "selection": False, "max_sweeps": SWEEPS}
ROW["local"] = None
DRAWN = {**ROW, "posterior": "sampled", "n_draws": 3, "value_range": None}
# Tensors of the CPU: what runs on a GPU, but for its kernels and NCCL.
TENSORS = {"device": "torch"}
FITS = {
    "row": (ROW, False),
    "sampled": (DRAWN, False),
    "row, graph": ({**ROW, "learn_graphs": False}, True),
    "sampled, graph": (DRAWN, True),
    "row, tensors": ({**ROW, **TENSORS}, False),
    "row, graph, tensors": ({**ROW, **TENSORS, "learn_graphs": False}, True),
    "sampled, tensors": ({**DRAWN, **TENSORS}, False),
    "sampled, graph, tensors": ({**DRAWN, **TENSORS}, True),
}


def triples():
    """A planted matrix with noise, a fifth of it observed: rows, columns, values."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(M, 2)) @ rng.normal(size=(2, N)) + 0.3 * rng.normal(size=(M, N))
    i, j = np.nonzero(rng.random((M, N)) < 0.4)
    return i, j, X[i, j]


def with_hub(n):
    """A chain and a node next to all: a bare chain would be drawn otherwise in one process."""
    A = chain_graph(n).tolil()
    A[0, 1:] = A[1:, 0] = 1.0
    return A.tocsr()


def fit(observations, name):
    """The model of one of `FITS`."""
    options, tied = FITS[name]
    graphs = (with_hub(M), with_hub(N)) if tied else (None, None)
    return BMCG(random_state=0, tol=0.0, n_jobs=1, **options).fit(observations, *graphs)


def main() -> None:
    """Fit as one of the processes."""
    import warnings

    from bmcg.backends.distributed.group import connect, disconnect
    from bmcg.backends.distributed.observations import shared

    warnings.simplefilter("ignore")
    group, (i, j, x) = connect(), triples()
    own = slice(group.rank, None, group.size)
    data = shared(Observations.from_triples(i[own], j[own], x[own], shape=(M, N)))
    out = {"bytes": data.own_bytes, "entries": len(data), "fingerprint": data.fingerprint()}
    out["values"] = [float(data.values.min()), float(data.values.max()), float(data.values.mean())]
    out["some"] = [part.tolist() for part in data.of_rows(np.array([3, 50]))]
    out["traces"], out["sent"], out["predicted"] = {}, {}, {}
    for name in FITS:
        before = group.traffic.factors
        model = fit(data, name)
        out["traces"][name] = model.elbo_trace_.tolist()
        out["sent"][name] = group.traffic.factors - before
        out["predicted"][name] = model.predict([0, 5], [1, 2]).tolist()
    out["refused"] = {}
    for name, given, graph in (
        ("likelihood", {"likelihood": "student"}, None),
        ("pattern", {}, "auto"),
    ):
        try:
            BMCG(**given).fit(data, graph)
        except ValueError as error:
            out["refused"][name] = str(error)
    try:
        shared(Observations.from_triples([0], [0], [1.0], shape=(2, 2)))
    except ValueError as error:
        out["refused"]["twice"] = str(error)
    print(json.dumps(out))
    sys.stdout.flush()
    disconnect()


if __name__ == "__main__":
    main()
