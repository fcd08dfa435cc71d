"""Is a run worse than its baseline? One decision for the command, for pytest and for CI."""

from collections.abc import Callable

#: Told what each decision of `assert_not_worse` says, before it raises. Here, as the pytest plug-in
#: is loaded by every pytest and `decision` loads numpy.
WATCHERS: list[Callable[[str], None]] = []
