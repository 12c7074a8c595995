"""Whether a provider is called at all: after some faults in a row it is left alone, then tried by one caller.

What a run does instead belongs to the runner; when one call is tried again, to `retries`.
"""

from dataclasses import dataclass

from interlock.llm.messages import ModelError, ModelFault

BREAKING = frozenset(
    {ModelFault.OVERLOADED, ModelFault.SERVER, ModelFault.CONNECTION, ModelFault.DROPPED, ModelFault.TIMEOUT}
)
"""Faults of transport and of overload; any other answer shows that the provider is there."""
LONGEST_S = 300.0
"""That a provider is left alone at a time: the wait doubles with each trial that fails."""
TRIAL_S = 600.0
"""After which a caller that tries a provider and is not heard of again is replaced by another."""


@dataclass(slots=True)
class Circuit:
    """Of one provider; times are seconds of a monotonic clock."""

    faults: int = 0
    """In a row."""
    opened: int = 0
    """Times in a row that it opened without a call that worked in between."""
    rests_until_s: float | None = None
    """Until when nobody calls; None while anybody may."""
    trial_until_s: float | None = None
    """Until when one caller is given to find out."""
    last: ModelError | None = None
    """What went wrong last."""


class Circuits:
    """The circuits of a process, one for each provider. It knows no clock: each question says what time it is.

    Source: row F7.
    """

    def __init__(self, open_after: int = 5, probe_s: float = 15.0) -> None:
        self._open_after, self._probe_s = open_after, probe_s
        self._of: dict[str, Circuit] = {}

    def wait_s(self, provider: str, now_s: float) -> float:
        """For how long the provider is not to be called; 0 where a caller may ask for it now."""
        circuit = self._of.get(provider)
        if circuit is None or circuit.rests_until_s is None:
            return 0.0
        if now_s < circuit.rests_until_s:
            return circuit.rests_until_s - now_s
        return self._probe_s if circuit.trial_until_s is not None and now_s < circuit.trial_until_s else 0.0

    def enter(self, provider: str, now_s: float) -> float:
        """Lets a caller pass (0), or says how many seconds it must wait.

        Once an open circuit has rested, the first who asks passes alone and is waited for: it must tell by
        `succeeded`, `failed` or `left` how it went.
        """
        wait_s = self.wait_s(provider, now_s)
        circuit = self._of.get(provider)
        if not wait_s and circuit is not None and circuit.rests_until_s is not None:
            circuit.trial_until_s = now_s + TRIAL_S
        return wait_s

    def succeeded(self, provider: str) -> None:
        """A call has worked: everybody may call."""
        self._of.pop(provider, None)

    def failed(self, provider: str, error: ModelError, now_s: float) -> None:
        """A call has failed. A provider that turned it away by itself is there all the same."""
        if error.fault not in BREAKING:
            self.succeeded(provider)
            return
        circuit = self._of.setdefault(provider, Circuit())
        circuit.faults, circuit.last = circuit.faults + 1, error
        was_trial, circuit.trial_until_s = circuit.trial_until_s is not None, None
        if was_trial or (circuit.rests_until_s is None and circuit.faults >= self._open_after):
            circuit.opened += 1
            circuit.rests_until_s = now_s + min(self._probe_s * 2.0 ** (circuit.opened - 1), LONGEST_S)

    def left(self, provider: str) -> None:
        """A caller was cut off before it knew: the next one may try."""
        if (circuit := self._of.get(provider)) is not None:
            circuit.trial_until_s = None

    def of(self, provider: str) -> Circuit | None:
        """How it stands with a provider; None if its last call worked, or there was none yet."""
        return self._of.get(provider)
