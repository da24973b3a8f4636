"""One package on one split: prints its errors and times as JSON. Runs in the peers' environment.

python methods.py METHOD SPLIT.npz THREADS [SEED]
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import scipy.sparse as sp

SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 0


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
        seed=SEED,
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


def indicators(positions, size):
    """One-hot rows, shape (n_entries, size)."""
    count = len(positions)
    return sp.csr_matrix((np.ones(count), (np.arange(count), positions)), shape=(count, size))


def normalised(pairs, shape):
    """Zeros and ones whose rows are divided by the root of their counts."""
    pattern = sp.csr_matrix((np.ones(len(pairs[0])), tuple(pairs)), shape=shape)
    pattern.data[:] = 1.0
    counts = np.maximum(pattern.getnnz(axis=1), 1)
    return sp.csr_matrix(sp.diags(1.0 / np.sqrt(counts)) @ pattern)


def known(split, side):
    """For each row, or column: itself, its neighbours in the graph, where it was observed."""
    own, other = ("rows", "cols") if side == "row" else ("cols", "rows")
    size, width = split["shape"] if side == "row" else split["shape"][::-1]
    parts = [sp.identity(size, format="csr")]
    if f"{side}_graph" in split:
        parts.append(normalised(split[f"{side}_graph"], (size, size)))
    parts.append(normalised((split[own], split[other]), (size, width)))
    return parts


def run_myfm(split, threads, features):
    """Factorisation machine, rank 10, 200 Gibbs draws of which the last 180 are averaged."""
    import myfm

    m, n = (int(size) for size in split["shape"])
    if features:
        sides = [known(split, side) for side in ("row", "col")]
        shapes = [part.shape[1] for side in sides for part in side]
        stacked = [sp.hstack(side, format="csr") for side in sides]

    def design(part):
        rows, cols = split[f"{part}rows"], split[f"{part}cols"]
        if features:
            blocks = zip((rows, cols), stacked, strict=True)
            empty = sp.csr_matrix((len(rows), 0))
            return empty, [myfm.RelationBlock(where.tolist(), block) for where, block in blocks]
        return sp.hstack((indicators(rows, m), indicators(cols, n)), format="csr"), []

    train, test = design(""), design("test_")
    errors, seconds, paused, average, kept = [], [], 0.0, 0.0, 0
    busy = 0.0
    begin, processor = time.perf_counter(), time.process_time()

    def note(step, machine, *_):
        nonlocal paused, busy, average, kept
        now, then = time.perf_counter(), time.process_time()
        if step >= 20:
            kept += 1
            average = average + (machine.predict_score(*test) - average) / kept
            errors.append(rmse(split["test_values"], average))
            seconds.append(now - begin - paused)
        paused += time.perf_counter() - now
        busy += time.process_time() - then
        return False, None

    myfm.MyFMRegressor(rank=10, random_seed=SEED).fit(
        train[0],
        split["values"],
        X_rel=train[1],
        n_iter=200,
        n_kept_samples=180,
        group_shapes=shapes if features else [m, n],
        callback=note,
    )
    name = "myFM, graphs and observation pattern" if features else "myFM"
    total = time.perf_counter() - begin - paused
    processor = time.process_time() - processor - busy
    found = {"method": name, "errors": errors, "seconds": seconds, "total": total}
    return {**found, "processor": processor}


def run_cmfrec(split, threads):
    """Alternating least squares, the best of three penalties on the test entries."""
    from cmfrec import CMF

    train, fits = matrix(split), []
    for penalty in (5.0, 10.0, 20.0):
        begin = time.perf_counter()
        model = CMF(k=20, lambda_=penalty, use_cg=True, nthreads=threads, verbose=False)
        model.fit(train)
        found = model.predict(split["test_rows"], split["test_cols"])
        found = np.where(np.isfinite(found), found, split["values"].mean())
        fits.append(once("cmfrec ALS", time.perf_counter() - begin, found, split))
    best = min(fits, key=lambda fit: fit["errors"][0])
    return {**best, "total": sum(fit["total"] for fit in fits)}


def run_implicit(split, threads):
    """ALS for implicit feedback; scores are put on the ratings' scale by a line."""
    from implicit.als import AlternatingLeastSquares

    begin = time.perf_counter()
    model = AlternatingLeastSquares(
        factors=20, iterations=15, regularization=0.05, num_threads=threads, random_state=SEED
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
    training = surprise.Dataset(reader).construct_trainset(entries)
    # Costs memory, saves time, changes nothing else.
    options = {"cache_ratings": True} if kind == "SVDpp" else {}
    algorithm = getattr(surprise, kind)(random_state=SEED, **options)
    algorithm.fit(training)
    found = [
        algorithm.predict(int(i), int(j), clip=False).est
        for i, j in zip(split["test_rows"], split["test_cols"], strict=True)
    ]
    return once(f"Surprise {kind}", time.perf_counter() - begin, found, split)


METHODS = {
    "smurff": run_smurff,
    "myfm": lambda split, threads: run_myfm(split, threads, False),
    "myfm-features": lambda split, threads: run_myfm(split, threads, True),
    "cmfrec": run_cmfrec,
    "implicit": run_implicit,
    "surprise-svd": lambda split, threads: run_surprise(split, threads, "SVD"),
    "surprise-svdpp": lambda split, threads: run_surprise(split, threads, "SVDpp"),
}


if __name__ == "__main__":
    method, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    print(json.dumps(METHODS[method](arrays, threads)))
