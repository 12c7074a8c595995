"""What users need to test their own agents: a clock to set, and a local server that speaks the Messages API.

Nothing here is used in production. The server is `interlock.testing.messages_api`.
"""

from interlock.testing.clock import FakeClock

__all__ = ["FakeClock"]
