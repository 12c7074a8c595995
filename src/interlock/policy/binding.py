"""The subject of an approval: a hash over exactly the call that a person was shown."""

import hmac
from collections.abc import Mapping
from typing import Any

from interlock.core.values import digest

_FORM = "interlock-approval-1"


def subject_hash(run_id: str, call_id: str, tool_digest: str, args: Any, files: Mapping[str, str]) -> str:
    """The subject of an approval, in hex: run, call, tool definition, arguments, and the files that the call reads.

    `files` maps paths to content digests. Two calls that differ in anything differ in this.

    Raises ValueError or TypeError if the arguments are not JSON. Source: row C4, invariant 3.
    """
    return digest([_FORM, run_id, call_id, tool_digest, args, sorted(files.items())])


def same(one: str, other: str) -> bool:
    """Whether two hashes are equal, in constant time; empty ones never are."""
    return bool(one) and hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
