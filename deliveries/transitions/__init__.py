"""Every move of a delivery's state, one file a move. Nothing else writes `Delivery.status`.

Each move is one guarded UPDATE: it names the state (and lease) it expects, and the rows it returns are the ones it won.
"""
