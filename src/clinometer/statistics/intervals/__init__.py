"""Every interval there is, one file a kind; nobody else computes ends from quantiles.

| file | interval |
|---|---|
| `means` | Hall's interval of weighted means, and the jackknife of what is no mean |
| `flips` | differences that sign flips do not reject |
| `student` | Student's of one mean, Welch's of two, Fieller's of the ratio of two |
| `shares` | Wilson's of a share, Newcombe's of a difference, Donner and Zou's of a ratio |
| `percentile` | the central part of bootstrap replicates |
| `reach` | how far an arm reaches for a standard error that is known already |

A function returns an `Estimate`, or arrays of ends with named parts for many numbers at once.
"""
