"""The annotation task: people judge statements in a browser, each with a personal link.

task     what is judged: items of a dataset, questions and answers of a mode
store    who judged what, in a SQLite file, and as a table without names
pages    the pages, with the guidelines for annotators as safe HTML
"""

from clinometer.web.annotation.pages import annotation
from clinometer.web.annotation.store import Store, export_table
from clinometer.web.annotation.task import Task, read_task

__all__ = ["Store", "Task", "annotation", "export_table", "read_task"]
