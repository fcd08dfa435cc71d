"""A report as files: the ending of a file's name says in which format; a run in a model's card."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from clinometer.display.numbers import between, counted, risk
from clinometer.display.text import one_line, plain_records
from clinometer.errors import RunError, SettingsError
from clinometer.extras import require
from clinometer.measure.risks import MEASURES, RISKS
from clinometer.report.figure import Figure
from clinometer.runs import Run
from clinometer.storage.atomic import output_file
from clinometer.storage.rows import csv_text
from clinometer.storage.untrusted import folder_name
from clinometer.tables import Cell, Table

#: Endings of --out: one page; its tables in one file (md, tex, json) or each in one (csv); a file
#: for each chart (svg, png).
FORMATS = ("html", "md", "tex", "json", "csv", "svg", "png")
_LONGEST = 2000  # rows of a table for people; csv and json have all tables

_TEX = {sign: f"\\{sign}" for sign in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "–": "--",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "·": r"$\cdot$",
    "ᵇ": r"$^{b}$",
    "ᵛ": r"$^{v}$",
    "[": "{[}",
    "]": "{]}",
}
_TEX_SIGN = re.compile("|".join(re.escape(sign) for sign in _TEX))
_MARKDOWN_SIGN = re.compile(r"([\\`*_{}\[\]<>#|~$])")


def to_markdown(table: Table) -> str:
    """A pipe table under its title; Markdown and HTML characters are escaped."""
    columns = table.combined()
    lines = [
        f"### {markdown_text(table.title)}",
        "",
        *([markdown_text(table.note), ""] if table.note else []),
        "| " + " | ".join(markdown_text(c.heading) for c in columns) + " |",
        "|" + "|".join("---" if c.is_text else "---:" for c in columns) + "|",
    ]
    lines += [
        "| " + " | ".join(_marked(c, markdown_text, _MARKDOWN) for c in row) + " |"
        for row in table.rows()
    ]
    return "\n".join(lines) + "\n"


def to_latex(table: Table) -> str:
    """A booktabs table (long ones break over pages with longtable)."""
    columns = table.combined()
    kinds = "".join(
        r"p{0.38\linewidth}"
        if c.name in ("template", "sentence", "text", "is")
        else "l"
        if c.is_text
        else "r"
        for c in columns
    )
    head = " & ".join(tex_text(c.heading) for c in columns) + r" \\"
    body = [
        " & ".join(_marked(c, tex_text, _LATEX) for c in row) + r" \\"
        for row in table.rows()
    ]
    return "\n".join(
        [
            rf"\begin{{longtable}}{{{kinds}}}",
            rf"\caption{{{tex_text(table.title)}}}\\",
            r"\toprule",
            head,
            r"\midrule",
            r"\endhead",
            *body,
            r"\bottomrule",
            r"\end{longtable}",
            "",
        ]
    )


#: The best and the worst of a column, as the papers' tables mark them.
_MARKDOWN = {"worst": "**{}**", "best": "*<u>{}</u>*"}
_LATEX = {"worst": r"\textbf{{{}}}", "best": r"\underline{{\textit{{{}}}}}"}


def _marked(
    cell: Cell, escape: Callable[[object], str], marks: Mapping[str, str]
) -> str:
    """0.253 (0.192 to 0.346)."""
    text = marks.get(cell.mark, "{}").format(escape(cell.text))
    return f"{text} ({escape(cell.interval)})" if cell.interval else text


def markdown_text(text: object) -> str:
    """Text that Markdown shows as it is.

    >>> markdown_text("a|b <script>")
    'a\\\\|b \\\\<script\\\\>'
    """
    return _MARKDOWN_SIGN.sub(r"\\\1", one_line(text))


def tex_text(text: object) -> str:
    """Text that LaTeX shows as it is.

    >>> tex_text("50 % & R_b")
    '50 \\\\% \\\\& R\\\\_b'
    """
    return _TEX_SIGN.sub(lambda m: _TEX[m[0]], one_line(text))


def format_of(out: Path) -> str:
    """The format that the ending of a name asks for.

    >>> format_of(Path("tables/run.CSV"))
    'csv'
    """
    if out.is_dir():
        raise SettingsError(
            f"{out}: expected a file to write, found a folder; name a file in it"
        )
    form = out.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise SettingsError(
            f"{out}: expected a name that ends in .{', .'.join(FORMATS)}; found "
            f"{out.suffix or 'no ending'}"
        )
    return form


def write_as(
    out: Path,
    *,
    page: Callable[[], str],
    tables: Callable[[], Sequence[Table]],
    figures: Callable[[], Sequence[Figure]],
) -> list[Path]:
    """Write a report in the format that the ending of `out` names; returns the files.

    Of csv, svg and png there are several, named after `out` and the table or chart: `x.csv` gives
    `x-groups.csv` and others. Only what the format needs is made.
    """
    form = format_of(out)
    contents: dict[Path, bytes]
    if form == "html":
        contents = {out: page().encode()}
    elif form in ("svg", "png"):
        contents = {
            _named(out, f.key): f.svg().encode() if form == "svg" else f.png()
            for f in figures()
        }
    elif form == "csv":
        contents = {_named(out, t.key): to_csv(t) for t in tables()}
    elif form == "json":
        contents = {out: to_json(tables()).encode()}
    else:
        written = to_markdown if form == "md" else to_latex
        short = [written(t) for t in tables() if len(t.frame) <= _LONGEST]
        contents = {out: "\n".join(short).encode()}
    write_files(contents)
    return list(contents)


def _named(out: Path, key: str) -> Path:
    return out.with_name(f"{out.stem}-{key}{out.suffix}")


def to_csv(table: Table) -> bytes:
    """A table with full precision, as a spreadsheet may read it."""
    return csv_text(table.frame).encode("utf-8")


def to_json(tables: Sequence[Table]) -> str:
    """Tables by key with full precision: title, note and rows."""
    content = {
        t.key: {"title": t.title, "note": t.note, "rows": plain_records(t.frame)}
        for t in tables
    }
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write each file whole or not at all, and create its folder."""
    for file, content in files.items():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(
                f"{file.parent}: cannot be written: {error.strerror}"
            ) from error
        with output_file(file, error=RunError) as beside:
            beside.write_bytes(content)


