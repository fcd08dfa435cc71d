"""Evidence sheets: what a run can be evidence for under a framework, what not, what is missing."""
