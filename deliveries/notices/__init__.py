"""Telling people: a notice is a row first, written with what it tells about; a sweep sends it over every channel.

wording.py    what is said, from facts
about.py      the facts of an endpoint
standing.py   raise a notice once, and end it
sending.py    log, mail, operational event: each once, all of them in the end
mails.py      who gets one mail a notice, and who gets a list
"""
