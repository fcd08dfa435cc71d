"""Where pieces are parsed: in this process, in several, or on a Ray cluster.

Each takes (number, sentences) and yields (number, tallies, decisions) in any order, which does not
affect the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import islice
from multiprocessing import get_context

from clinometer.contexts.mining.decision import Decision
from clinometer.contexts.mining.languages import Language, decide_each, open_languages
from clinometer.contexts.mining.settings import MineSettings
from clinometer.contexts.mining.tally import Tally
from clinometer.errors import ContextError, SettingsError

#: Number, and the sentences, each with the index of its article.
Piece = tuple[int, list[tuple[int, str]]]
#: Number, the tally of each topic, and what was decided for the first topic.
Done = tuple[int, list[Tally], list[Decision]]
#: Pieces sent to a cluster at a time: the number in memory here.
_WINDOW = 256


def decide_piece(languages: Sequence[Language], explain: bool, piece: Piece) -> Done:
    """Parse the sentences of a piece once and count the decisions of each topic."""
    number, sentences = piece
    tallies = [Tally() for _ in languages]
    kept: list[Decision] = []
    decided = decide_each(languages, [sentence for _, sentence in sentences])
    for (article, _), found in zip(sentences, decided, strict=True):
        for tally, decisions in zip(tallies, found, strict=True):
            tally.take(decisions, article)
        if explain:
            kept += found[0]
    return number, tallies, kept


def run(
    pieces: Iterable[Piece],
    settings: MineSettings,
    languages: Sequence[Language],
    *,
    explain: bool,
    executor: str,
    processes: int,
    allow_open_ray: bool = False,
) -> Iterator[Done]:
    """Yield the finished pieces as they complete."""
    if executor == "ray":
        yield from _on_ray(pieces, settings, explain, allow_open=allow_open_ray)
    elif executor != "local":
        raise SettingsError(f"executor: expected local or ray, found {executor!r}")
    elif processes > 1:
        yield from _in_processes(pieces, settings, explain, processes)
    else:
        for piece in pieces:
            yield decide_piece(languages, explain, piece)


# --- processes --------------------------------------------------------------------------------

_WORK: Callable[[Piece], Done] | None = None


def _open(settings: MineSettings, explain: bool) -> Callable[[Piece], Done]:
    return partial(decide_piece, open_languages(settings), explain)


def _begin(settings: MineSettings, explain: bool) -> None:
    global _WORK  # noqa: PLW0603  (one parser per process, loaded once)
    _WORK = _open(settings, explain)


def _work(piece: Piece) -> Done:
    if _WORK is None:
        raise RuntimeError("used before it was opened")
    return _WORK(piece)


def _in_processes(
    pieces: Iterable[Piece], settings: MineSettings, explain: bool, processes: int
) -> Iterator[Done]:
    waiting: set[Future[Done]] = set()
    pieces = iter(pieces)
    with ProcessPoolExecutor(
        processes,
        mp_context=get_context("spawn"),
        initializer=_begin,
        initargs=(settings, explain),
    ) as pool:
        try:
            while True:
                for piece in islice(pieces, 2 * processes - len(waiting)):
                    waiting.add(pool.submit(_work, piece))
                if not waiting:
                    return
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BrokenProcessPool as exc:
            raise ContextError(
                "mining: a worker process died; rerun the same command to resume"
            ) from exc


# --- Ray ----------------------------------------------------------------------------------------


def _on_ray(
    pieces: Iterable[Piece], settings: MineSettings, explain: bool, *, allow_open: bool
) -> Iterator[Done]:
    from clinometer.execution.ray_pool import Need, Pool

    pieces = iter(pieces)
    need = Need(cpus=1, gpus=0, allow_open=allow_open)
    with Pool(partial(_open, settings, explain), need=need) as pool:
        while window := list(islice(pieces, _WINDOW)):
            for _, done in pool.map(window):
                yield done
