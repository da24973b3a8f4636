"""What surrounds the work: help, silence, interrupts, start-up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from bmcg import BMCG, __version__, load_model
from bmcg.cli.app import app
from bmcg.cli.outcome import UserError
from bmcg.inference import variational as loop
from bmcg.inference.questions import TRIAL_SWEEPS

from .conftest import COLUMNS, DENSE, FIT, call
from .test_impute import sensors, write

COMMANDS = [found.name or found.callback.__name__ for found in app.registered_commands]


def bmcg(*arguments):
    return [sys.executable, "-c", "from bmcg.cli import main; main()", *map(str, arguments)]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command):
    ended = call(command, "--help")
    assert ended.code == 0
    assert f"bmcg {command}" in ended.out.split("Example", 1)[1]


def test_version_is_the_packages():
    assert call("--version").out.strip() == f"bmcg {__version__}"


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from bmcg.cli.app import app\n"
        "try: app(['fit', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'numba', 'sklearn', 'pyarrow', 'narwhals'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr.strip() == "[]"


def test_fit_in_a_pipe_says_only_what_it_found(ratings, tmp_path):
    command = bmcg("fit", ratings, *FIT, "--max-sweeps", 200, "-o", tmp_path / "m")
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    model = load_model(tmp_path / "m")
    assert ended.stderr == ""
    assert ended.stdout.splitlines() == [
        f"{tmp_path / 'm'}: rank {model.rank_}, noise {model.noise_std_:.4g}, "
        f"{model.n_sweeps_} sweeps, converged"
    ]


def test_verbose_fit_shows_bound_and_rank_of_every_sweep(ratings, tmp_path):
    ended = call("fit", ratings, *FIT, "--max-sweeps", 3, "-v", "-o", tmp_path / "m")
    sweeps = [line for line in ended.err.splitlines() if line.startswith("sweep")]
    assert len(sweeps) == 3
    assert all("bound" in line and "rank" in line for line in sweeps)


def test_fit_that_ran_out_of_sweeps_warns_and_succeeds(ratings, tmp_path):
    ended = call("fit", ratings, *FIT, "--max-sweeps", 2, "-o", tmp_path / "m")
    assert ended.code == 0
    assert ended.err.startswith("warning: stopped at max_sweeps=2")
    assert "stopped at the most sweeps" in call("info", tmp_path / "m").out


def interrupt_at_the_fourth_sweep(monkeypatch):
    step = loop._Loop._step

    def interrupt(self, *arguments):
        # Not the short fits that decide on biases.
        if len(self.trace) == 3 and self.settings.max_sweeps > TRIAL_SWEEPS:
            raise KeyboardInterrupt
        return step(self, *arguments)

    monkeypatch.setattr(loop._Loop, "_step", interrupt)


def test_interrupted_fit_saves_the_last_sweep(ratings, tmp_path, monkeypatch):
    interrupt_at_the_fourth_sweep(monkeypatch)
    ended = call("fit", ratings, *FIT, "-o", tmp_path / "m")
    assert ended.code == 130
    assert "interrupted after 3 sweeps" in ended.err
    assert f"interrupted: {tmp_path / 'm'} was written, as the fit stood after 3" in ended.err
    model = load_model(tmp_path / "m")
    assert model.n_sweeps_ == 3
    assert model.stop_reason_ == "interrupted"


def test_an_interrupted_fit_says_how_to_go_on_and_does(ratings, tmp_path, monkeypatch):
    command = ("fit", ratings, *FIT, *DENSE, "--max-sweeps", 200)
    assert call(*command, "-o", tmp_path / "whole").code == 0
    command += ("-o", tmp_path / "m", "--checkpoint", tmp_path / "c")
    with monkeypatch.context() as patch:
        interrupt_at_the_fourth_sweep(patch)
        ended = call(*command)
    assert ended.code == 130
    assert ended.err.endswith("to go on, give the same command with --resume --force\n")
    ended = call(*command, "--resume", "--force")
    assert ended.code == 0, ended.err
    assert ended.err == ""
    assert not (tmp_path / "c").exists()
    whole, again = load_model(tmp_path / "whole"), load_model(tmp_path / "m")
    np.testing.assert_allclose(again.elbo_trace_, whole.elbo_trace_, rtol=1e-10)


def test_interrupt_before_the_first_sweep_writes_nothing(ratings, tmp_path, monkeypatch):
    def interrupt(self, *arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(BMCG, "_run", interrupt)
    ended = call("fit", ratings, *FIT, "-o", tmp_path / "m")
    assert ended.code == 130
    assert ended.err == "interrupted: nothing was written\n"
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("command", ["predict", "complete", "recommend", "fold-in", "update"])
def test_interrupt_ends_every_command_with_130(
    command, fitted, ratings, pairs, tmp_path, monkeypatch
):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("bmcg.cli.predict_work.load_model", interrupt)
    out = ("-o", tmp_path / "out.csv")
    arguments = {
        "predict": (pairs, *out),
        "complete": out,
        "recommend": ("--all", *out),
        "fold-in": (ratings, "--value", "rating", *out),
        "update": (ratings, "--data", ratings, "--value", "rating", *out),
    }[command]
    ended = call(command, fitted, *arguments)
    assert (ended.code, ended.err) == (130, "interrupted: nothing was written\n")


@pytest.mark.skipif(os.name != "posix", reason="signals as shells send them")
def test_signal_ends_the_process_with_130(ratings, tmp_path):
    # A tolerance of zero and many sweeps: the fit is still at it when the signal comes.
    options = ("--max-sweeps", 10**9, "--tol", 0, "--verbose", "-o", tmp_path / "m")
    command = bmcg("fit", ratings, *FIT, *options)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("sweep 2 "):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
        code = process.wait()
    assert code == 130, rest
    assert "Traceback" not in rest
    assert load_model(tmp_path / "m").n_sweeps_ >= 2


def test_traceback_is_kept_on_request(tmp_path, monkeypatch):
    monkeypatch.setenv("BMCG_TRACEBACK", "1")
    ended = CliRunner().invoke(app, ["info", str(tmp_path / "nothing")])
    assert isinstance(ended.exception, UserError)


def test_the_default_fit_says_which_posterior_predicts_better(ratings, tmp_path):
    ended = call("fit", ratings, *COLUMNS, "--max-sweeps", 10, "-o", tmp_path / "m")
    assert ended.code == 0
    said = call("info", tmp_path / "m").out
    assert "posterior: a variational posterior (column)" in said


def test_ctrl_c_ends_with_130_and_the_same_command_goes_on(tmp_path, monkeypatch):
    _, cells, _ = sensors(60, 8)
    path = write(tmp_path / "in.csv", cells)
    command = ["impute", path, "--row", "id", "--seed", "3", "--scale", "no"]
    command += ["--posterior", "variational"]
    assert call(*command, "-o", tmp_path / "whole.csv").code == 0

    real, sweeps = loop.sweep, []

    def interrupt(*arguments, **more):
        sweeps.append(1)
        # Trials for biases come first; the fit itself is interrupted.
        if len(sweeps) == 25:
            raise KeyboardInterrupt
        return real(*arguments, **more)

    monkeypatch.setattr(loop, "sweep", interrupt)
    kept = ("-o", tmp_path / "out.csv", "--checkpoint", tmp_path / "fit.checkpoint")
    ended = call(*command, *kept)
    assert ended.code == 130, ended.err
    assert "out.csv" in ended.err
    assert "--resume --force" in ended.err
    assert (tmp_path / "fit.checkpoint").exists()
    monkeypatch.setattr(loop, "sweep", real)
    ended = call(*command, *kept, "--resume", "--force")
    assert ended.code == 0, ended.err
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert not os.path.exists(tmp_path / "fit.checkpoint")
