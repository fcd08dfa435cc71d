"""Charts as functions of plain tables: a frame in, a specification of Vega-Lite out.

| file | chart |
|---|---|
| `points` | a dot with its interval for each name, in panels |
| `shares` | a stacked bar for each group |
| `answers` | a cell for each group and context |
| `density` | how answers spread over contexts |
| `regression` | a lean against a social factor |
| `risks` | the risks of several models, and their differences |
| `plane`, `trend`, `spread`, `arrows` | several models, and what a fix changes |
| `cobias` | the COBIAS paper's |

`look`, `marks` and `axes` are what they share. A chart takes `width` (WIDE for a page, NARROW for a
phone) and knows nothing about runs, so studies use the same ones. `Figure` adds a title, a caption
with its n, and a text alternative.
"""
