"""The Redis keys of pacing."""


def keys(endpoint_id: int, *names: str) -> list[str]:
    """Keys of one endpoint; the braces keep them together on one node of a cluster."""
    return [f"holdfast:{{{endpoint_id}}}:{name}" for name in names]
