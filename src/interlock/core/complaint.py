"""Logs a lasting problem when it begins and when it changes, not at each attempt."""

import logging


class Complaint:
    """The lasting problem of one loop."""

    def __init__(self, log: logging.Logger) -> None:
        self._log, self._said = log, ""

    def say(self, words: str, *parts: object) -> None:
        """Logs a warning, unless the last one had the same text."""
        said = words % parts
        if said != self._said:
            self._log.warning(words, *parts)
        self._said = said

    def over(self) -> None:
        """Forgets the problem, so that it is logged when it begins again."""
        self._said = ""
