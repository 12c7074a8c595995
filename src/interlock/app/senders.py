"""The ways in which a home sends messages to people: the senders that its settings allow, and the deliverer.

Each sender is its surface's; what is said, and in which order, is decided elsewhere.
"""

from interlock.agents.runtime import Runtime
from interlock.desk.chats import drawing
from interlock.integrations.contract import Sender
from interlock.integrations.delivery import Deliverer
from interlock.integrations.email import Mail
from interlock.scheduler.leadership import Leadership


def senders(runtime: Runtime) -> list[Sender]:
    """A sender for each surface that is set up and needs nothing but the settings."""
    return [Mail(runtime.settings, runtime.store)] if Mail.is_set_up(runtime.settings) else []


def deliverer(runtime: Runtime, outlets: list[Sender]) -> Deliverer:
    """The deliverer over these senders, which closes them at its end."""
    return Deliverer(runtime, outlets, lambda name: leadership(runtime, name), draw=drawing.draw)


def leadership(runtime: Runtime, name: str) -> Leadership:
    """This process's candidacy for a duty that one process at a time holds."""
    return Leadership(runtime.store, runtime.clock, name, takeover_s=runtime.settings.times.leader_takeover_s)
