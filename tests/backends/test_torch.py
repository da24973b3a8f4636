"""Whole fits on tensors: the same as on the host's arrays, which stay where they are meanwhile."""

from __future__ import annotations

import os

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg import BMCG, Observations, load_model
from bmcg.backends import NumbaBackend
from bmcg.backends.devices import Work, check_device, chosen, open_device
from bmcg.graphs.precision import stack_graphs
from bmcg.inference.fit import Settings, SideInput
from bmcg.inference.sampled import run_sampled

from .test_conformance import small_fit, torch_backend

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'bmcg[gpu]'")

from bmcg.backends.torch import entries, memory  # noqa: E402
from bmcg.backends.torch.array import Traffic  # noqa: E402

FAMILIES = [
    ("row", "auto"),
    ("column", "sparse"),
    ("column", "monte_carlo"),
    ("joint", "dense"),
    ("joint", "monte_carlo"),
]


class HostsNoise:
    """The random numbers that the host's back ends draw, so that draws are the same."""

    def __init__(self, backend, seed):
        self.backend, self.rng = backend, np.random.default_rng(seed)

    def standard_normal(self, shape):
        return self._placed(self.rng.standard_normal(shape), shape)

    def random(self, shape):
        return self._placed(self.rng.random(shape), shape)

    def _placed(self, found, shape):
        return self.backend.array(found) if isinstance(shape, tuple) and shape else found

    def standard_gamma(self, shape):
        return self.rng.standard_gamma(shape)


def with_hosts_noise(**options):
    backend = torch_backend(**options)
    backend.random = lambda seed: HostsNoise(backend, seed)
    return backend


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(("family", "engine"), FAMILIES)
def test_the_bound_after_each_sweep_is_that_of_the_host(family, engine, single):
    found = small_fit(with_hosts_noise(single=single), family, engine).trace
    want = small_fit(NumbaBackend(1), family, engine).trace
    # Solves end a step earlier or later where rounding differs.
    loose = 1e-4 if single or engine == "monte_carlo" else 1e-9
    np.testing.assert_allclose(found, want, rtol=loose)


@pytest.mark.parametrize("family", ["row", "joint"])
def test_features_are_learned_as_on_the_host(family):
    F = sp.csr_array(np.random.default_rng(1).normal(size=(24, 3)))
    traces = [
        small_fit(on, family, "auto", F).trace
        for on in (with_hosts_noise(single=False), NumbaBackend(1))
    ]
    np.testing.assert_allclose(*traces, rtol=1e-3)


def ratings(m=60, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 2)) @ rng.normal(size=(2, n)) + rng.normal(size=(m, 1))
    X += 0.2 * rng.normal(size=X.shape)
    return X, rng.random(X.shape) < 0.4


def sampled(backend, data, sweeps=30, seed=0):
    rows, cols = (SideInput(stack_graphs([], size), 1.0) for size in data.shape)
    settings = Settings(family="joint", rank=3, max_sweeps=sweeps, draws=10, bias=True, seed=seed)
    return run_sampled(data, rows, cols, settings, backend=backend)


