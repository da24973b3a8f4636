"""Sensors over time: entries lost one by one, by the day, or all at once."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from ..checks import check_choice
from ..graphs import chain_graph, geo_graph
from ._archives import RESEARCH, DataDir, field_archive, matrix_dataset
from ._files import DatasetFormatError
from .dataset import Dataset

Hangzhou = Literal["RM40", "RM60", "NM40", "RM30T", "RM70T", "RM90T", "NM30", "NM70", "BM30"]
Birmingham = Literal["RM40", "RM60", "NM40"]
TRANSDIM = "xinychen/transdim"


def load_hangzhou(mask: Hangzhou = "RM40", data_dir: DataDir = None) -> Dataset:
    """Metro arrivals at 80 stations, 25 days of 108 steps of ten minutes side by side.

    Zeros count as missing; held out is what is not zero and hidden by the mask. The column graph
    is the chain of steps.

    Parameters
    ----------
    mask : str
        RM: single entries, NM: whole sensor-days, BM: all sensors for six steps; then the per
        cent that is hidden.
    data_dir : path, optional
        Folder that holds ``field/sensor_hangzhou/hangzhou.npz``; by default ``BMCG_DATA``.
    """
    check_choice("mask", mask, get_args(Hangzhou))
    return _tensor("hangzhou", "sensor_hangzhou/hangzhou.npz", mask, data_dir)


def load_birmingham(mask: Birmingham = "RM40", data_dir: DataDir = None) -> Dataset:
    """Cars in 30 car parks, 77 days of 18 half hours side by side; as `load_hangzhou`.

    Parameters
    ----------
    mask : {"RM40", "RM60", "NM40"}
    data_dir : path, optional
        Folder that holds ``field/sensor_birmingham/birmingham.npz``; by default ``BMCG_DATA``.
    """
    check_choice("mask", mask, get_args(Birmingham))
    return _tensor("birmingham", "sensor_birmingham/birmingham.npz", mask, data_dir)


def load_aqi36(data_dir: DataDir = None) -> Dataset:
    """PM2.5 at 36 stations (rows) over 8,759 hours (columns), 13 % missing.

    The row graph joins the nearest stations, the column graph is the chain of hours.

    Parameters
    ----------
    data_dir : path, optional
        Folder that holds ``field/sensor_aqi36/aqi36.npz``; by default ``BMCG_DATA``.
    """
    archive = field_archive(
        "Air quality", "sensor_aqi36/aqi36.npz", "LMZZML/PriSTI (Yi et al. 2016)", data_dir
    )
    X = archive.floats("pm25").T
    held = archive["eval_mask"].astype(bool).T & np.isfinite(X)
    places = archive.floats("latlon")
    near = min(10, len(places) - 1)
    return matrix_dataset(
        "aqi36",
        X,
        np.isfinite(X) & ~held,
        held,
        graphs=(geo_graph(places[:, 0], places[:, 1], near), chain_graph(X.shape[1])),
        provenance="the publishers' mask of evaluation is held out; positions and the clock know "
        "nothing of the air.",
        licence=RESEARCH,
    )


def _tensor(name: str, file: str, mask: str, data_dir: DataDir) -> Dataset:
    archive = field_archive(f"Sensors of {name}", file, TRANSDIM, data_dir)
    X = archive.floats("tensor", 3)
    m, days, steps = X.shape
    if mask.endswith("T"):
        # Drawn after the days and steps had changed places.
        observed = archive.bits(f"obs_{mask}", (m, steps, days)).transpose(0, 2, 1)
    else:
        observed = archive.bits(f"obs_{mask}", X.shape)
    flat, seen = X.reshape(m, -1), observed.reshape(m, -1)
    there = flat != 0
    if not (there & seen).any():
        raise DatasetFormatError(f"{archive.path}: obs_{mask} leaves nothing observed")
    return matrix_dataset(
        f"{name}-{mask}",
        flat,
        there & seen,
        there & ~seen,
        graphs=(None, chain_graph(days * steps)),
        provenance=f"the publishers' mask {mask}; zeros count as missing.",
        licence=RESEARCH,
    )
