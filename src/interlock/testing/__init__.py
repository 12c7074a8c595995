"""What users need to test their own agents: a clock to set, a model that says what it is told, a runtime, a server.

Nothing here is used in production. The runtime is `interlock.testing.runtime`; the server, which speaks the Messages
API on this machine, `interlock.testing.messages_api`.
"""

from interlock.testing.clock import FakeClock
from interlock.testing.scripted import ScriptedModel

__all__ = ["FakeClock", "ScriptedModel"]
