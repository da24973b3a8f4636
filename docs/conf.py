"""How the documentation is built: `make docs`."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path
from typing import Any

import bmcg

project = "bmcg"
author = "The bmcg developers"
copyright = "2026, the bmcg developers"
version = release = bmcg.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "bmcg"
html_show_sourcelink = False
# Formulas are typeset by the browser, with a copy that is part of the site.
mathjax_path = "mathjax/tex-chtml.js"

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3

# Examples run with every build; one that fails ends it.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 3600,
    "image_scrapers": ("matplotlib",),
}

autodoc_default_options = {"members": True, "member-order": "bysource"}
# The docstrings give shapes and meaning; types beside every name would bury them.
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False


def escape_trailing_underscores(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Fitted attributes end in an underscore, which reStructuredText takes for a link."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith(">>>"):
            lines[i] = re.sub(r"(?<![\w`.])(\w*[a-z])_(?![\w`])", r"\1\\_", line)


def copy_mathjax(app: Any, error: Exception | None) -> None:
    """Put MathJax into the site: of the package's many megabytes, what our formulas need."""
    if error is not None or app.builder.format != "html":
        return
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    if found is None or found.origin is None:
        raise ImportError("formulas need sphinx-mathjax-offline: pip install 'bmcg[docs]'")
    source = Path(found.origin).parent / "static" / "mathjax"
    target = Path(app.outdir) / "_static" / "mathjax"
    fonts = Path("output", "chtml", "fonts", "woff-v2")
    shutil.copytree(source / fonts, target / fonts, dirs_exist_ok=True)
    shutil.copy(source / "tex-chtml.js", target)


def setup(app: Any) -> None:
    """Called by Sphinx; numpydoc's own step runs at priority 500."""
    app.connect("build-finished", copy_mathjax)
    app.connect("autodoc-process-docstring", escape_trailing_underscores, priority=400)
