"""The log as facts: kinds of lines, each with a name, a logger and the facts that it carries; and how they are written.

line.py         a kind of line, and saying one, at once or when the transaction has committed
json_lines.py   a formatter: one JSON object a line
scrubbing.py    texts of others, made fit to be shown
"""

from journal.line import Line, Said, name_worker
from journal.scrubbing import scrubbed

__all__ = ["Line", "Said", "name_worker", "scrubbed"]
