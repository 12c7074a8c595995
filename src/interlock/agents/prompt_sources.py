"""Where prompts come from in one process: the folder of instructions, and what is taken out of every text.

What a run itself brings along is `prompt_data`'s.
"""

from interlock.agents.bootstrap import BootstrapFolder
from interlock.agents.system_words import harmless
from interlock.policy.secrets import scrub
from interlock.settings import Settings
from interlock.tools.secrets import Vault

MOST_CHARS = 4_000_000
"""Of texts that are remembered as they were cleaned."""


class Cleaner:
    """Masks secrets, named ones and what looks like one, and what reads as a system message; each text is read once."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._known, self._chars = vault.known, 0
        self._cleaned: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """The text as a model may see it; the very same text where nothing is in it."""
        if self._known != self._vault.known or self._chars > MOST_CHARS:
            self._known, self._chars = self._vault.known, 0
            self._cleaned.clear()
        found = self._cleaned.get(text)
        if found is None:
            found = self._cleaned[text] = harmless(scrub(self._vault.scrub(text)))
            self._chars += len(text) + len(found)
        return found


class PromptSources:
    """Those of one installation."""

    def __init__(self, settings: Settings, vault: Vault) -> None:
        self.folder = BootstrapFolder(settings.bootstrap, settings.home / "workspaces", vault.scrub)
        self.clean = Cleaner(vault)
