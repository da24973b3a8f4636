"""One package on one split: prints its errors and times as JSON. Runs in the peers' environment.

python methods.py METHOD SPLIT.npz THREADS
"""

from __future__ import annotations

import json
import os
import sys
import time

import numpy as np
import scipy.sparse as sp


def rmse(truth, found):
    """Root mean squared error."""
    return float(np.sqrt(np.mean((np.asarray(truth) - np.asarray(found)) ** 2)))


def once(name, seconds, found, split):
    """The outcome of a method whose error is known at its end alone."""
    error = rmse(split["test_values"], found)
    return {"method": name, "errors": [error], "seconds": [seconds], "total": seconds}


def matrix(split, part=""):
    """Training or test entries as a sparse matrix."""
    rows, cols, values = (split[f"{part}{name}"] for name in ("rows", "cols", "values"))
    return sp.coo_matrix((values, (rows, cols)), shape=tuple(split["shape"]))


def run_smurff(split, threads):
    """BPMF: 16 factors, 40 draws thrown away, 120 kept."""
    import smurff

    session = smurff.TrainSession(
        priors=["normal", "normal"],
        num_latent=16,
        burnin=40,
        nsamples=120,
        num_threads=threads,
        verbose=0,
        seed=0,
    )
    # Ratings are centred, as BPMF has no offset of its own.
    mean = split["values"].mean()
    train, test = matrix(split), matrix(split, "test_")
    train.data, test.data = train.data - mean, test.data - mean
    session.addTrainAndTest(train, test, smurff.AdaptiveNoise(1.0, 10.0))
    begin = time.perf_counter()
    session.init()
    errors, seconds = [], []
    while session.step():
        # Averages exist once draws are kept.
        average = session.getRmseAvg()
        if np.isfinite(average) and average > 0:
            errors.append(float(average))
            seconds.append(time.perf_counter() - begin)
    total = time.perf_counter() - begin
    return {
        "method": "smurff BPMF",
        "errors": errors,
        "seconds": seconds,
        "total": total,
    }


def run_myfm(split, threads):
    """Factorisation machine, rank 10, 200 Gibbs draws."""
    import myfm

    m, n = split["shape"]

    def one_hot(part):
        count = len(split[f"{part}rows"])
        where = np.arange(count)
        users = sp.csr_matrix((np.ones(count), (where, split[f"{part}rows"])), shape=(count, m))
        items = sp.csr_matrix((np.ones(count), (where, split[f"{part}cols"])), shape=(count, n))
        return sp.hstack((users, items), format="csr")

    begin = time.perf_counter()
    model = myfm.MyFMRegressor(rank=10, random_seed=0)
    model.fit(
        one_hot(""), split["values"], n_iter=200, n_kept_samples=180, group_shapes=[int(m), int(n)]
    )
    found = model.predict(one_hot("test_"))
    return once("myFM", time.perf_counter() - begin, found, split)


def run_cmfrec(split, threads):
    """Alternating least squares, the best of three penalties."""
    import pandas as pd
    from cmfrec import CMF

    train = pd.DataFrame(
        {"UserId": split["rows"], "ItemId": split["cols"], "Rating": split["values"]}
    )
    best = None
    begin = time.perf_counter()
    for penalty in (5.0, 10.0, 20.0):
        model = CMF(k=20, lambda_=penalty, use_cg=True, nthreads=threads, verbose=False)
        model.fit(train)
        found = model.predict(split["test_rows"], split["test_cols"])
        found = np.where(np.isfinite(found), found, split["values"].mean())
        outcome = once("cmfrec ALS", time.perf_counter() - begin, found, split)
        if best is None or outcome["errors"][0] < best["errors"][0]:
            best = outcome
    best["total"] = time.perf_counter() - begin
    return best


def run_implicit(split, threads):
    """ALS for implicit feedback; scores are put on the ratings' scale by a line."""
    from implicit.als import AlternatingLeastSquares

    begin = time.perf_counter()
    model = AlternatingLeastSquares(
        factors=20, iterations=15, regularization=0.05, num_threads=threads, random_state=0
    )
    model.fit(matrix(split).tocsr().astype(np.float32), show_progress=False)
    score = {
        part: np.einsum(
            "ir,ir->i",
            model.user_factors[split[f"{part}rows"]],
            model.item_factors[split[f"{part}cols"]],
        )
        for part in ("", "test_")
    }
    slope, level = np.polyfit(score[""], split["values"], 1)
    found = level + slope * score["test_"]
    return once("implicit ALS, regressed", time.perf_counter() - begin, found, split)


def run_surprise(split, threads, kind):
    """Surprise's defaults."""
    import surprise

    reader = surprise.Reader(rating_scale=(split["values"].min(), split["values"].max()))
    triples = zip(split["rows"], split["cols"], split["values"], strict=True)
    entries = [(int(i), int(j), float(x), None) for i, j, x in triples]
    begin = time.perf_counter()
    data = surprise.Dataset(reader)
    data.raw_ratings = entries
    algorithm = getattr(surprise, kind)(random_state=0)
    algorithm.fit(data.build_full_trainset())
    found = [
        algorithm.predict(int(i), int(j), clip=False).est
        for i, j in zip(split["test_rows"], split["test_cols"], strict=True)
    ]
    return once(f"Surprise {kind}", time.perf_counter() - begin, found, split)


METHODS = {
    "smurff": run_smurff,
    "myfm": run_myfm,
    "cmfrec": run_cmfrec,
    "implicit": run_implicit,
    "surprise-svd": lambda split, threads: run_surprise(split, threads, "SVD"),
    "surprise-svdpp": lambda split, threads: run_surprise(split, threads, "SVDpp"),
}


if __name__ == "__main__":
    method, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    print(json.dumps(METHODS[method](arrays, threads)))
