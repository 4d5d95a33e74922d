"""A worker's session over a set of endpoints; `drain` is the story, the other files are its parts.

drain.py    takes, claims, feeds, records and leaves; holds the budget
lane.py     one endpoint in a drain: how much to claim next, when it is done
channel.py  the requests of one endpoint: a queue and the threads that empty it
attempt.py  one attempt: sign, send, judge, decide
span.py     the attempt as a span of OpenTelemetry, where that is in use
due.py      when endpoints become due next
outbox.py   results on their way to the database
certificates.py  the ends of receivers' TLS certificates, noted now and then
beside.py   drains that take long, beside the worker's own threads
sending.py  what all drains of a process share
"""
