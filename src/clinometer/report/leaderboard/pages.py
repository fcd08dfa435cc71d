"""The pages of a leaderboard, as plain files for any web server or none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from clinometer import __version__
from clinometer.display.names import MEASURES, SYMBOLS
from clinometer.display.numbers import between, percent, risk
from clinometer.display.table import Table
from clinometer.models.catalog.spec import folder_name
from clinometer.report import run_tables
from clinometer.report.charts.style.theme import brief
from clinometer.report.document import asset, render_document, script
from clinometer.report.export import write_files
from clinometer.report.leaderboard.board import Board, Ranked, likely_ranks
from clinometer.report.leaderboard.drawings import plane_figure, rank_figure, ranking_figure, strip
from clinometer.report.sentences import NOT_SAID

#: Groups with the highest risk that a model's page lists.
_GROUPS = 15


@dataclass(frozen=True, eq=False)
class Seat:
    """A run on the page of its model."""

    board: Board
    row: Ranked


def write_leaderboard(
    boards: Sequence[Board], out: Path, *, title: str = "", notices: Sequence[str] = ()
) -> list[Path]:
    """Write index.html, one page per model below models/, and leaderboard.json; returns them."""
    addresses = _addresses(boards)
    models = list(addresses)
    title = title or f"Bias and volatility of {len(models)} model{'s' * (len(models) != 1)}"
    files = {out / "index.html": _index(boards, addresses, title, notices)}
    for model, address in addresses.items():
        seats = [Seat(b, row) for b in boards for row in b.rows if row.record.model.id == model]
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
        scripts=[script(), asset("leaderboard.js")],
        title=title,
        boards=shown,
        kinds=kinds,
        notices=notices,
        not_said=NOT_SAID,
    )


def _row(row: Ranked, addresses: dict[str, str], replicates: int) -> dict[str, Any]:
    """A row of the index: texts with the numbers to sort by."""
    found: dict[str, Any] = {
        "name": row.name,
        "address": addresses[row.record.model.id],
        "kind": row.record.model.kind,
        "made": row.record.created[:10],
        "risks": [
            {"value": e.value, "text": risk(e.value), "interval": between(e.low, e.high)}
            for e in (getattr(row.summary, m) for m in MEASURES)
        ],
        "bar": (row.summary.R_bias.value, row.summary.R_volatility.value),
        "ranks": [],
    }
    for measure in MEASURES if row.ranks else ():
        rank = row.ranks[measure]
        low, high = likely_ranks(rank)
        found["ranks"].append(
            {
                "rank": rank.rank,
                "range": f"{low}" if low == high else f"{low}–{high}",
                "strip": strip(rank.probability),
                "first": rank.probability[0],
                "first_text": _share(rank.probability[0], replicates),
            }
        )
    return found


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


def _model(model: str, seats: Sequence[Seat], title: str) -> str:
    first = seats[0].row.record.model
    facts = {
        "kind": first.kind,
        "revision": first.revision,
        "parameters": "" if first.parameters is None else f"{first.parameters:,}",
    }
    return render_document(
        "leaderboard_model.html",
        css=asset("leaderboard.css"),
        scripts=[script()],
        title=title,
        model=model,
        facts={name: value for name, value in facts.items() if value},
        seats=[_seat(seat) for seat in seats],
    )


def _seat(seat: Seat) -> dict[str, Any]:
    row, board = seat.row, seat.board
    numbers = [
        (name, risk(e.value), between(e.low, e.high), e.level)
        for name, e in ((m, getattr(row.summary, m)) for m in MEASURES)
    ]
    tables = [_groups_table(row), run_tables.settings_table(row.record.to_dict())]
    if len(board.ranked) > 1 and row.ranks:
        tables.insert(0, _others_table(seat))
    return {
        "row": row,
        "board": board,
        "numbers": numbers,
        "ranks": {m: (row.ranks[m].rank, likely_ranks(row.ranks[m])) for m in row.ranks},
        "figure": rank_figure(row, board.key) if len(board.ranked) > 1 and row.ranks else None,
        "tables": tables,
    }


def _others_table(seat: Seat) -> Table:
    place = {name: i for i, name in enumerate(seat.board.order)}
    frame = pd.DataFrame(
        [
            {"name": one.name}
            | {f"p(lower {SYMBOLS[m]})": seat.row.lower[m][place[one.name]] for m in MEASURES}
            for one in seat.board.ranked
            if one is not seat.row
        ]
    )
    note = (
        "How often this model has the lower risk than the other in the paired bootstrap over "
        f"contexts ({seat.board.replicates} replicates): 0.5 leaves it open."
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
