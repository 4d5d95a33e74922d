"""What a provider wants to read in the answer beyond its status. Pure."""

import json
from typing import Any


def reply(scheme: str, event_type: str, document: Any) -> str:
    """The text of the 200; empty for providers that only look at the status."""
    match scheme:
        # https://docs.slack.dev/reference/events/url_verification
        case "slack" if event_type == "url_verification" and isinstance(document, dict):
            return json.dumps({"challenge": document.get("challenge")})
        # Older accounts retry without it: https://docs.adyen.com/development-resources/webhooks/
        case "adyen":
            return "[accepted]"
    return ""
