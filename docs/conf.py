"""How the site is built: ``sphinx-build -W -n docs OUT``, without a network.

Links into other projects' documentation need their inventories, which have to be fetched: set
``CLOSEKNIT_DOCS_ONLINE=1`` to have them.
"""

from __future__ import annotations

import os
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import closeknit  # noqa: E402

# -- The project -----------------------------------------------------------------------------------

project = "closeknit"
author = "the closeknit developers"
copyright = "the closeknit developers"
version = release = closeknit.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinxcontrib.bibtex",
    "sphinx_gallery.gen_gallery",
    "reference",
    "console",
    "copied",
    "mathml",
    "printed",
    "run",
]

# Pages about stations that this version may lack.
OPTIONAL = {"beyond.md": "closeknit.distributed", "explorer.md": "closeknit.explore"}
exclude_patterns = [page for page, module in OPTIONAL.items() if not find_spec(module)]
exclude_patterns += ["examples/data", "examples/README.rst", "_run", "_templates"]
templates_path = ["_templates"]
nitpicky = True
# Attributes that several classes have; printouts that begin at a lower heading; classes that only
# work behind a direction.
suppress_warnings = ["ref.python", "myst.header", "toc.excluded", "toc.not_readable"]
nitpick_ignore_regex = [("py:class", r"closeknit\.minimize\..*Descent")]

# -- Other projects --------------------------------------------------------------------------------

if os.environ.get("CLOSEKNIT_DOCS_ONLINE"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "matplotlib": ("https://matplotlib.org/stable", None),
        "anndata": ("https://anndata.readthedocs.io/en/stable", None),
    }
else:
    nitpick_ignore_regex += [("py:.*", r"(anndata|collections|matplotlib|numpy|scipy|sklearn)\..*")]

# -- Text ------------------------------------------------------------------------------------------

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
bibtex_bibfiles = ["references.bib"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_math_renderer = "mathml"

# -- The reference ---------------------------------------------------------------------------------

autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autosummary_context = {"home": closeknit._HOME}
autodoc_typehints = "none"
autodoc_default_options = {"member-order": "bysource"}
numpydoc_show_class_members = False

# -- The gallery -----------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "reset_modules": ("matplotlib",),
    "image_srcset": ["2x"],
    "abort_on_example_error": True,
    "capture_repr": (),
}
# Figures are shown at the size of the screen.
warnings.filterwarnings("ignore", message=".*non-interactive.*")

# -- Pages -----------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "closeknit"
html_static_path = ["_static"]
html_css_files = ["closeknit.css"]
html_js_files = [("closeknit.js", {"defer": "defer"})]
html_copy_source = False
html_scaled_image_link = False
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
