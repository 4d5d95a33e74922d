"""Events overtake each other: how a handler lets the newest win.

An event that is older than what is stored is no error. It ends as `stale`, and can be looked at as such.
"""

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, models, transaction
from django.db.models import Q

from inbox.statuses import Result


def apply_if_newer(
    model: type[models.Model],
    key: Mapping[str, Any],
    version: tuple[str, Any],
    values: Mapping[str, Any],
) -> Result:
    """Write `values` to the one row that `key` names unless it holds something newer; make it when there is none.

        return apply_if_newer(Customer, {"id": object["id"]}, ("changed_at", event.occurred_at), {"name": …})

    `version` is the name of the row's column and this event's value in it: a sequence number, or a time. One guarded
    UPDATE decides, so two events at once cannot undo each other. The key needs a unique constraint.

    Returns PROCESSED or, for an older event, STALE: return it from the handler. Equal versions count as newer, because
    a repeat of the same event never gets here: of two events in one second the later arrival wins. Where that is not
    good enough, fetch on receipt instead.
    """
    column, value = version
    if value is None:
        raise ValueError(f"The event says nothing about {column}, so it cannot be told whether it is newer.")
    rows = model._default_manager.filter(**key)
    written = {**values, column: value}
    newer = rows.filter(Q(**{f"{column}__isnull": True}) | Q(**{f"{column}__lte": value}))
    if newer.update(**written):
        return Result.PROCESSED
    if rows.exists():
        # Perhaps only since a moment ago: the row is there for good now, so this look decides.
        return Result.PROCESSED if newer.update(**written) else Result.STALE
    try:
        with transaction.atomic():
            model._default_manager.create(**key, **written)
    except IntegrityError:
        # Another event made the row just now; if the row still is not there, something else is wrong with it.
        if not rows.exists():
            raise
        return Result.PROCESSED if newer.update(**written) else Result.STALE
    return Result.PROCESSED
