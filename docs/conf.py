"""How the documentation is built: `make docs`."""

from __future__ import annotations

import re
from typing import Any

import bmcg

project = "bmcg"
author = "The bmcg developers"
copyright = "2026, the bmcg developers"
version = release = bmcg.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc"]
exclude_patterns = ["_build", "gallery_out"]
html_theme = "furo"
html_title = "bmcg"
html_show_sourcelink = False

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3

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


def setup(app: Any) -> None:
    """Called by Sphinx; numpydoc's own step runs at priority 500."""
    app.connect("autodoc-process-docstring", escape_trailing_underscores, priority=400)
