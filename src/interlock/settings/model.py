"""What a user can set, as one frozen model; where it is read from is `loading`'s matter."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, model_validator

from interlock.settings.agency import AgentSettings, MemorySettings, Routing, SubagentSettings, WorkspaceChat
from interlock.settings.part import Part
from interlock.settings.values import (
    Amount,
    Attempts,
    CapabilityName,
    Count,
    DatabaseUrl,
    Days,
    HeaderName,
    Interval,
    ModelName,
    Port,
    ProjectName,
    Seconds,
    SecretName,
    Share,
    SlackChannel,
    Url,
    VariableName,
    Zone,
)


class ProviderSettings(Part):
    """A model provider: where it is and the key for it. Any name will do for one that has a base URL."""

    base_url: Url | None = None
    protocol: Literal["openai", "anthropic"] | None = None
    """What it speaks, where it is not the provider's usual one: chat completions, or the Messages API."""
    headers: Mapping[HeaderName, SecretStr] = {}
    """Sent with every call."""
    api_key_env: str | None = None
    """The variable that holds the key, where it is not the provider's usual one."""
    api_key: SecretStr | None = None


class ProjectSettings(Part):
    """Limits of one project, in place of those of all. Source: rows D1, D6."""

    mission_budget_usd: Amount | None = None
    project_day_usd: Amount | None = None


class BraveSettings(Part):
    """Web search."""

    base_url: Url = "https://api.search.brave.com"
    api_key: SecretStr | None = None


class PostalSettings(Part):
    """E-mail by a Postal server; used where `base_url` is set."""

    base_url: Url | None = None
    api_key: SecretStr | None = None
    sender: str | None = None


class SmtpSettings(Part):
    """E-mail by SMTP; used where `host` is set."""

    host: str | None = None
    port: Port = 587
    username: str | None = None
    password: SecretStr | None = None
    starttls: bool = True
    sender: str | None = None


class SlackSettings(Part):
    """Slack: a bot token, and either a signing secret (Slack calls `/slack/events`) or an app token (Socket Mode)."""

    base_url: Url = "https://slack.com/api"
    bot_token: SecretStr | None = None
    signing_secret: SecretStr | None = None
    app_token: SecretStr | None = None
    channel: SlackChannel | None = None
    """The id of the channel that gets alerts and the threads of missions that were started elsewhere."""


class TelegramSettings(Part):
    """Telegram: a bot token; long polling, or a webhook where `webhook_url` is set."""

    base_url: Url = "https://api.telegram.org"
    bot_token: SecretStr | None = None
    chat: str | None = None
    """The id of the chat that gets alerts and the threads of missions that were started elsewhere."""
    webhook_url: Url | None = None
    """The public address of `/telegram/webhook`."""
    webhook_secret: SecretStr | None = None
    """What Telegram sends in its header; 1 to 256 of A-Z, a-z, 0-9, _ and -."""


class SentrySettings(Part):
    """Telemetry; nothing is sent and nothing loaded without `dsn`."""

    dsn: SecretStr | None = None
    environment: str | None = None
    traces_sample_rate: Share = 1.0


class HttpSettings(Part):
    """Where `serve` and `up` listen."""

    host: str = "127.0.0.1"
    port: Port = 8400


class Loops(Part):
    """When work counts as going round in circles.

    Source: numbers, "Loops".
    """

    comments: Count = 20
    """More than these in `comments_s`."""
    comments_s: Seconds = 1800.0
    review_cycles: Count = 3
    """More than these."""
    failed_calls: Count = 5
    """These, within the last `failed_calls_runs` runs of a task."""
    failed_calls_runs: Count = 10
    transitions: Count = 6
    """These in `transitions_s`, of which one pair of states makes up half."""
    transitions_s: Seconds = 3600.0
    messages: Count = 8
    """These between one pair of agents in `messages_s`."""
    messages_s: Seconds = 600.0


class Breakers(Part):
    """When work is stopped that costs more than it brings; a person lets it go on.

    Source: rows D5, I7, numbers, "Other defaults".
    """

    progress: bool = True
    """Whether runs are stopped that get no further."""
    idle_calls: Count = 8
    """Model calls without a sign of progress."""
    idle_share: Share = 0.25
    """Of a task's budget, spent without a sign of progress."""
    estimate_factor: Amount = 3.0
    """A mission pauses at so many times its estimate."""


