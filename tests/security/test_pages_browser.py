"""Scripts in names, texts and addresses, loaded by a real browser: all of them are text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from tests.browser import settled, watched
from tests.models.server.http import serving
from tests.preferences import labelled, pair

from clinometer.contexts import ContextSet
from clinometer.models import ModelInfo
from clinometer.runs import AuditSettings, Run, RunFolder
from clinometer.runs.folder.record import new_record
from clinometer.topics import Group, Topic
from clinometer.web import viewer
from clinometer.web.annotation.pages import annotation
from clinometer.web.annotation.store import Store
from clinometer.web.annotation.task import Item, Task

#: Each would run, or change the page, if it came to a browser as it is.
PAYLOADS = {
    "script": "<script>document.title='owned'</script>",
    "image": "<img src=x onerror=\"document.title='owned'\">",
    "attribute": '" autofocus onfocus="document.title=\'owned\'" x="',
    "quote": "' onmouseover='document.title=`owned`' x='",
    "vector": "<svg onload=\"document.title='owned'\"></svg>",
    "end of title": "</title></style></textarea><script>document.title='owned'</script>",
    "details": "<details open ontoggle=\"document.title='owned'\"></details>",
    "frame": "<iframe srcdoc=\"<script>parent.document.title='owned'</script>\"></iframe>",
    "link": "<a href=\"javascript:document.title='owned'\">x</a>",
    "refresh": '<meta http-equiv="refresh" content="0;url=//example.org">',
    "template": "{{7*191}}${7*191}<%= 7*191 %>",
}
SURFACES = ("list", "run", "error", "annotation")
#: What none of our pages has of its own.
FOREIGN = (
    "img, iframe, object, embed, base, meta[http-equiv=refresh], [onerror], [onload], [onfocus], "
    "[onmouseover], [ontoggle], [srcdoc], a[href^='javascript:'], script:not([src^='/static/'])"
    ":not([type='application/json'])"
)


def write_run(folder: Path, text: str) -> None:
    """A run whose every name is `text`."""
    groups, attributes = (
        (Group(text), Group("other")),
        {text: (text,), "second": ("b",)},
    )
    topic = Topic("named", groups, attributes, title=text)
    asked = ContextSet(
        text, [f"The [X] said {text} that [Y]", "The [X] felt that [Y]"], [2.0, 1.0]
    )
    preferences = labelled(
        pair(np.array([[0.9, 0.6], [0.2, 0.5]])),
        groups=topic.group_names,
        contexts=asked.ids,
        categories=topic.categories,
        context_weights=asked.weights,
        templates=tuple(asked.templates),
    )
    folder.mkdir()
    record = new_record(
        ModelInfo(text, "causal", "none"), topic, asked, AuditSettings()
    )
    Run.measured(record, preferences, folder=RunFolder(folder))


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Each surface, with a place for the number or the text of a payload."""
    root = tmp_path_factory.mktemp("root")
    for number, text in enumerate(PAYLOADS.values()):
        write_run(root / f"run{number}", text)
    items = tuple(
        Item(f"i{n}", f"{text} ___", ()) for n, text in enumerate(PAYLOADS.values())
    )
    store = Store(root / "j.sqlite", Task("rating", items))
    person = store.annotators(1)[0]
    store.begin(person)
    for place, text in enumerate(PAYLOADS.values()):
        store.judge(person, place, "1", text)
    with (
        serving(viewer(root)) as runs,
        serving(annotation(store, guidelines="")) as people,
    ):
        yield {
            "list": f"{runs}/?q={{text}}&topic={{text}}&sort={{text}}",
            "run": f"{runs}/run?id=run{{number}}",
            "error": f"{runs}/run?id={{text}}&x={{text}}",
            "annotation": f"{people}/judge?item={{number}}",
            "enter": f"{people}/?token={person.token}",
        }
    store.close()


@pytest.fixture(scope="module")
def seen(chromium: Any, addresses: dict[str, str]) -> Iterator[Any]:
    found = watched(chromium)
    found.page.goto(addresses["enter"])
    yield found
    found.page.context.close()  # or the servers would wait for it


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("name", PAYLOADS)
def test_a_script_is_text(
    seen: Any, addresses: dict[str, str], name: str, surface: str
) -> None:
    text, page = PAYLOADS[name], seen.page
    number = list(PAYLOADS).index(name)
    seen.requests.clear()
    address = addresses[surface].format(number=number, text=quote(text))
    reply = page.goto(address)
    assert reply.status == (404 if surface == "error" else 200)
    settled(page)
    assert foreign(page) == []
    assert page.title() != "owned"
    assert page.url == address
    shown = page.locator("html").inner_text() + page.content()
    assert "1337" not in shown.replace(text, "")
    if surface in ("run", "annotation"):  # it is there, and can be read
        assert text in page.locator("html").text_content()
    host = "/".join(address.split("/")[:3])
    assert [r for r in seen.requests if not r.startswith((host, "data:"))] == []


def foreign(page: Any) -> list[str]:
    found: list[str] = page.evaluate(
        "(what) => [...document.querySelectorAll(what)].map((one) => one.outerHTML.slice(0, 100))",
        FOREIGN,
    )
    return found


@pytest.mark.parametrize(
    "name", [name for name, text in PAYLOADS.items() if text[0] == "<"]
)
def test_without_escapes_it_would_be_seen(chromium: Any, name: str) -> None:
    page = watched(chromium, offline=True).page
    page.set_content(f"<main>{PAYLOADS[name]}</main>")
    assert foreign(page) or page.title() == "owned"
    page.context.close()
