"""How Sphinx builds the site: `make docs`. Nothing is fetched, and a warning is an error."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ipython_pygments_lexers import IPython3Lexer
from pygments.lexer import bygroups, using
from pygments.lexers.shell import BashLexer
from pygments.lexers.special import TextLexer
from pygments.token import Operator, Text
from sphinx.highlighting import lexers

import clinometer

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "extensions"))

import project_pages  # noqa: E402
import public_names  # noqa: E402

# Before Sphinx looks for pages.
public_names.write_pages(DOCS / "generated" / "api")
project_pages.write_pages(DOCS / "generated" / "project")

project = "Clinometer"
author = "The Clinometer developers"
copyright = "The Clinometer developers, Apache-2.0"
version = release = clinometer.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "myst_nb",
    "aligned_columns",
    "attribute_colons",
    "mathml",
    "project_pages",
]
exclude_patterns = [
    "extensions",
    "ipython",
    "static",
    "templates",
    "**/.ipynb_checkpoints",
]
templates_path = ["templates"]

# Pages
lexers["csv"] = TextLexer()


class CommandLexer(IPython3Lexer):  # type: ignore[misc, valid-type]
    """Cells of notebooks, in which a command of the shell may go on in the next line."""

    _COMMAND = (
        r"^(!)((?:[^\n]*\\\n)*[^\n]+)(\n)",
        bygroups(Operator, using(BashLexer), Text),
    )
    tokens = {**IPython3Lexer.tokens, "root": [_COMMAND, *IPython3Lexer.tokens["root"]]}  # noqa: RUF012


lexers["ipython3"] = CommandLexer()
myst_enable_extensions = [
    "amsmath",
    "attrs_block",
    "colon_fence",
    "deflist",
    "dollarmath",
]
myst_heading_anchors = 4
html_math_renderer = "mathml"

# Notebooks: every cell runs at every build, in an empty folder; an error in a cell is an error.
nb_execution_mode = os.environ.get("DOCS_EXECUTION", "force")
nb_execution_in_temp = True
# DOCS_EXECUTION=off builds the pages without running a cell, to look at prose.
suppress_warnings = ["myst-nb.lexer"] if nb_execution_mode == "off" else []
nb_execution_timeout = -1  # a busy machine is slow, and not wrong
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
# Commands in cells (`!clinometer …`) are those of the Python that builds the site.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ.setdefault("CLINOMETER_CACHE", str(DOCS.parent / "build" / "docs-cache"))
os.environ["COLUMNS"] = "100"
os.environ["IPYTHONDIR"] = str(DOCS / "ipython")  # a failing command is an error
os.environ["TOKENIZERS_PARALLELISM"] = "false"

# Python reference
autosummary_generate = True
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    "exclude-members": "__init__, __new__, __post_init__",
}
autosummary_ignore_module_all = False
python_use_unqualified_type_names = True
default_role = "py:obj"

# Theme

html_theme = "pydata_sphinx_theme"
html_title = "Clinometer"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "show_nav_level": 1,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
