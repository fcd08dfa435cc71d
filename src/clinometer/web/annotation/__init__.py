"""The annotation task: people judge statements in a browser, each behind a link of their own.

task        what is judged: items of a dataset, questions and answers of a mode
guidelines  the text at hand, Markdown made safe
database    where it is kept: SQLite or PostgreSQL
store       who judged what
export      judgements as a table, without names
pages       the pages
"""

from clinometer.web.annotation.export import export_table
from clinometer.web.annotation.pages import annotation
from clinometer.web.annotation.store import Store
from clinometer.web.annotation.task import Task, read_task

__all__ = ["Store", "Task", "annotation", "export_table", "read_task"]