class ApprovalSettings(Part):
    """What people are asked beyond what the policy says."""

    people_for_red: Count = 1
    """How many different people must approve a RED call, at least."""
    plan: Literal["auto", "ask"] = "auto"
    """Whether a person approves the plan of each mission before work on it begins."""


class Retention(Part):
    """When lessons are promoted, archived and pruned.

    Source: numbers, "Memory".
    """

    promote_confidence: Share = 0.8
    """Above it, and applied `promote_applied` times."""
    promote_applied: Count = 3
    prune_confidence: Share = 0.3
    """Below it, and not applied for `prune_days`."""
    prune_days: Count = 90
    archive_confidence: Share = 0.5
    """Below it, and never applied in `archive_days`."""
    archive_days: Count = 60


class Keep(Part):
    """For how many days what has ended is kept, by kind; where no number is set, for ever.

    Working records, such as requests that were answered, go by themselves: `oversight.retention`.
    """

    runs_days: Days | None = None
    """Steps, messages and calls of runs that have ended; what they came to stays."""
    messages_days: Days | None = None
    """Chats: what was said to people and by them, once it was delivered."""
    activities_days: Days | None = None
    """The audit log; what is forgotten leaves a digest of itself."""


class AuditSettings(Part):
    """The key that the audit log is sealed with, and where its heads are published.

    Without a key, one is made in the home where the database is a file in it, or nothing was sealed yet.
    """

    key: SecretStr | None = None
    """At least 16 characters; or `key_file`, which holds it."""
    key_file: Path | None = None
    old_key_files: tuple[Path, ...] = ()
    """Of keys that were used before: what they sealed can still be verified."""
    heads_file: Path | None = None
    """Gets a line for each head; keep it where who owns the database cannot write."""
    announce: bool = False
    """Whether the head of each day is told as an alert."""


