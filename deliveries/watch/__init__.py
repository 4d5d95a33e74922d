"""Whether work moves: who attends to it, what is overdue, who is alive, and the verdict.

survey.py      all figures and the verdict on them
liveness.py    the verdict, pure
overdue.py     endpoints with due work
attended.py    those for which work is on its way
figures.py     what the attempts of a window came to, and what waits
heartbeats.py  signs of life of workers and sweeps
"""
