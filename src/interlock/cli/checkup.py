"""The checks of `doctor`; each returns what it found and, if that is a problem, what to do."""

import asyncio
import os
import platform
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from interlock.app import config, fleet, parts
from interlock.app.local import database_file, directly, home_lock
from interlock.cli import os_errors
from interlock.core.clock import SystemClock
from interlock.core.errors import ConfigError, InterlockError
from interlock.core.text import amount
from interlock.desk.operations import audit
from interlock.llm.providers import Models
from interlock.llm.tokens import text_tokens
from interlock.policy.secrets import scrub
from interlock.settings import Settings, load_settings
from interlock.store.upkeep import migrate
from interlock.tools.sandboxes.sandbox import Sandbox
from interlock.tools.secrets import Vault
from interlock.tools.workspace import Limits

MIB = 1024 * 1024
LEAST_DISK_MIB = 500
NEARLY_FULL = 0.8
EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check. `state` is ok, warning or error."""

    check: str
    state: str
    found: str


async def examine() -> list[Finding]:
    """Runs all checks, even if some of them fail."""
    findings = [_python()]
    try:
        settings = load_settings(Path.cwd(), os.environ, {})
    except ConfigError as error:
        return [*findings, *(Finding("settings", "error", fault) for fault in error.faults)]
    findings.append(Finding("settings", "ok", f"home {settings.home}"))
    for check in (
        _home,
        _readers,
        _disk,
        _policy,
        _personas,
        _instructions,
        _model,
        _email,
        _search,
        _slack,
        _telegram,
        _telemetry,
        _audit,
        _secrets,
        _clock,
        _executing,
        _times,
    ):
        try:
            findings += check(settings)
        except OSError as error:
            findings.append(Finding(check.__name__.strip("_"), "error", os_errors.explanation(error) or str(error)))
    findings.append(await _sandbox(settings))
    findings.append(await _database(settings))
    if findings[-1].state == "ok":
        findings += await _files(settings)
        findings += [] if settings.is_embedded else await _workers(settings)
    return findings


def _python() -> Finding:
    return Finding("python", "ok", f"{platform.python_version()} on {platform.system()}")


def _home(settings: Settings) -> Iterator[Finding]:
    there = next(path for path in (settings.home, *settings.home.parents) if os.path.exists(path))
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        yield Finding("home", "ok", "writable" if there == settings.home else f"can be made in {there}")
    else:
        yield Finding("home", "error", f"{there} is not writable: set INTERLOCK_HOME to a folder that is")


def _readers(settings: Settings) -> Iterator[Finding]:
    """Whether other accounts of this machine can read the home, which is meant for one."""
    if not settings.is_embedded:
        return
    file = database_file(settings)
    if file.exists() and file.stat().st_mode & stat.S_IROTH and file.parent.stat().st_mode & stat.S_IXOTH:
        yield Finding("readers", "warning", f"everybody on this machine can read {file}: run `chmod 600 {file}`")


def _disk(settings: Settings) -> Iterator[Finding]:
    there = next(path for path in (settings.home, *settings.home.parents) if os.path.exists(path))
    free = shutil.disk_usage(there).free // MIB
    enough = free >= LEAST_DISK_MIB
    yield Finding("disk", "ok" if enough else "warning", f"{free:,} MiB free" + ("" if enough else ": free some"))


def _policy(settings: Settings) -> Iterator[Finding]:
    try:
        empty = config.emptiness(settings.policy, config.load_policy_of(settings))
    except ConfigError as error:
        yield from (Finding("policy", "error", fault) for fault in error.faults)
    else:
        yield Finding(
            "policy", "warning" if empty else "ok", str(empty[0] if empty else settings.policy or "the built-in one")
        )


def _personas(settings: Settings) -> Iterator[Finding]:
    found = config.load_all_personas(settings)
    yield from (Finding("personas", "error", fault) for fault in found.faults)
    yield Finding("personas", "ok", f"{len(found.personas)} loaded")


def _instructions(settings: Settings) -> Iterator[Finding]:
    found = parts.load_instructions(settings)
    for name, why in found.left_out:
        yield Finding("instructions", "warning", f"agents are not shown all of {name}: {why}")
    tokens = sum(text_tokens(file.text) for file in found.files)
    usual = settings.bootstrap / "AGENTS.md"
    none = f"none yet: write some into {usual}" if usual.exists() else "none: `interlock init` writes files for them"
    names = ", ".join(file.name for file in found.files) or none
    cost = f", about {tokens:,} tokens of a prompt" if found.files else ""
    yield Finding("instructions", "ok", f"{names}{cost}")


def _model(settings: Settings) -> Iterator[Finding]:
    for name in sorted(settings.providers):
        key, given = settings.key(name), settings.provider(name)
        if key is not None:
            yield _key(name, key)
        if given.base_url is not None:
            spoken = f", speaks {given.protocol}" if given.protocol else ""
            yield Finding("provider", "ok", f"{name}: at {_without_user(given.base_url)}{spoken}")
    try:
        yield Finding("model", "ok", str(Models(parts.providers_of(settings)).resolve(settings.model)))
    except InterlockError as error:
        yield Finding("model", "warning", str(error))


def _without_user(url: str) -> str:
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path.partition('?')[0]}"


def _key(provider: str, key: str) -> Finding:
    if any(c.isspace() or not c.isprintable() for c in key):
        return Finding("key", "error", f"{provider}: it contains a space or line break: set it again without")
    return Finding("key", "ok", f"{provider}: set, {amount(len(key), 'character')}")


def _email(settings: Settings) -> Iterator[Finding]:
    postal, smtp = settings.postal, settings.smtp
    if postal.base_url is None and smtp.host is None:
        yield Finding("e-mail", "ok", "not set up, so `send_email` fails: set `smtp` or `postal` in interlock.yaml")
        return
    way, sender = ("postal", postal.sender) if postal.base_url is not None else ("smtp", smtp.sender)
    if not sender:
        yield Finding("e-mail", "warning", f"it has no sender: set `{way}.sender` in interlock.yaml")
    elif way == "postal" and postal.api_key is None:
        yield Finding("e-mail", "warning", "Postal needs a key: set POSTAL_API_KEY")
    else:
        yield Finding("e-mail", "ok", f"by {way} as {sender}")


def _search(settings: Settings) -> Iterator[Finding]:
    missing = settings.brave.api_key is None
    yield Finding("search", "ok", "not set up, so `web_search` fails: set BRAVE_API_KEY" if missing else "by Brave")


def _telemetry(settings: Settings) -> Iterator[Finding]:
    dsn = settings.sentry.dsn.get_secret_value() if settings.sentry.dsn is not None else ""
    if not dsn:
        yield Finding("telemetry", "ok", "off, nothing is sent: set SENTRY_DSN to tell Sentry how runs go")
        return
    try:
        place = urlsplit(dsn)
        is_dsn = place.scheme in ("http", "https") and place.username and place.path.rpartition("/")[2].isdecimal()
    except ValueError:
        is_dsn = False
    if not is_dsn:
        yield Finding("telemetry", "error", "sentry.dsn is not a DSN: copy it from the project's client keys in Sentry")
        return
    share = "" if settings.sentry.traces_sample_rate == 1 else f", {settings.sentry.traces_sample_rate:.0%} of traces"
    name = settings.sentry.environment or "production"
    yield Finding("telemetry", "ok", f"on, to Sentry at {place.hostname} as {name}{share}; no words of a run are sent")


def _slack(settings: Settings) -> Iterator[Finding]:
    slack = settings.slack
    if slack.bot_token is None and slack.app_token is None:
        yield Finding("slack", "ok", "not set up: set SLACK_BOT_TOKEN, and SLACK_APP_TOKEN or SLACK_SIGNING_SECRET")
    elif slack.bot_token is None:
        yield Finding("slack", "error", "it has no bot token: set SLACK_BOT_TOKEN")
    elif slack.app_token is not None:
        yield Finding("slack", "ok", f"by Socket Mode{_room(slack.channel, 'slack.channel')}")
    elif slack.signing_secret is not None:
        yield Finding("slack", "ok", f"its requests come to /slack/events{_room(slack.channel, 'slack.channel')}")
    else:
        yield Finding("slack", "error", "it cannot be heard: set SLACK_APP_TOKEN or SLACK_SIGNING_SECRET")


def _telegram(settings: Settings) -> Iterator[Finding]:
    telegram = settings.telegram
    if telegram.bot_token is None:
        yield Finding("telegram", "ok", "not set up: set TELEGRAM_BOT_TOKEN")
    elif telegram.webhook_url is None:
        yield Finding("telegram", "ok", f"by polling{_room(telegram.chat, 'telegram.chat')}")
    elif telegram.webhook_secret is None:
        yield Finding("telegram", "error", "its webhook has no secret: set INTERLOCK_TELEGRAM__WEBHOOK_SECRET")
    else:
        where = f"{scrub(telegram.webhook_url)}{_room(telegram.chat, 'telegram.chat')}"
        yield Finding("telegram", "ok", f"its updates come to {where}")


def _room(channel: str | None, setting: str) -> str:
    return f", alerts go to {channel}" if channel else f"; alerts go nowhere without `{setting}`"


def _audit(settings: Settings) -> Iterator[Finding]:
    can_be, detail = audit.standing(settings)
    yield Finding("audit", "ok" if can_be else "error", detail)


def _secrets(settings: Settings) -> Iterator[Finding]:
    for each in Vault(settings.secrets).standing():
        detail = each["problem"] or f"{each['name']} from {each['source']}, for {', '.join(each['tools']) or 'no tool'}"
        yield Finding("secret", "ok" if each["problem"] is None else "error", detail)


def _clock(settings: Settings) -> Iterator[Finding]:
    now = SystemClock().now()
    if now < EARLIEST:
        yield Finding("clock", "error", f"it says {now:%Y-%m-%d %H:%M} UTC: set it, or leases and budgets go wrong")
    else:
        zone = f"in {settings.timezone}, of an older project in the zone that it began with"
        yield Finding("clock", "ok", f"{now:%Y-%m-%d %H:%M} UTC; a day of money begins at midnight {zone}")


def _executing(settings: Settings) -> Iterator[Finding]:
    if settings.is_embedded:
        holder = home_lock(settings).holder()
        yield Finding("executing", "ok", "no process: start `interlock up`" if holder is None else f"process {holder}")


def _times(settings: Settings) -> Iterator[Finding]:
    """Whether heartbeats are too rare, so that a working worker would be taken for dead."""
    times = settings.times
    for name in ("stuck_s", "graceful_stop_s", "reassign_s"):
        if times.heartbeat_s * 2 > getattr(times, name):
            problem = f"`times.{name}` is less than twice `times.heartbeat_s`: live workers are taken for dead"
            yield Finding("times", "warning", problem)
            return


async def _files(settings: Settings) -> list[Finding]:
    """Projects with so many files that agents will soon be unable to write more; nothing deletes them."""
    most = Limits()
    return [
        Finding(
            "files", "warning",
            f"project {each['project_id']}: {each['count']:,} files of at most {most.file_count:,}, "
            f"{each['bytes'] // MIB:,} MiB of at most {most.total_bytes // MIB:,}: after that, agents can write no "
            "new ones; go on in another project",
        )
        for each in await fleet.files(settings) or ()
        if each["count"] >= NEARLY_FULL * most.file_count or each["bytes"] >= NEARLY_FULL * most.total_bytes
    ]  # fmt: skip


async def _workers(settings: Settings) -> list[Finding]:
    """The workers: process, host, version, concurrent runs, capabilities, and last heartbeat."""
    found = await fleet.workers(settings)
    if found is None:
        return []
    findings = [
        Finding(
            "worker", "ok",
            f"process {each['pid']} on {each['host'].partition('/')[0]}, version {each['version'] or 'unknown'}, "
            f"{each['concurrency']} runs at once, {', '.join(each['capabilities']) or 'no capabilities'}, "
            f"last heard {each['beat_at']:%Y-%m-%d %H:%M:%S} UTC ({each['id']})",
        )
        for each in found
    ]  # fmt: skip
    return findings or [
        Finding("worker", "warning", "no process is executing: start `interlock worker` or `interlock up`")
    ]


async def _sandbox(settings: Settings) -> Finding:
    """Whether commands of checks can run, as a worker finds out."""
    problem = await Sandbox.of(settings).problem()
    if settings.sandbox.checks == "off":
        alone = "commands of checks run with this account's files and network: leave `sandbox.checks` out"
        return Finding("sandbox", "warning", alone if problem is None else f"{alone}, after this: {problem}")
    if problem is not None:
        return Finding("sandbox", "warning", f"commands of checks cannot run here: {problem}")
    return Finding("sandbox", "ok", "bubblewrap works")


async def _database(settings: Settings) -> Finding:
    try:
        url, pooled = directly(settings)
        found = await asyncio.to_thread(migrate.revision, url, pooled=pooled)
    except (InterlockError, OSError) as error:
        refused = os_errors.explanation(error) if isinstance(error, OSError) else None
        return Finding("database", "error", refused or str(error))
    if found is None:
        return Finding("database", "ok", f"{settings.database_name}: not there yet, it is created at the first start")
    behind = "" if found == migrate.HEAD else f", will be brought to {migrate.HEAD} at the next start"
    if found not in migrate.KNOWN:
        behind = ", of a newer version that lets this one use it"
    return Finding("database", "ok", f"{settings.database_name}: revision {found}{behind}")
