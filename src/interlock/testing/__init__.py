"""What users need to test their own agents: a clock to set, a model that says what it is told, a runtime, servers.

Nothing here is used in production. The runtime is `interlock.testing.runtime`; the servers on this machine are
`interlock.testing.messages_api`, which speaks the Messages API, and `interlock.testing.chat_api`, for chat completions.
"""

from interlock.testing.clock import FakeClock
from interlock.testing.scripted import ScriptedModel

__all__ = ["FakeClock", "ScriptedModel"]
