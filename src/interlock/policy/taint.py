"""Whether a call would carry out what a run has read: untrusted words, private data, a way out.

Where labels are kept and how they travel is not known here.
"""

from collections.abc import Iterable

from interlock.policy.calls import Call, Caller, Raised


def findings(call: Call, who: Caller) -> Iterable[Raised]:
    """What holds a call because of the taint of its run. Source: row C11."""
    return ()
