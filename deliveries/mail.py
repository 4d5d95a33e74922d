"""Mail: the only voice to the mail server."""

import logging
import smtplib
from collections.abc import Collection

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

logger = logging.getLogger(__name__)


def send_mail(recipients: Collection[str], subject: str, text: str) -> bool:
    """Mail each recipient once. False when a later try may succeed."""
    with_timeout = get_connection()
    delivered = True
    for recipient in recipients:
        message = EmailMessage(subject, text, settings.DEFAULT_FROM_EMAIL, [recipient], connection=with_timeout)
        try:
            message.send()
        except smtplib.SMTPRecipientsRefused as refusal:
            # A mailbox that does not exist will not exist in a minute either; repeating would mail the others again.
            logger.exception("the mail server refuses %s", recipient)
            delivered &= not _is_temporary(refusal)
        except (smtplib.SMTPException, OSError) as error:
            logger.warning("a mail to %s could not be handed over: %s", recipient, error)
            delivered = False
    return delivered


def _is_temporary(refusal: smtplib.SMTPRecipientsRefused) -> bool:
    return any(code < 500 for code, _ in refusal.recipients.values())
