"""Logs a lasting problem when it begins and when it changes, not at each attempt."""

import logging


class Complaint:
    """What one loop has to complain of."""

    def __init__(self, log: logging.Logger) -> None:
        self._log, self._said = log, ""

    def say(self, words: str, *parts: object) -> None:
        """Logs a warning, unless it is what was said last."""
        said = words % parts
        if said != self._said:
            self._log.warning(words, *parts)
        self._said = said

    def over(self) -> None:
        """It works again; should it begin once more, that is news."""
        self._said = ""
