"""Other ways to fill a picture, in an interpreter that has them."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
NAMES = ("biharmonic", "OpenCV, Telea", "OpenCV, Navier-Stokes", "linear interpolation")
# Runs where scikit-image and OpenCV are installed, which need not be where bmcg is.
SCRIPT = """
import sys, time
import numpy as np
data = np.load(sys.argv[1])
picture, known = data["picture"], data["known"]

def biharmonic():
    from skimage.restoration import inpaint_biharmonic
    return 255 * inpaint_biharmonic(picture / 255, ~known)

def opencv(name):
    import cv2
    gone = (~known).astype(np.uint8)
    return cv2.inpaint(picture.astype(np.uint8), gone, 3, getattr(cv2, name)).astype(float)

def linear():
    from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator
    at, gone = np.argwhere(known), np.argwhere(~known)
    found = picture.copy()
    inside = LinearNDInterpolator(at, picture[known])(gone)
    near = NearestNDInterpolator(at, picture[known])(gone)
    found[~known] = np.where(np.isnan(inside), near, inside)
    return found

ways = [biharmonic, lambda: opencv("INPAINT_TELEA"), lambda: opencv("INPAINT_NS"), linear]
made, seconds = [], []
for way in ways:
    start = time.process_time()
    made.append(way())
    seconds.append(time.process_time() - start)
np.savez(sys.argv[2], made=np.array(made), seconds=np.array(seconds))
"""


def fill(python: str, picture: Array, known: NDArray[np.bool_]) -> dict[str, tuple[Array, float]]:
    """The filled picture, shape (h, w), and the processor's seconds, of each."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = (str(Path(folder) / name) for name in ("given.npz", "made.npz"))
        np.savez(given, picture=picture, known=known)
        subprocess.run([python, "-c", SCRIPT, given, made], check=True)
        with np.load(made) as found:
            parts = list(zip(found["made"], found["seconds"], strict=True))
    return {name: (part, float(time)) for name, (part, time) in zip(NAMES, parts, strict=True)}


def versions(python: str) -> str:
    """Of the other interpreter's packages."""
    code = "import json, skimage, cv2; print(json.dumps([skimage.__version__, cv2.__version__]))"
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    image, vision = json.loads(done.stdout)
    return f"scikit-image {image}, OpenCV {vision}"
