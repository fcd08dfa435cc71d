"""The annotation task: people judge statements in a browser, each with a personal link.

store    what is judged, and who judged what, in a SQLite file and as a table without names
pages    the pages, with the guidelines for annotators as safe HTML
"""
