"""Every move of a received event's state, one file a move. Nothing else writes `ReceivedEvent.status`.

Each move is one guarded write: it names the state (and lease) it expects, and the rows it returns are the ones it won.
"""
