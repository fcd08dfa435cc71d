"""Notebooks of this site: a command (`!clinometer …`) runs without a terminal, so that its output
is plain text, and one that fails is an error of its cell."""

import subprocess

from IPython import get_ipython

_shell = get_ipython()


def _run(command: str) -> None:
    text = _shell.var_expand(command, depth=1)
    done = subprocess.run(  # noqa: S602
        text,
        check=False,
        shell=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    print(done.stdout, end="")  # noqa: T201
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {text}")


_shell.system = _run
