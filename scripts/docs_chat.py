"""The parts of the documents about chats that are made from code: app manifests, scopes; no reading or writing."""

import json

from interlock.integrations.slack.manifest import SCOPES, manifest

ADDRESS = "https://interlock.example.com/slack/events"


def socket_manifest() -> str:
    """The manifest of an app that keeps a line to Slack."""
    return _block(None)


def http_manifest() -> str:
    """The manifest of an app that Slack calls."""
    return _block(ADDRESS)


def _block(address: str | None) -> str:
    return f"```json\n{json.dumps(manifest(address), indent=2, ensure_ascii=False)}\n```"


def scopes() -> str:
    """What the app may do in a workspace, and what for."""
    rows = "\n".join(f"| `{scope}` | {purpose} |" for scope, purpose in SCOPES.items())
    return f"| scope | with it the app |\n| --- | --- |\n{rows}"
