"""The sources of prompts in one process: the folder of instructions, and what is masked in every text.

What a run itself brings along is `prompt_data`'s.
"""

from interlock.agents.prompts.bootstrap import BootstrapFolder
from interlock.agents.prompts.system_words import harmless
from interlock.policy.secrets import scrub
from interlock.settings import Settings
from interlock.tools.secrets import Vault

MOST_CHARS = 4_000_000
"""Of texts that are remembered as they were cleaned."""


class Cleaner:
    """Masks named secrets, what looks like a secret, and forged system messages; each text is inspected once."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._known, self._chars = vault.known, 0
        self._cleaned: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """The text as a model may see it; the very same text where nothing is in it."""
        self._forget()
        found = self._cleaned.get(text)
        return self._keep(text, self._read(text)) if found is None else found

    def lines(self, text: str) -> str:
        """The same for a text whose lines are independent; new lines are inspected together."""
        self._forget()
        lines = text.split("\n")
        fresh = [line for line in lines if line not in self._cleaned]
        together = "\n".join(fresh)
        is_clean = self._read(together) == together
        for line in fresh:
            self._keep(line, line if is_clean else self._read(line))
        return "\n".join(self._cleaned[line] for line in lines)

    def _read(self, text: str) -> str:
        return harmless(scrub(self._vault.scrub(text)))

    def _keep(self, text: str, cleaned: str) -> str:
        self._cleaned[text] = cleaned
        self._chars += len(text) + len(cleaned)
        return cleaned

    def _forget(self) -> None:
        """What was read before more was known, or would take too much room."""
        if self._known != self._vault.known or self._chars > MOST_CHARS:
            self._known, self._chars = self._vault.known, 0
            self._cleaned.clear()


class PromptSources:
    """The sources of one installation."""

    def __init__(self, settings: Settings, vault: Vault) -> None:
        self.folder = BootstrapFolder(settings.bootstrap, settings.home / "workspaces", vault.scrub)
        self.clean = Cleaner(vault)
