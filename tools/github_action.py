"""What action.yml runs: audit, gate, step summary, and one comment that is kept up to date.

Reads the inputs of the action from the environment (CLINOMETER_...) and what GitHub puts there
(GITHUB_...). Uses the standard library and the command `clinometer` only.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

#: Exit statuses of `clinometer gate`.
VERDICTS = {0: "not worse", 1: "worse", 3: "cannot tell"}
#: Comments on one page of GitHub's answer, the most it gives.
PAGE = 100


def main() -> int:
    """Exit status of the step: 0 passes."""
    wanted = _input("CANNOT_TELL", "fail")
    if wanted not in ("fail", "pass"):
        say(f"::error::cannot-tell: expected fail or pass, found {wanted!r}")
        return 2
    run = _input("RUN", "clinometer-run")
    if _input("MODEL") and (status := audit(run)):
        return status
    with TemporaryDirectory() as folder:
        file = Path(folder) / "gate.md"
        status = gate(run, file)
        if status not in VERDICTS:
            return status  # an error, which the command has named
        text = file.read_text(encoding="utf-8")
    verdict = VERDICTS[status]
    append("GITHUB_STEP_SUMMARY", text)
    append("GITHUB_OUTPUT", f"verdict={verdict}\nrun={run}\n")
    if _input("COMMENT", "true") == "true":
        comment(text, key=f"{run} {_input('TOPIC', 'gender')}")
    if verdict == "cannot tell" and wanted == "pass":
        say("::warning::clinometer gate: cannot tell")
        return 0
    return status


def audit(run: str) -> int:
    """Audit the model into the run folder."""
    command = ["clinometer", "audit", _input("MODEL"), "--out", run]
    command += ["--topic", _input("TOPIC", "gender")]
    if contexts := _input("CONTEXTS"):
        command += ["--contexts", contexts]
    return _call([*command, *shlex.split(_input("OPTIONS"))])


def gate(run: str, markdown: Path) -> int:
    """Judge the run by the baseline; the decision goes to a file as well."""
    command = ["clinometer", "gate", run, "--baseline", _input("BASELINE")]
    command += ["--margin", _input("MARGIN", "0.02"), "--markdown", str(markdown)]
    for measure in _input("MEASURES", "").split():
        command += ["--measure", measure]
    return _call(command)


def comment(text: str, *, key: str) -> None:
    """Write the comment on the pull request, or update the one written before.

    A comment that cannot be written costs a warning: the verdict is in the summary too.
    """
    number = pull_request()
    if number is None:
        return
    marker = f"<!-- clinometer gate: {key.replace('--', '- -')} -->"
    body = {"body": f"{marker}\n{text}"}
    address = f"repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    try:
        before = _mine(f"{address}/{number}/comments", marker)
        if before is None:
            ask("POST", f"{address}/{number}/comments", body)
        else:
            ask("PATCH", f"{address}/comments/{before}", body)
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = (
            f"status {error.code}"
            if isinstance(error, urllib.error.HTTPError)
            else str(error)
        )
        say(
            f"::warning::the comment was not written ({why}); give the job the permission "
            "pull-requests: write, or set comment: false"
        )


def pull_request() -> int | None:
    """Number of the pull request that started the job, or None."""
    event = os.environ.get("GITHUB_EVENT_PATH")
    if not event or not Path(event).is_file():
        return None
    found = json.loads(Path(event).read_text(encoding="utf-8")).get("pull_request")
    return int(found["number"]) if found else None


def ask(method: str, path: str, body: dict[str, str] | None = None) -> Any:
    """One request to GitHub's API; its answer."""
    root = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    request = urllib.request.Request(  # noqa: S310  (the address is GitHub's own variable)
        f"{root}/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {os.environ.get('GITHUB_TOKEN', '')}",
            "X-GitHub-Api-Version": "2022-11-28",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return json.load(answer)


def append(variable: str, text: str) -> None:
    """Add text to a file that GitHub names in a variable; outside of GitHub there is none."""
    if file := os.environ.get(variable):
        with Path(file).open("a", encoding="utf-8") as out:
            out.write(text)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _mine(path: str, marker: str) -> int | None:
    """The comment that starts with the marker."""
    page = 1
    while True:
        found = ask("GET", f"{path}?per_page={PAGE}&page={page}")
        for one in found:
            if str(one["body"]).startswith(marker):
                return int(one["id"])
        if len(found) < PAGE:
            return None
        page += 1


def _call(command: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", *command], check=False).returncode


def _input(name: str, default: str = "") -> str:
    return os.environ.get(f"CLINOMETER_{name}", "").strip() or default


if __name__ == "__main__":
    raise SystemExit(main())
