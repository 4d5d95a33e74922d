"""Chaos: kill anything at any moment, and account for every event afterwards.

`python -m tests.chaos --seconds 600 --seed 7` runs real processes on servers of their own, publishes steadily, does one
cruel thing after another from the seed, waits until all is quiet, and accounts (`make chaos` is the same).

ground.py     the servers: PostgreSQL and Valkey, killed and started as the story wants
crew.py       the processes: workers, beat and the publisher, started again when they die, as a supervisor would
cast.py       the endpoints, each with its own way to answer, and what is published to them
publisher.py  the process that publishes and writes down what it committed
stage.py      all of these together
cruelties/    what is done to them, a function each
witness.py    what the receiver saw, by its log
flight.py     the requests in flight when something was killed: the only ones that may arrive twice
recovery.py   how long until deliveries arrive again, and whether pipeline_status tells the truth
quiet.py      until nothing moves any more, and what must be true then
account.py    what became of every event
scenario.py   one cruelty after another
"""
