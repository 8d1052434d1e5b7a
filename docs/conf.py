"""Configuration of the site: ``sphinx-build -W docs build/site``, with the extra `docs`."""

from __future__ import annotations

import sys
from pathlib import Path

import boostsample

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER / "extensions"))

from api_pages import listed_elsewhere, listed_here  # noqa: E402 (in the folder added above)

project = "boostsample"
author = "The boostsample developers"
copyright = author  # noqa: A001 (the name that Sphinx reads)
version = release = boostsample.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "command_reference",
    "repository_links",
    "math_in_html",
]
templates_path = ["templates"]
exclude_patterns = ["examples", "results", "bk10"]
default_role = "py:obj"  # `name` is a link to what the reference has, and code otherwise
highlight_language = "text"
smartquotes = False  # "--option" and 'x' are typed as they stand
toc_object_entries_show_parents = "hide"
nitpick_ignore_regex = [("py:obj", r".*")]
# `learners.Stump` is an alias, which the reference describes as `learners.StumpLearner`.
nitpick_ignore = [("py:class", "boostsample.learners.stump.StumpLearner")]

# ---------------------------------------------------------------------------------------- pages

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 4  # the anchors of code-hosting pages
suppress_warnings = ["config.cache"]  # functions in the settings of autosummary cannot be cached

# ------------------------------------------------------------------------------------ reference

autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autosummary_context = {"listed_here": listed_here, "listed_elsewhere": listed_elsewhere}
autodoc_typehints = "none"  # types are in the sections of the docstrings
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False  # strategies do not repeat what `Strategy` says
autodoc_default_options = {"exclude-members": "set_fit_request,set_score_request,set_params"}
numpydoc_show_class_members = False  # the template of classes has them
numpydoc_xref_param_type = False

# -------------------------------------------------------------------------------------- gallery

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"\.py",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "capture_repr": (),
    "show_signature": False,
    "write_computation_times": False,
    "show_memory": False,
    "min_reported_time": 60,
    "remove_config_comments": True,
}

# ---------------------------------------------------------------------------------------- theme

html_theme = "pydata_sphinx_theme"
html_title = "boostsample"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "install": []}
