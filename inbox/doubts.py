"""Sources that refuse everything as they are configured."""

from dataclasses import dataclass

from django.utils import timezone

from inbox import key_fetchers
from inbox.models import Source, SourceSecret
from inbox.schemes import SCHEMES


@dataclass(frozen=True, slots=True)
class Doubt:
    """What is wrong with a source, as the end of a sentence about it, and what to do."""

    source: str
    sentence: str
    hint: str


def doubts() -> list[Doubt]:
    """One for each enabled source that cannot accept anything."""
    live = set(SourceSecret.objects.live(timezone.now()).values_list("source", flat=True))
    found = [(source, _doubt(source, source.pk in live)) for source in Source.objects.filter(enabled=True)]
    return [doubt for _, doubt in found if doubt is not None]


def doubt_about(source: Source) -> Doubt | None:
    """The same for one source."""
    return _doubt(source, SourceSecret.objects.live(timezone.now()).filter(source=source).exists())


def _doubt(source: Source, has_secret: bool) -> Doubt | None:
    scheme = SCHEMES.get(source.scheme)
    if scheme is None:
        names = ", ".join(sorted(SCHEMES))
        return Doubt(source.slug, f"refuses everything: there is no scheme {source.scheme}.", f"Known are {names}.")
    if faults := scheme.options_faults(source.options):
        words = "; ".join(f"{name}: {sentence}" for name, sentence in sorted(faults.items()))
        return Doubt(source.slug, f"refuses everything: {words}", "Mend its options in the admin.")
    if fault := key_fetchers.fault_of(source.options):
        return Doubt(source.slug, f"refuses everything: {fault}", "Mend its options in the admin, or the settings.")
    if scheme.needs_secret and not has_secret:
        hint = f"manage.py inbox rotate-secret {source.slug}, with the provider's secret on standard input."
        return Doubt(source.slug, "refuses everything: it has no live secret.", hint)
    return None
