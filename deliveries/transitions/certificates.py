"""What is remembered of endpoints' TLS certificates: their ends, in bulk."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from django.db import connection

# Servers behind one name may show different certificates while one is being renewed. The one that ends first is what
# counts until it has not been seen for an hour, so that the two do not take turns. In the order of the ids, so that
# two workers wait for each other instead of deadlocking.
_KEEP: Final = """
INSERT INTO deliveries_endpointcertificate AS known (endpoint_id, ends_at, seen_at)
SELECT seen.endpoint_id, min(seen.ends_at), now()
FROM json_to_recordset(%s) AS seen(endpoint_id bigint, ends_at timestamptz)
JOIN endpoints_endpoint endpoint ON endpoint.id = seen.endpoint_id
GROUP BY seen.endpoint_id ORDER BY seen.endpoint_id
ON CONFLICT (endpoint_id) DO UPDATE SET ends_at = excluded.ends_at, seen_at = excluded.seen_at
WHERE excluded.ends_at <= known.ends_at OR known.seen_at < now() - interval '1 hour'
"""


def keep(seen: Iterable[tuple[int, datetime]]) -> None:
    """Remember the ends (aware) of certificates that endpoints (by id) have just shown."""
    rows = [{"endpoint_id": id, "ends_at": ends_at.isoformat()} for id, ends_at in seen]
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, [json.dumps(rows)])
