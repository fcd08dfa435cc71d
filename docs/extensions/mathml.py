"""Formulas as MathML, which browsers draw themselves: no script, no fonts, no network."""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator


def inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def display(self: HTML5Translator, node: nodes.math_block) -> None:
    number = ""
    if node["number"]:
        number = f'<span class="eqno">({get_node_equation_number(self, node)})</span>'
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(f"{_mathml(node, block=True)}{number}</div>\n")
    raise nodes.SkipNode


def _mathml(node: nodes.math | nodes.math_block, *, block: bool) -> str:
    tree = latex2mathml.tex2mathml(node.astext(), as_block=block)
    return str(tree)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