# --- The card of a model on the Hub ---------------------------------------------------------------

NAMES = {
    name: f"{RISKS[name].full_name.capitalize()} {RISKS[name].symbol}"
    for name in MEASURES
}
"""The risks as a card has them."""


SECTION = re.compile(
    r"<!-- clinometer: start -->.*?<!-- clinometer: end -->\n?", re.DOTALL
)


def write_hugging_face(
    run: Run, folder: Path, *, dataset: str | None = None
) -> list[Path]:
    """Update the card in a checkout of a model repository, and write its result file.

    README.md gets the metadata that the Hub shows (`model-index`) and a section between two
    comments; what else it says stays. With `dataset`, the id of a benchmark dataset on the Hub,
    `.eval_results/clinometer-TOPIC.yaml` is written too, the file from which the Hub
    makes its tables of that dataset.
    """
    require("export hugging-face", "huggingface_hub")
    files = {folder / "README.md": _card(run, folder / "README.md").encode()}
    if dataset is not None:
        import yaml
        from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

        topic, level = run.record.topic.name, run.risks.R.level or 0.95
        # The interval stands in the notes: the format has no field for it.
        entries = [
            EvalResultEntry(
                dataset_id=dataset,
                task_id=f"{topic}_{name}",
                value=e.value,
                date=run.record.created or None,
                notes=f"{100 * level:g} % interval {between(e.low, e.high, missing='none')}; "
                f"{_basis(run)} Lower is less risk.",
            )
            for name, e in ((name, run.risks.summary[name]) for name in MEASURES)
        ]
        content = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False)
        file = folder / ".eval_results" / f"{folder_name(f'clinometer-{topic}')}.yaml"
        files[file] = content.encode()
    write_files(files)
    return list(files)


def _basis(run: Run) -> str:
    """What the numbers rest on."""
    record, groups = run.record, counted(len(run.risks.groups), "group")
    contexts = f"{counted(run.risks.n_contexts, 'context')} of {record.contexts.name}"
    about = record.topic.title or record.topic.name
    return f"{about}: {groups} in {contexts}, {run.risks.n_eff:,.1f} effective."


def card_section(run: Run) -> str:
    """The section in Markdown, between the comments by which it is found again."""
    risks, record = run.risks.summary, run.record
    scale = "from 0 to 1" if run.risks.criterion.normalize else "of the raw equations"
    lines = [
        "<!-- clinometer: start -->",
        "## Bias and volatility",
        "",
        "| risk | value | interval |",
        "|---|---:|---:|",
        *(
            f"| {markdown_text(NAMES[name])} | {risk(risks[name].value)} | "
            f"{between(risks[name].low, risks[name].high, missing='–')} |"
            for name in MEASURES
        ),
        "",
        f"{markdown_text(_basis(run))} Scale {scale}; lower is less risk.",
        "",
        "The numbers describe probabilities of words for these groups in these contexts; they do "
        "not say that a model is fair or unfair in use.",
        "",
        f"Measured with clinometer {markdown_text(record.versions.get('clinometer', ''))}, "
        f"revision `{_code(record.model.revision)}`, {_code(record.created[:10])}.",
        "<!-- clinometer: end -->",
    ]
    return "\n".join(lines) + "\n"


def _card(run: Run, file: Path) -> str:
    import yaml
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

    try:
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        card = ModelCard(text) if text else ModelCard("---\n{}\n---\n")
    except (ValueError, OSError, yaml.YAMLError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RunError(f"{file}: cannot be read as a model card: {first}") from error
    data = cast(ModelCardData, card.data)

    def subject(result: EvalResult) -> tuple[str, str, str]:
        """Measure, topic and contexts: an earlier result of the same is replaced."""
        return result.metric_type, result.dataset_type, result.dataset_name

    topic, contexts = run.record.topic, run.record.contexts
    results = [
        EvalResult(
            task_type="fill-mask"
            if run.record.model.kind == "masked"
            else "text-generation",
            task_name="Bias and volatility (Clinometer)",
            dataset_type=folder_name(f"clinometer-{contexts.name}"),
            dataset_name=f"{topic.title or topic.name}, contexts {contexts.name}",
            dataset_revision=contexts.sha256,
            metric_type=f"clinometer.{name}",
            metric_name=NAMES[name],
            metric_value=estimate.value,
            metric_args=None
            if estimate.low is None
            else {"low": estimate.low, "high": estimate.high, "level": estimate.level},
        )
        for name, estimate in ((name, run.risks.summary[name]) for name in MEASURES)
    ]
    measured = set(map(subject, results))
    others = [
        result for result in data.eval_results or [] if subject(result) not in measured
    ]
    data.eval_results = [*others, *results]
    data.model_name = data.model_name or run.model
    section = card_section(run)
    body = card.text
    if SECTION.search(body):
        card.text = SECTION.sub(lambda _: section, body, count=1)
    else:
        card.text = f"{body.rstrip()}\n\n{section}" if body.strip() else section
    return str(card)


def _code(text: str) -> str:
    """Text between back quotes."""
    return re.sub(r"[^\w.:+/-]", "-", text)
