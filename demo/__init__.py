"""`make demo`: Holdfast shown from end to end, with nothing simulated but the receiver.

cast.py         the seven endpoints, how each behaves, and what should become of its deliveries
scenario.py     the story: publish, watch, table, mend and redrive, proof
stage.py        everything the story needs, started before it and ended after it
place.py        a database and a Redis database of the demo's own
processes.py    the workers and beat, started and stopped with the demo
figures.py      what the database says: how far, how long, why dead
proof.py        signatures, losses, sameness, and the last line
account.py      event by event: what was promised against what the receiver saw
progress.py     one line that moves, or plain lines where none can
screen.py       headings and sentences
table.py        rows in columns
receiver/       the programmable HTTP receiver, also used by tests and benches
"""