def test_a_seed_gives_the_same_draws_twice():
    X, seen = ratings()
    data = Observations.from_any(np.where(seen, X, np.nan))
    one, two, other = (sampled(torch_backend(single=True), data, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.draws.rows, two.draws.rows)
    assert np.abs(one.draws.rows - other.draws.rows).max() > 0


def test_draws_predict_as_well_as_those_of_the_host():
    X, seen = ratings()
    data = Observations.from_any(np.where(seen, X, np.nan))
    errors = []
    for backend in (torch_backend(single=True), NumbaBackend(1)):
        fit = sampled(backend, data, 60)
        mean, _ = fit.draws.moments(*np.nonzero(~seen))
        errors.append(np.sqrt(np.mean((fit.offset + fit.scale * mean - X[~seen]) ** 2)))
    assert errors[0] == pytest.approx(errors[1], rel=0.05)
    assert errors[0] < 0.3 * X[~seen].std()


@pytest.mark.parametrize("family", ["sampled", "row"])
def test_nothing_as_long_as_a_side_crosses_within_a_sweep(family):
    """Sweeps cost the same bytes for any number of rows."""
    crossed = []
    for m in (50, 400):
        data = Observations.from_any(np.where(ratings(m)[1], ratings(m)[0], np.nan))
        rows, cols = (SideInput(stack_graphs([], size), 1.0) for size in data.shape)
        totals = []
        for sweeps in (3, 6):
            Traffic.to_device = Traffic.to_host = 0
            settings = Settings(family="row", rank=3, max_sweeps=sweeps, bias=True, tol=0.0)
            if family == "sampled":
                sampled_settings = Settings(
                    family="joint", rank=3, max_sweeps=sweeps, draws=1, bias=True, burn_in=1
                )
                run_sampled(data, rows, cols, sampled_settings, backend=torch_backend())
            else:
                from bmcg.inference.variational import run

                run(data, rows, cols, settings, backend=torch_backend())
            totals.append(Traffic.to_device + Traffic.to_host)
        crossed.append((totals[1] - totals[0]) / 3)
    assert crossed[1] == pytest.approx(crossed[0], abs=100)
    assert crossed[1] < 8000


def test_streamed_entries_give_the_same_fit(monkeypatch):
    monkeypatch.setattr(entries, "STREAMED", 100)
    both = (torch_backend(single=False, stream=stream) for stream in (False, True))
    fits = [small_fit(backend, "row").trace for backend in both]
    np.testing.assert_allclose(*fits, rtol=1e-12)


def test_a_model_of_tensors_is_a_model_like_any_other(tmp_path):
    X, seen = ratings()
    data = np.where(seen, X, np.nan)
    model = BMCG(rank=3, posterior="row", device="torch", max_sweeps=30, random_state=0).fit(data)
    host = BMCG(rank=3, posterior="row", device="cpu", max_sweeps=30, random_state=0).fit(data)
    model.save(tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    assert loaded.device == "auto"
    np.testing.assert_array_equal(loaded.predict([0, 1], [2, 3]), model.predict([0, 1], [2, 3]))
    np.testing.assert_allclose(loaded.predict([0, 1], [2, 3]), host.predict([0, 1], [2, 3]), 1e-6)
    assert isinstance(loaded.fitted_.rows.factors.mean, np.ndarray)
    loaded.fold_in(data[:2])


def test_a_checkpoint_goes_on_on_another_device(tmp_path):
    X, seen = ratings()
    data = np.where(seen, X, np.nan)
    options = {"rank": 3, "posterior": "row", "random_state": 0, "tol": 0.0}
    file = tmp_path / "fit.checkpoint"
    BMCG(**options, max_sweeps=4, device="torch", checkpoint=file).fit(data)
    rest = BMCG(**options, max_sweeps=9, device="cpu", checkpoint=file, resume=True).fit(data)
    whole = BMCG(**options, max_sweeps=9, device="cpu").fit(data)
    np.testing.assert_allclose(rest.elbo_trace_, whole.elbo_trace_, rtol=1e-9)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_told():
    with pytest.raises(ValueError, match='device="cpu"'):
        BMCG(device="cuda").fit(np.eye(3))


def test_what_does_not_fit_is_told_before_the_work(monkeypatch):
    work = Work(480_000, 18_000, 10**8, 32, "sampled")
    need = memory.estimate(work)
    assert 1.5e9 < need.entries < 1.7e9
    free = need.rest + need.entries
    for given, expected in ((1.1 * free, False), (need.rest + need.streamed + 5e8, True)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, g=given: (g, g))
        assert memory.streams("cuda", work) is expected
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2**30, 2**33))
    with pytest.raises(MemoryError, match=r"needs about \d+\.\d GiB on cuda .* lower rank"):
        memory.streams("cuda", work)


def test_auto_stays_on_the_host_without_a_gpu_or_much_to_do():
    assert chosen("auto", Work(10, 10, 100, 2, "row")) == "cpu"
    with open_device("auto", 1, Work(10, 10, 100, 2, "row")) as backend:
        assert backend.name == "numba"


def test_devices_have_names():
    for wrong in ("gpu", "cuda:x", 0):
        with pytest.raises(ValueError, match='choose "auto"'):
            check_device(wrong)


pytestmark = pytest.mark.skipif(
    os.environ.get("BMCG_TEST_DEVICE", "cpu") == "cuda" and not torch.cuda.is_available(),
    reason="no GPU",
)
