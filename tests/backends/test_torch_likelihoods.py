"""Likelihoods that ask about single entries: on tensors the same as on the host's arrays."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import BMCG, Observations
from bmcg.backends import NumbaBackend
from bmcg.backends.devices import Work
from bmcg.graphs.precision import stack_graphs
from bmcg.inference.fit import Settings, SideInput
from bmcg.inference.sampled import run_sampled
from bmcg.inference.side import Prior
from bmcg.inference.variational import run
from bmcg.likelihoods import likelihood_of

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'bmcg[gpu]'")

from bmcg.backends.torch.array import DeviceArray, Traffic  # noqa: E402
from bmcg.backends.torch.memory import estimate  # noqa: E402

from .test_torch import HostsNoise, torch_backend  # noqa: E402

M, N = 24, 17
TITLES = ["student", "bernoulli", "ordinal 1.0 2.0 3.5", "poisson", "negative_binomial"]


class AllNoise(HostsNoise):
    """With Gamma numbers of the host for shapes of the device."""

    def standard_gamma(self, shape):
        found = self.rng.standard_gamma(np.asarray(shape, np.float64))
        return self.backend.array(found) if isinstance(shape, DeviceArray) else found


def on_tensors(single, hosts_noise=True):
    backend = torch_backend(single=single)
    if hosts_noise:
        backend.random = lambda seed: AllNoise(backend, seed)
    return backend


def data(title, m=M):
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(m, 2)) @ rng.normal(size=(2, N))
    values = {
        "student": Y + 0.3 * rng.standard_t(3, Y.shape),
        "bernoulli": (rng.random(Y.shape) < 1 / (1 + np.exp(-Y))).astype(float),
        "ordinal": np.array([1.0, 2.0, 3.5])[np.clip(np.round(1 + Y), 0, 2).astype(int)],
        "poisson": rng.poisson(np.exp(0.5 * Y)).astype(float),
        "negative_binomial": rng.poisson(np.exp(0.5 * Y)).astype(float),
    }[title.split(" ")[0]]
    return Observations.from_any(np.where(rng.random(Y.shape) < 0.6, values, np.nan))


def fitted(title, backend, sampled, sweeps=5, m=M):
    seen = data(title, m)
    rows, cols = (SideInput(stack_graphs([], size), 1.0) for size in seen.shape)
    settings = Settings(
        family="joint" if sampled else "row", rank=3, max_sweeps=sweeps, bias=True, tol=0.0,
        prior=Prior(likelihood=likelihood_of(title)),
    )  # fmt: skip
    if not sampled:
        return run(seen, rows, cols, settings, backend=backend)
    from dataclasses import replace

    settings = replace(settings, draws=2, burn_in=3, chains=1)
    return run_sampled(seen, rows, cols, settings, backend=backend)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("title", TITLES)
def test_the_bound_after_each_sweep_is_that_of_the_host(title, single):
    found = fitted(title, on_tensors(single), sampled=False).trace
    want = fitted(title, NumbaBackend(1), sampled=False).trace
    np.testing.assert_allclose(found, want, rtol=1e-4 if single else 1e-9)


@pytest.mark.parametrize("title", TITLES)
def test_a_chain_of_the_same_random_numbers_is_that_of_the_host(title):
    found = fitted(title, on_tensors(False), sampled=True)
    want = fitted(title, NumbaBackend(1), sampled=True)
    np.testing.assert_allclose(found.trace, want.trace, rtol=1e-8)
    np.testing.assert_allclose(found.draws.rows, want.draws.rows, atol=1e-5)


@pytest.mark.parametrize("title", TITLES)
def test_a_seed_gives_the_same_chain_twice_in_single_precision(title):
    one, two = (fitted(title, on_tensors(True, False), sampled=True) for _ in range(2))
    np.testing.assert_array_equal(one.draws.rows, two.draws.rows)
    assert np.isfinite(one.trace).all()


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("title", TITLES)
def test_nothing_as_long_as_the_entries_crosses_within_a_sweep(title, sampled):
    """Sweeps of four times the entries cost the same bytes."""
    crossed = []
    for m in (M, 4 * M):
        totals = []
        for sweeps in (3, 6):
            Traffic.to_device = Traffic.to_host = 0
            fitted(title, on_tensors(True, False), sampled, sweeps, m)
            totals.append(Traffic.to_device + Traffic.to_host)
        crossed.append((totals[1] - totals[0]) / 3)
    # Searches of a parameter take more or fewer looks, of some numbers each.
    assert crossed[1] == pytest.approx(crossed[0], abs=4000)


def test_what_single_entries_need_is_counted():
    plain = estimate(Work(480_000, 18_000, 10**8, 32, "row"))
    more = estimate(Work(480_000, 18_000, 10**8, 32, "row", 0, True))
    assert more.entries == plain.entries
    assert more.rest - plain.rest > 5e9


def test_what_is_left_to_the_host_is_told():
    X = data("student").by_row.values[:20].reshape(5, 4)
    with pytest.raises(ValueError, match=r"knows no noise of rows or columns.*device=\"cpu\""):
        BMCG(noise="rows", device="torch").fit(X)
    with pytest.raises(ValueError, match="knows no weak zeros"):
        BMCG(missing="weak-zero", device="torch").fit(np.abs(np.round(X)) + 1.0)
