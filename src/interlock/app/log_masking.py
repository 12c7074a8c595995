"""Logs without secrets: while a home is open, no record of any logger of this process holds a known value, and none of
ours holds what would look like another record, or steer a terminal.

What is a secret is not known here; what is said to models and people is masked where it is said.
"""

import contextlib
import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from interlock.core.text import visible
from interlock.policy.secrets import scrub as by_shape

OURS = "interlock"
"""The logger above all of ours."""


@contextlib.contextmanager
def discreet(by_value: Callable[[str], str]) -> Iterator[None]:
    """Masks every log record when it is created, exception texts included, whichever handler gets it."""
    before, is_open = logging.getLogRecordFactory(), True

    def made(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = before(*args, **kwargs)
        if is_open:
            with contextlib.suppress(Exception):
                _mask(record, lambda text: by_shape(by_value(text)))
        return record

    logging.setLogRecordFactory(made)
    try:
        yield
    finally:
        is_open = False
        if logging.getLogRecordFactory() is made:
            logging.setLogRecordFactory(before)


def _mask(record: logging.LogRecord, mask: Callable[[str], str]) -> None:
    said = record.getMessage()
    is_ours = record.name.partition(".")[0] == OURS
    if (masked := _on_one_line(mask(said)) if is_ours else mask(said)) != said:
        record.msg, record.args = masked, ()
    if record.exc_info and record.exc_info[0] is not None:
        whole = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if (masked := visible(mask(whole)) if is_ours else mask(whole)) != whole:
            record.exc_text, record.exc_info = masked, None


def _on_one_line(text: str) -> str:
    """What a program, a provider or somebody in a chat called something is no line of its own, and steers nothing."""
    return visible(text).replace("\n", "\\n")
