"""The annotation task: people judge statements in a browser, each with a personal link.

questions  what a mode asks, and the buttons that answer it
task       the items of a dataset
store      who judged what, in a SQLite file
export     the same as a table without names
pages      the pages, with the guidelines for annotators as safe HTML
"""
