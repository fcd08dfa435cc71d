"""The annotation task: people judge statements in a browser, each with a personal link.

task        what is judged: items of a dataset, questions and answers of a mode
guidelines  the instructions for annotators, as safe HTML from Markdown
database    where judgements are stored: SQLite or PostgreSQL
store       who judged what
export      judgements as a table, without names
pages       the pages
"""

from clinometer.web.annotation.export import export_table
from clinometer.web.annotation.pages import annotation
from clinometer.web.annotation.store import Store
from clinometer.web.annotation.task import Task, read_task

__all__ = ["Store", "Task", "annotation", "export_table", "read_task"]
