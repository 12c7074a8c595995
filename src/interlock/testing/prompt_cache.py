"""A model of a provider's prompt cache, for measuring how much of a prompt is read from it.

It is that of the Messages API: prefixes of tools, system and messages are kept where a request marks them, and looked
for a few blocks back from each mark. What is answered is a script's job.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_MARKS = 4
LOOKBACK = 20
"""Blocks before a mark, the marked one included, at which a kept prefix is looked for.

Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
"""
CHARS_PER_TOKEN = 4


class TooManyMarks(ValueError):
    """A request has more cache breakpoints than the API takes."""


@dataclass(slots=True)
class PromptCache:
    """What has been kept of earlier requests; nothing is forgotten. `least` are the tokens of the shortest prefix."""

    least: int = 1024
    kept: set[str] = field(default_factory=set)

    def usage(self, body: Mapping[str, Any], output_tokens: int = 5) -> dict[str, int]:
        """What the API reports of a request's prompt, whose marked prefixes are kept from now on.

        Raises TooManyMarks.
        """
        digests, ends, marks, total = [], [], [], 0
        rolling = hashlib.sha256(str(body.get("model")).encode())
        for at, (where, block) in enumerate(_blocks(body)):
            bare = {name: value for name, value in block.items() if name != "cache_control"}
            text = json.dumps(bare, sort_keys=True, ensure_ascii=False)
            rolling.update(f"{where}\0{text}\0".encode())
            total += -(-len(text) // CHARS_PER_TOKEN)
            digests.append(rolling.hexdigest())
            ends.append(total)
            if "cache_control" in block:
                marks.append(at)
        if len(marks) > MOST_MARKS:
            raise TooManyMarks(f"{len(marks)} cache breakpoints: {MOST_MARKS} at most")
        found = (at for mark in marks for at in range(mark, max(-1, mark - LOOKBACK), -1) if digests[at] in self.kept)
        read = max((ends[at] for at in found), default=0)
        long_enough = [mark for mark in marks if ends[mark] >= self.least]
        self.kept |= {digests[mark] for mark in long_enough}
        written = max(0, max((ends[mark] for mark in long_enough), default=0) - read)
        return {
            "input_tokens": total - read - written,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": output_tokens,
        }


def prompt_tokens(usage: Mapping[str, int]) -> int:
    """All tokens of a prompt, as `PromptCache.usage` counts them."""
    return usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The blocks of a request in the order of its prefix, each with where it stands."""
    for tool in body.get("tools") or ():
        yield "tool", tool
    system = body.get("system") or ()
    for part in [{"type": "text", "text": system}] if isinstance(system, str) else system:
        yield "system", part
    thinking = json.dumps(body.get("thinking"), sort_keys=True)
    for number, message in enumerate(body.get("messages") or ()):
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            yield f"{message['role']} {number} {thinking}", block
