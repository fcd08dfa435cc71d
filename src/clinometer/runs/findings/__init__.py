"""What was found in a run, as data with its sentences: one file a kind of finding.

`of_run.run_findings` puts them in order; the first is the headline, which the outcome words.
"""