class SecretSettings(Part):
    """Where one named secret is, and which tools may be given it; never the value itself."""

    env: VariableName | None = None
    file: Path | None = None
    tools: tuple[str, ...] = ()
    """Names of tools; none may have it where none is named."""
    personas: tuple[str, ...] = ()
    """Whose calls; everybody's where none is named."""
    domains: tuple[str, ...] = ()
    """Hosts to which it may go without asking a person, and no others; `*` for any. None: a person is asked each time.
    """
    value: SecretStr | None = Field(default=None, repr=False, exclude=True)
    """Of `env`, as it was when the settings were loaded."""

    @model_validator(mode="before")
    @classmethod
    def _is_a_place(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            raise ValueError("a secret is not written into settings: say where it is, with `env: NAME` or `file: PATH`")
        if ("env" in given) == ("file" in given):
            raise ValueError("a secret is in one place: give either `env: NAME` or `file: PATH`")
        return given


class ConsensusSettings(Part):
    """Who is asked where models must agree: before a person is, or where author and reviewer do not. Rows A10, C8."""

    models: tuple[ModelName, ...] = ()
    """Three, of which two decide; none: models are never asked. Names may repeat, but that is one opinion twice."""

    @model_validator(mode="after")
    def _are_three(self) -> "ConsensusSettings":
        if len(self.models) not in (0, 3):
            raise ValueError(f"`models` names {len(self.models)} models: three are asked, of whom two decide")
        return self


class HeartbeatSettings(Part):
    """What the squad looks at every so often by itself: the file HEARTBEAT.md, and who is asked to act on it."""

    file: Path = Path("HEARTBEAT.md")
    """Read by the process that leads, from its working directory."""
    persona: str = "operations"
    every_s: Seconds = 1800.0
    """60 at least."""


class Times(Part):
    """How long things may take, in seconds.

    Source: numbers, "Time" and "Other defaults".
    """

    heartbeat_s: Interval = 30.0
    stuck_s: Interval = 60.0
    """Without a beat: an alert."""
    graceful_stop_s: Interval = 90.0
    drain_s: Seconds = 20.0
    """How long runs may take to end their step when their process is told to stop."""
    reassign_s: Interval = 120.0
    """Without a beat: forced stop, and another agent takes over."""
    leader_takeover_s: Interval = 45.0
    """Without a sign of the leader: another process leads."""
    loop_sweep_s: Interval = 900.0
    approval_reminder_s: Interval = 1800.0
    learner_s: Interval = 3600.0
    blocked_escalation_s: Interval = 3600.0
    model_call_s: Seconds = 300.0
    task_run_s: Seconds = 1800.0
    chat_run_s: Seconds = 300.0


class Retry(Part):
    """How a failed model call is tried again: a wait that doubles from `base_s` up to `cap_s`.

    `max_attempts` counts the first call too; after them the run keeps its place and waits longer.
    """

    max_attempts: Attempts = 4
    base_s: Seconds = 1.0
    cap_s: Seconds = 30.0
    open_after: Count = 5
    """Faults of a provider in a row, over all runs of a process, after which nobody calls it for `probe_s`."""
    probe_s: Seconds = 15.0
    """Then one caller tries; the time doubles with each trial that fails, up to five minutes."""


class Settings(Part):
    """Everything that can be set, checked; secrets and the database's password are never printed."""

    home: Path
    database_url: DatabaseUrl = Field(repr=False)
    model: ModelName | None = None
    fallbacks: tuple[ModelName, ...] = ()
    """Models that are tried in turn where a persona names none of its own."""
    task_models: Mapping[str, ModelName] = {}
    """By type of task; a persona's own model goes before."""
    project: ProjectName = "default"
    timezone: Zone = "UTC"
    policy: Path | None = None
    personas: tuple[Path, ...] = ()
    workflows: tuple[Path, ...] = ()
    """Folders of workflow files, beside those that come with Interlock."""
    bootstrap: Path = Path(".")
    """The folder of AGENTS.md, SOUL.md, TOOLS.md and so on, which prompts are made of."""
    prices: Path | None = None
    providers: Mapping[str, ProviderSettings] = {}
    brave: BraveSettings = BraveSettings()
    postal: PostalSettings = PostalSettings()
    smtp: SmtpSettings = SmtpSettings()
    slack: SlackSettings = SlackSettings()
    telegram: TelegramSettings = TelegramSettings()
    sentry: SentrySettings = SentrySettings()
    http: HttpSettings = HttpSettings()
    concurrency: Count = 16
    """How many runs one worker process has in hand at once."""
    capabilities: tuple[CapabilityName, ...] = ()
    """What this machine's workers can do beside what they find out themselves, such as `gpu`."""
    crash_limit: Count = 3
    """How many workers may die in a row with a run in hand that gets no further; with one more it is a dead letter."""
    database_direct_url: DatabaseUrl | None = Field(default=None, repr=False)
    """Past the pooler, to be told of work at once and to migrate; only for PostgreSQL."""
    database_pooler: bool = False
    """Whether `database_url` leads to a transaction pooler, such as pgbouncer."""
    mission_budget_usd: Amount = 20.0
    project_day_usd: Amount = 50.0
    projects: Mapping[ProjectName, ProjectSettings] = {}
    """By name: what holds for one project instead."""
    approval_expires_s: Seconds = 86_400.0
    approvals: ApprovalSettings = ApprovalSettings()
    consensus: ConsensusSettings = ConsensusSettings()
    agents: AgentSettings = AgentSettings()
    subagents: SubagentSettings = SubagentSettings()
    chat: WorkspaceChat = WorkspaceChat()
    routing: Routing = Routing()
    memory: MemorySettings = MemorySettings()
    heartbeat: HeartbeatSettings = HeartbeatSettings()
    times: Times = Times()
    retry: Retry = Retry()
    loops: Loops = Loops()
    breakers: Breakers = Breakers()
    lessons: Retention = Retention()
    keep: Keep = Keep()
    audit: AuditSettings = AuditSettings()
    secrets: Mapping[SecretName, SecretSettings] = {}

    @property
    def database_name(self) -> str:
        """The database for people: its URL without user and password."""
        scheme, _, rest = self.database_url.partition("://")
        head, at, tail = rest.partition("@")
        return f"{scheme}://{tail if at else head}".partition("?")[0]

    @property
    def is_embedded(self) -> bool:
        """Whether the database is an SQLite file, so that one process executes."""
        return self.database_url.startswith("sqlite:")

    def mission_usd(self, project: str) -> float:
        """What a mission of a project may cost where nobody says otherwise."""
        found = self.projects.get(project, ProjectSettings()).mission_budget_usd
        return self.mission_budget_usd if found is None else found

    def day_usd(self, project: str) -> float:
        """What a project may cost in a day."""
        found = self.projects.get(project, ProjectSettings()).project_day_usd
        return self.project_day_usd if found is None else found

    def provider(self, name: str) -> ProviderSettings:
        """What is set for a provider, its key included."""
        return self.providers.get(name, ProviderSettings())

    def key(self, provider: str) -> str | None:
        """The key of a provider in clear, for the adapter that sends it; None where there is none."""
        found = self.provider(provider).api_key
        return found.get_secret_value() if found is not None else None
