"""Benches: each measures one claim of the README on this machine, in a database of its own (`python -m bench`)."""
