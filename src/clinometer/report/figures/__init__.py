"""The figures of reports: runs in, charts with their words out. Every caption names the basis of
its numbers.

| file | figure |
|---|---|
| `groups` | the groups of a run, as the chart of its outcome |
| `distances` | the groups, or people shown in several ways, from what all get |
| `swing` | the groups and contexts that swing most |
| `distribution` | how answers spread over contexts |
| `models` | the risks of several models, and their differences |
| `parts` | lean, swing and dice |
| `spread` | the groups on which models differ most |
| `factor` | a lean against a social factor |

`run_words` and `group_words` are what they share.
"""
