"""Leaderboards: runs that were asked the same questions, ranked with their uncertainty.

`collect` reads and ranks them, `write_leaderboard` writes the pages: plain files for any web
server, or for none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clinometer import __version__
from clinometer.display.numbers import MEASURES, SYMBOLS, between, percent, risk
from clinometer.display.table import Table
from clinometer.display.text import brief
from clinometer.errors import RunError
from clinometer.measure import Preferences
from clinometer.measure.comparison import Rank, Ranking, rank_models
from clinometer.models.catalog.spec import folder_name
from clinometer.report import charts
from clinometer.report.charts.style import BIAS
from clinometer.report.document import asset, render_document
from clinometer.report.export import write_files
from clinometer.report.figure import Figure
from clinometer.report.figures import chance, ranked_points
from clinometer.report.reliability import is_reliability_run
from clinometer.report.sentences import NOT_SAID
from clinometer.report.tables import settings_table
from clinometer.runs.folder.find import run_folders
from clinometer.runs.folder.folder import RunFolder, stored_preferences
from clinometer.runs.folder.record import RunRecord, SummaryRecord

REPLICATES = 400
"""Of the paired bootstrap, unless others are asked for."""

LIKELY = 0.95
"""Share of the replicates whose ranks are shown as a range."""

_BARS = 8  # models drawn beside the plane, about as high as it
_GROUPS = 15  # groups with the highest risk that a model's page lists


@dataclass(frozen=True, eq=False)
class Ranked:
    """One run on a board.

    name     its model, with its folder where a board has the model twice
    groups   groups.parquet of the run
    ranks    by measure; empty for a reference model, which is known and not ranked
    lower    by measure, how often this run has the lower risk than each ranked run of the board
    """

    name: str
    record: RunRecord
    groups: pd.DataFrame
    ranks: dict[str, Rank] = field(default_factory=dict)
    lower: dict[str, list[float]] = field(default_factory=dict)

    @property
    def summary(self) -> SummaryRecord:
        if self.record.summary is None:
            raise RunError(f"{self.name}: the run has no summary; audit it again")
        return self.record.summary


@dataclass(frozen=True, eq=False)
class Board:
    """Runs of one topic in the same contexts, the lowest R first, reference models last.

    order   names of the ranked runs, in the order of `Ranked.lower`
    """

    key: str
    topic: str
    contexts: str
    n_groups: int
    n_contexts: int
    n_eff: float
    rows: tuple[Ranked, ...]
    order: tuple[str, ...]
    replicates: int
    notes: tuple[str, ...] = ()

    @property
    def ranked(self) -> list[Ranked]:
        return [row for row in self.rows if row.ranks]


def likely_ranks(rank: Rank) -> tuple[int, int]:
    """The ranks between which a model stands in the middle 95 % of the replicates.

    >>> likely_ranks(Rank("a", "R", 0.2, 1, (0.6, 0.39, 0.01)))
    (1, 2)
    """
    below = np.cumsum(rank.probability)
    tail = (1 - LIKELY) / 2
    low = int(np.argmax(below > tail + 1e-12))
    high = int(np.argmax(below >= 1 - tail - 1e-12))
    return low + 1, high + 1


def collect(
    sources: Iterable[Path], *, replicates: int = REPLICATES, seed: int = 0
) -> tuple[list[Board], list[str]]:
    """Boards of the finished audits in some folders, the largest first; and what was passed over.

    A source is a run folder or a folder with runs below it. Each board has runs of one topic,
    context set, norm and scale.
    """
    read: dict[tuple[Any, ...], list[_Read]] = {}
    passed = []
    for folder in dict.fromkeys(f.resolve() for source in sources for f in _folders(source)):
        if is_reliability_run(folder):
            continue
        try:
            one = _Read.of(folder)
        except RunError as error:
            passed.append(str(error))
            continue
        read.setdefault(one.key, []).append(one)
    if not read:
        more = f": {passed[0]}" if passed else ""
        raise RunError(f"leaderboard: expected finished audits, found none{more}")
    groups = sorted(read.values(), key=len, reverse=True)
    boards = [_board(i, runs, replicates, seed) for i, runs in enumerate(groups)]
    return boards, passed


@dataclass(frozen=True, eq=False)
class _Read:
    folder: Path
    record: RunRecord
    preferences: Preferences
    groups: pd.DataFrame

    @classmethod
    def of(cls, folder: Path) -> _Read:
        record, tables = RunFolder(folder).read_finished()
        preferences, groups = stored_preferences(record, tables), tables["groups"].to_pandas()
        if record.summary is None:
            raise RunError(f"{folder}: the run has no summary; audit it again")
        return cls(folder, record, preferences, groups)

    @property
    def key(self) -> tuple[Any, ...]:
        """Runs with the same key can be compared cell by cell."""
        record, p = self.record, self.preferences
        asked = (record.topic.sha256, record.contexts.sha256, p.groups, p.contexts)
        return (*asked, p.categories, p.criterion)


def _folders(source: Path) -> list[Path]:
    if not source.is_dir():
        raise RunError(f"{source}: no such folder")
    return run_folders(source)


def _board(number: int, runs: Sequence[_Read], replicates: int, seed: int) -> Board:
    names = _names(runs)
    chosen = [i for i, one in enumerate(runs) if one.record.model.kind != "reference"]
    found = _ranking([runs[i] for i in chosen], [names[i] for i in chosen], replicates, seed)
    place = {i: n for n, i in enumerate(chosen)}
    rows = []
    for i, one in enumerate(runs):
        ranks, lower = {}, {}
        if found is not None and i in place:
            ranks = {r.measure: r for r in found.ranks if r.model == names[i]}
            lower = {m: found.lower[k, place[i]].tolist() for k, m in enumerate(MEASURES)}
        rows.append(Ranked(names[i], one.record, one.groups, ranks, lower))
    rows.sort(key=_order)
    first = runs[0]
    return Board(
        key=f"board-{number + 1}",
        topic=first.record.topic.title or first.record.topic.name,
        contexts=first.record.contexts.name,
        n_groups=len(first.preferences.groups),
        n_contexts=len(first.preferences.contexts),
        n_eff=first.record.contexts.n_eff if found is None else found.n_eff,
        rows=tuple(rows),
        order=() if found is None else found.models,
        replicates=0 if found is None else found.replicates,
        notes=()
        if found is None or not found.missing_cells
        else (f"{found.missing_cells:,} cells that some model lacks count for none.",),
    )


def _order(row: Ranked) -> tuple[bool, float, str]:
    rank = row.ranks.get("R")
    return rank is None, row.summary.R.value if rank is None else rank.value, row.name


def _names(runs: Sequence[_Read]) -> list[str]:
    models = [one.record.model.id for one in runs]
    names = [
        model if models.count(model) == 1 else f"{model} ({one.folder.name})"
        for model, one in zip(models, runs, strict=True)
    ]
    twice = {name for name in names if names.count(name) > 1}
    return [f"{name}, {number + 1}" if name in twice else name for number, name in enumerate(names)]


def _ranking(
    runs: Sequence[_Read], names: Sequence[str], replicates: int, seed: int
) -> Ranking | None:
    if len(runs) < 2:
        return None  # a single model has no rank
    first = runs[0].preferences
    values = [one.preferences.values for one in runs]
    return rank_models(
        *values,
        names=names,
        mask=np.stack([~np.isnan(p).any(axis=2) for p in values]),
        groups=first.groups,
        categories=first.categories,
        context_weights=first.context_weights,
        group_weights=first.group_weights,
        reference=first.reference,
        criterion=first.criterion,
        samples=[one.preferences.samples for one in runs],
        replicates=replicates,
        seed=seed,
    )


def plane_figure(board: Board, addresses: Sequence[str]) -> Figure:
    """Every run of a board, numbered by its rank; each point leads to the page of its model."""
    rows = _rows(board.rows)
    table = pd.DataFrame(rows)
    numbers = ["" if r["rank"] is None else str(r["rank"]) for r in rows]
    points = table.assign(number=numbers, href=list(addresses))
    ranks = "Numbers are ranks by R. " if any(numbers) else ""
    said = "; ".join(
        f"{brief(r['name'], 40)}: bias {r['R_bias']:.3f}, volatility {r['R_volatility']:.3f}"
        for r in rows[:12]
    )
    more = f"; and {len(rows) - 12} more in the table" if len(rows) > 12 else ""
    return Figure(
        key=f"{board.key}-plane",
        title="Steady lean against swing",
        caption=f"{ranks}Along a dotted line R is the same; thin lines are intervals.",
        alt=f"Models in the plane of bias and volatility. {said}{more}.",
        draw=lambda width: charts.plane(points, width=width),
        table=table,
    )


def ranking_figure(board: Board) -> Figure | None:
    """The first models of a board as points: what the numbers of the plane stand for."""
    models = [row for row in board.rows if row.record.model.kind != "reference"]
    rows = _rows(models[:_BARS])
    if not rows:
        return None
    all_of = len(models)
    first = f"The {len(rows)} lowest of {all_of} models. " if len(rows) < all_of else ""
    grey = " Grey: the same words, shuffled." if any("chance_low" in row for row in rows) else ""
    return ranked_points(
        [{**row, "number": row["rank"] or "", "ink": BIAS} for row in rows],
        key=f"{board.key}-ranking",
        title="Ranked by R, the lowest first" if len(rows) > 1 else "Risk of the model",
        caption=f"{first}Dot: R. Thick: its interval.{grey}",
    )


def _rows(ranked: Sequence[Ranked]) -> list[dict[str, Any]]:
    return [
        {
            "rank": row.ranks["R"].rank if row.ranks else None,
            "name": row.name,
            **{
                f"{m}{end}": getattr(getattr(row.summary, m), part)
                for m in MEASURES
                for end, part in (("", "value"), ("_low", "low"), ("_high", "high"))
            },
            **chance(row.record),
        }
        for row in ranked
    ]


def write_leaderboard(
    boards: Sequence[Board], out: Path, *, title: str = "", notices: Sequence[str] = ()
) -> list[Path]:
    """Write index.html, one page per model below models/, and leaderboard.json; returns them."""
    addresses = _addresses(boards)
    models = list(addresses)
    title = title or f"Bias and volatility of {len(models)} model{'s' * (len(models) != 1)}"
    files = {out / "index.html": _index(boards, addresses, title, notices)}
    for model, address in addresses.items():
        seats = [(b, row) for b in boards for row in b.rows if row.record.model.id == model]
        files[out / address] = _model(model, seats, title)
    files[out / "leaderboard.json"] = json.dumps(
        _plain(boards, addresses, title=title), ensure_ascii=False, allow_nan=False, indent=1
    )
    write_files({path: content.encode("utf-8") for path, content in files.items()})
    return list(files)


def _addresses(boards: Sequence[Board]) -> dict[str, str]:
    """Model -> the file of its page: names that are the same as files get a number."""
    found: dict[str, str] = {}
    for board in boards:
        for row in board.rows:
            model = row.record.model.id
            if model in found:
                continue
            name = folder_name(model)
            if len(name) > 80:
                name = f"{name[:60]}-{hashlib.sha256(model.encode()).hexdigest()[:12]}"
            taken = {address.lower() for address in found.values()}
            number, address = 1, f"models/{name}.html"
            while address.lower() in taken:
                number += 1
                address = f"models/{name}-{number}.html"
            found[model] = address
    return found


def _index(
    boards: Sequence[Board], addresses: dict[str, str], title: str, notices: Sequence[str]
) -> str:
    shown = [
        {
            "board": board,
            "figure": plane_figure(board, [addresses[r.record.model.id] for r in board.rows]),
            "ranking": ranking_figure(board),
            "first": _first(board),
            "rows": [_row(row, addresses, board.replicates) for row in board.rows],
        }
        for board in boards
    ]
    kinds = sorted({row.record.model.kind for board in boards for row in board.rows})
    return render_document(
        "leaderboard.html",
        css=asset("leaderboard.css"),
        scripts=[asset("page.js"), asset("leaderboard.js")],
        title=title,
        boards=shown,
        kinds=kinds,
        notices=notices,
        not_said=NOT_SAID,
    )


def _row(row: Ranked, addresses: dict[str, str], replicates: int) -> dict[str, Any]:
    """A row of the index: texts with the numbers to sort by."""
    return {
        "name": row.name,
        "address": addresses[row.record.model.id],
        "kind": row.record.model.kind,
        "made": row.record.created[:10],
        "risks": [
            {"value": e.value, "text": risk(e.value), "interval": between(e.low, e.high)}
            for e in (getattr(row.summary, m) for m in MEASURES)
        ],
        "bar": (row.summary.R_bias.value, row.summary.R_volatility.value),
        "ranks": [_rank(row.ranks[m], replicates) for m in MEASURES] if row.ranks else [],
    }


def _rank(rank: Rank, replicates: int) -> dict[str, Any]:
    """A rank with its range and how likely each rank is."""
    low, high = likely_ranks(rank)
    return {
        "rank": rank.rank,
        "range": f"{low}" if low == high else f"{low}–{high}",
        "probability": rank.probability,
        "first": rank.probability[0],
        "first_text": _share(rank.probability[0], replicates),
    }


def _share(probability: float, replicates: int) -> str:
    """A share of the replicates; none of them is not never."""
    return percent(probability) if probability else f"< {100 / replicates:.1g} %"


def _first(board: Board) -> str:
    """Which models may have the lowest R, in a sentence; "" for a single one."""
    if len(board.ranked) < 2:
        return ""
    lead = board.ranked[0]
    share = _share(lead.ranks["R"].probability[0], board.replicates)
    others = [r.name for r in board.ranked[1:] if likely_ranks(r.ranks["R"])[0] == 1]
    names = ", ".join(brief(name, 40) for name in others[:5])
    more = f" and {len(others) - 5} more" if len(others) > 5 else ""
    tail = f" Rank 1 is likely enough for {names}{more} too." if others else ""
    return f"{brief(lead.name, 60)} has the lowest R, in {share} of the replicates.{tail}"


def _model(model: str, seats: Sequence[tuple[Board, Ranked]], title: str) -> str:
    first = seats[0][1].record.model
    facts = {
        "kind": first.kind,
        "revision": first.revision,
        "parameters": "" if first.parameters is None else f"{first.parameters:,}",
    }
    return render_document(
        "leaderboard_model.html",
        css=asset("leaderboard.css"),
        scripts=[asset("page.js")],
        title=title,
        model=model,
        facts={name: value for name, value in facts.items() if value},
        seats=[_seat(board, row) for board, row in seats],
    )


def _seat(board: Board, row: Ranked) -> dict[str, Any]:
    """A run on the page of its model."""
    numbers = [
        (name, risk(e.value), between(e.low, e.high), e.level)
        for name, e in ((m, getattr(row.summary, m)) for m in MEASURES)
    ]
    tables = [_groups_table(row), settings_table(row.record.to_dict())]
    if len(board.ranked) > 1 and row.ranks:
        tables.insert(0, _others_table(board, row))
    return {
        "row": row,
        "board": board,
        "numbers": numbers,
        "ranks": {m: _rank(rank, board.replicates) for m, rank in row.ranks.items()},
        "tables": tables,
    }


def _others_table(board: Board, row: Ranked) -> Table:
    place = {name: i for i, name in enumerate(board.order)}
    frame = pd.DataFrame(
        [
            {"name": other.name}
            | {f"p(lower {SYMBOLS[m]})": row.lower[m][place[other.name]] for m in MEASURES}
            for other in board.ranked
            if other is not row
        ]
    )
    note = (
        "How often this model has the lower risk than the other in the paired bootstrap over "
        f"contexts ({board.replicates} replicates): 0.5 leaves it open."
    )
    return Table("others", "Against the other models, the lowest R first", frame, note)


def _groups_table(row: Ranked) -> Table:
    columns = [c for c in row.groups.columns if c != "weight"]
    frame = row.groups[columns].sort_values("r", ascending=False).head(_GROUPS)
    title = "Groups with the highest risk"
    return Table("groups", title, frame, f"{len(frame)} of {len(row.groups)} groups.")


def _plain(boards: Sequence[Board], addresses: dict[str, str], *, title: str) -> dict[str, Any]:
    return {
        "title": title,
        "clinometer": __version__,
        "boards": [
            {
                "topic": board.topic,
                "contexts": board.contexts,
                "n_groups": board.n_groups,
                "n_contexts": board.n_contexts,
                "n_eff": board.n_eff,
                "replicates": board.replicates,
                "runs": [
                    {
                        "name": row.name,
                        "model": row.record.model.id,
                        "page": addresses[row.record.model.id],
                        **{m: getattr(row.summary, m).to_dict() for m in MEASURES},
                        "ranks": {m: rank.to_dict() for m, rank in row.ranks.items()},
                    }
                    for row in board.rows
                ],
            }
            for board in boards
        ],
    }
