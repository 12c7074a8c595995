"""The manifest of the Slack app: its command, scopes and events, from the desk's table of commands.

Source: https://docs.slack.dev/reference/app-manifest.
"""

from typing import Any

from interlock.desk.chats.command_table import COMMANDS, spelled

SCOPES = {
    "app_mentions:read": "hears who speaks to it by name",
    "channels:history": "finds its own message again where Slack's answer was lost, in public channels",
    "channels:join": "joins a public channel that it posts in, where it has to look for its own message there",
    "chat:write": "posts and edits its messages",
    "chat:write.public": "posts in public channels that it is not a member of",
    "commands": "has `/interlock`",
    "groups:history": "finds its own message again in private channels",
    "im:history": "reads what people write to it directly, and finds its own message again there",
    "im:write": "answers a person directly where it is not in the channel",
}
"""What the app may do, and what for."""
EVENTS = ("app_home_opened", "app_mention", "message.im")
MOST_HINT = 1_000


def manifest(address: str | None = None) -> dict[str, Any]:
    """The manifest; Slack posts to `address` (`https://…/slack/events`), or None for Socket Mode."""
    line = spelled("slack", "").strip()
    hint = " | ".join(command.usage for command in COMMANDS.values())
    command = {
        "command": line, "description": "Run missions, answer questions, stop the squad",
        "usage_hint": hint[:MOST_HINT], "should_escape": False,
    }  # fmt: skip
    here = {} if address is None else {"url": address}
    there = {} if address is None else {"request_url": address}
    return {
        "display_information": {
            "name": "Interlock",
            "description": "Agents propose, the interlock decides, people sign off",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": "Interlock", "always_online": True},
            "slash_commands": [{**command, **here}],
        },
        "oauth_config": {"scopes": {"bot": list(SCOPES)}},
        "settings": {
            "event_subscriptions": {**there, "bot_events": list(EVENTS)},
            "interactivity": {"is_enabled": True, **there},
            "org_deploy_enabled": False,
            "socket_mode_enabled": address is None,
            "token_rotation_enabled": False,
        },
    }
