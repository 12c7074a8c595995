"""Circuit breakers: a provider is not called for a while after several faults in a row, then tried by one caller.

What a run does meanwhile is the runner's job; retrying a single call is decided in `retries`.
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
    """The circuit of one provider; times are seconds of a monotonic clock."""

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
    """The circuits of a process, one for each provider; the current time is passed in.

    Source: row F7.
    """

    def __init__(self, open_after: int = 5, probe_s: float = 15.0) -> None:
        self._open_after, self._probe_s = open_after, probe_s
        self._of: dict[str, Circuit] = {}

    def wait_s(self, provider: str, now_s: float) -> float:
        """Seconds until the provider may be called; 0 if it may be called now."""
        circuit = self._of.get(provider)
        if circuit is None or circuit.rests_until_s is None:
            return 0.0
        if now_s < circuit.rests_until_s:
            return circuit.rests_until_s - now_s
        return self._probe_s if circuit.trial_until_s is not None and now_s < circuit.trial_until_s else 0.0

    def enter(self, provider: str, now_s: float) -> float:
        """Admits a caller (0), or returns the seconds that it must wait.

        When an open circuit's time is over, one caller is admitted to try; it must report the outcome with `succeeded`,
        `failed` or `left`.
        """
        wait_s = self.wait_s(provider, now_s)
        circuit = self._of.get(provider)
        if not wait_s and circuit is not None and circuit.rests_until_s is not None:
            circuit.trial_until_s = now_s + TRIAL_S
        return wait_s

    def succeeded(self, provider: str) -> None:
        """Records a successful call: the circuit is closed."""
        self._of.pop(provider, None)

    def failed(self, provider: str, error: ModelError, now_s: float) -> None:
        """Records a failed call. A request that the provider rejected as invalid shows that it works."""
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
        """Records a call that was abandoned without an outcome: the next caller may try."""
        if (circuit := self._of.get(provider)) is not None:
            circuit.trial_until_s = None

    def of(self, provider: str) -> Circuit | None:
        """The circuit of a provider; None if its last call succeeded, or there was none."""
        return self._of.get(provider)
