"""All settings as one frozen model; reading them from files and variables is `loading`'s job."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, model_validator

from interlock.core.values import TaskType
from interlock.settings.agency import (
    AgentSettings,
    DelegationSettings,
    MemorySettings,
    Routing,
    SubagentSettings,
    WorkspaceChat,
)
from interlock.settings.isolation import SandboxSettings
from interlock.settings.part import Part
from interlock.settings.services import (
    BraveSettings,
    HttpSettings,
    PostalSettings,
    SentrySettings,
    SlackSettings,
    SmtpSettings,
    TelegramSettings,
)
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
    ProjectName,
    Seconds,
    SecretName,
    Share,
    Url,
    VariableName,
    Zone,
)


class ProviderSettings(Part):
    """A model provider: its address and key. With a base URL, the provider may have any name."""

    base_url: Url | None = None
    """Where the provider is reached; the usual address by default."""
    protocol: Literal["openai", "anthropic"] | None = None
    """Chat completions or the Messages API; for built-in providers, the usual one by default."""
    headers: Mapping[HeaderName, SecretStr] = {}
    """Headers that are sent with every call."""
    api_key_env: str | None = None
    """The variable that holds the key, if it is not the provider's usual one."""
    api_key: SecretStr | None = None
    """The provider's key."""


class ProjectSettings(Part):
    """Limits of one project, instead of the common ones. Source: rows D1, D6."""

    mission_budget_usd: Amount | None = None
    """What a mission of this project may cost by default, in USD."""
    project_day_usd: Amount | None = None
    """What this project may cost in a day, in USD."""


class Loops(Part):
    """When work counts as a loop.

    Source: numbers, "Loops".
    """

    comments: Count = 20
    """More comments than this on a task within `loops.comments_s` count as a loop."""
    comments_s: Seconds = 1800.0
    """The period for `loops.comments`, in seconds."""
    review_cycles: Count = 3
    """More reviews of one task than this count as a loop."""
    failed_calls: Count = 5
    """So many failed calls within `loops.failed_calls_runs` count as a loop."""
    failed_calls_runs: Count = 10
    """How many of a task's last runs `loops.failed_calls` looks at."""
    transitions: Count = 6
    """So many transitions of a task within `loops.transitions_s`, half between the same two states, count as a loop."""
    transitions_s: Seconds = 3600.0
    """The period for `loops.transitions`, in seconds."""
    messages: Count = 8
    """So many messages between the same two agents within `loops.messages_s` count as a loop."""
    messages_s: Seconds = 600.0
    """The period for `loops.messages`, in seconds."""


class Breakers(Part):
    """When work that costs too much for its progress is stopped; a person can resume it.

    Source: rows D5, I7, numbers, "Other defaults".
    """

    progress: bool = True
    """Whether runs that make no progress are stopped."""
    idle_calls: Count = 8
    """A run is stopped after so many model calls without progress."""
    idle_share: Share = 0.25
    """A run is stopped when it has spent this share of its task's budget without progress."""
    estimate_factor: Amount = 3.0
    """A mission pauses when it has cost this many times its estimate."""


class ApprovalSettings(Part):
    """What people are asked about in addition to the policy."""

    people_for_red: Count = 1
    """How many different people must approve a RED call, at least."""
    plan: Literal["auto", "ask"] = "auto"
    """`ask`: a person approves each mission's plan before work begins."""


class LessonSettings(Part):
    """How many lessons a run gets, how their confidence is weighted, and when they are promoted, archived and pruned.

    Source: numbers, "Memory", "Other defaults".
    """

    shown: Count = 5
    """How many lessons a run is given, the best ones."""
    window: Count = 20
    """From how many of its last uses the confidence of a lesson is computed."""
    promote_confidence: Share = 0.8
    """A lesson is promoted above this confidence, once applied `lessons.promote_applied` times."""
    promote_applied: Count = 3
    """How often a lesson must have been applied to be promoted."""
    prune_confidence: Share = 0.3
    """A lesson is pruned below this confidence, if not applied for `lessons.prune_days`."""
    prune_days: Count = 90
    """The period for `lessons.prune_confidence`, in days."""
    archive_confidence: Share = 0.5
    """A lesson is archived below this confidence, if never applied in `lessons.archive_days`."""
    archive_days: Count = 60
    """The period for `lessons.archive_confidence`, in days."""


class RetentionSettings(Part):
    """For how many days finished records are kept, by kind; without a number, for ever.

    Operational records, such as answered requests, are deleted in any case: `oversight.retention`.
    """

    runs_days: Days | None = None
    """How many days to keep steps, messages and calls of ended runs; their results stay."""
    messages_days: Days | None = None
    """How many days to keep chat messages after they were delivered."""
    activities_days: Days | None = None
    """How many days to keep the audit log; a digest of what is deleted stays."""


class AuditSettings(Part):
    """The key that seals the audit log, and where its heads are published.

    Without a key, one is created in the home, if the database is a file there or nothing has been sealed yet.
    """

    key: SecretStr | None = None
    """The key that seals the audit log; at least 16 characters."""
    key_file: Path | None = None
    """A file with that key."""
    old_key_files: tuple[Path, ...] = ()
    """Files with earlier keys, so that what they sealed can still be verified."""
    heads_file: Path | None = None
    """A file to which each head is appended; keep it where the database's owner cannot write."""
    announce: bool = False
    """Whether an alert gives the head of each day."""


class SecretSettings(Part):
    """The source of a named secret, and which tools may get it; never the value itself."""

    env: VariableName | None = None
    """The variable that holds the secret."""
    file: Path | None = None
    """The file that holds the secret."""
    tools: tuple[str, ...] = ()
    """The tools that may use it; none by default."""
    personas: tuple[str, ...] = ()
    """The personas whose calls may use it; all by default."""
    domains: tuple[str, ...] = ()
    """The only hosts that it may be sent to, without asking; `*` for any. By default a person is asked each time."""
    value: SecretStr | None = Field(default=None, repr=False, exclude=True)
    """The value of `env` when the settings were loaded."""

    @model_validator(mode="before")
    @classmethod
    def _is_a_place(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            raise ValueError("a secret is not written into settings: say where it is, with `env: NAME` or `file: PATH`")
        if ("env" in given) == ("file" in given):
            raise ValueError("a secret is in one place: give either `env: NAME` or `file: PATH`")
        return given


class ConsensusSettings(Part):
    """Which models vote, before a person is asked or if author and reviewer disagree. Rows A10, C8."""

    models: tuple[ModelName, ...] = ()
    """The three models that vote, of which two decide; a model may be repeated, but that is one opinion twice."""

    @model_validator(mode="after")
    def _are_three(self) -> "ConsensusSettings":
        if len(self.models) not in (0, 3):
            raise ValueError(f"`models` names {len(self.models)} models: three are asked, of whom two decide")
        return self


class HeartbeatSettings(Part):
    """What the squad checks at intervals: the file HEARTBEAT.md, and the persona that acts on it."""

    file: Path = Path("HEARTBEAT.md")
    """The file to act on; read by the leading process, from its working directory."""
    persona: str = "operations"
    """The persona that acts on it."""
    every_s: Seconds = 1800.0
    """How often, in seconds; 60 at least."""


class Times(Part):
    """Time limits and intervals, in seconds.

    Source: numbers, "Time" and "Other defaults".
    """

    heartbeat_s: Interval = 30.0
    """How often a worker sends a heartbeat."""
    stuck_s: Interval = 60.0
    """Without a heartbeat for so long, an alert is raised."""
    graceful_stop_s: Interval = 90.0
    """Without a heartbeat for so long, a worker is asked to give its runs back."""
    drain_s: Seconds = 20.0
    """How long runs may take to end their step when their process is told to stop."""
    reassign_s: Interval = 120.0
    """Without a heartbeat for so long, a worker counts as gone and its work is given to others."""
    leader_takeover_s: Interval = 45.0
    """Without a sign of the leader for so long, another process leads."""
    loop_sweep_s: Interval = 900.0
    """How often loops are looked for."""
    approval_reminder_s: Interval = 1800.0
    """How often people are reminded of an unanswered question."""
    learner_s: Interval = 3600.0
    """How often the Learner reviews what has ended."""
    blocked_escalation_s: Interval = 3600.0
    """After so long, a person is asked about a blocked task."""
    model_call_s: Seconds = 300.0
    """The longest that a model call may take."""
    tool_s: Seconds = 60.0
    """The longest that a tool call may take, if the tool does not say it itself."""
    task_run_s: Seconds = 1800.0
    """The longest that a run for a task may take."""
    chat_run_s: Seconds = 300.0
    """The longest that a run in a conversation may take."""


class Retry(Part):
    """How a failed model call is retried: after a wait that doubles from `base_s` up to `cap_s`.

    `max_attempts` includes the first call; after that, the run keeps its place and waits longer.
    """

    max_attempts: Attempts = 4
    """How often a model call is tried in all; after that its run waits longer."""
    base_s: Seconds = 1.0
    """The wait before the first retry, in seconds; it doubles each time."""
    cap_s: Seconds = 30.0
    """The longest wait between retries, in seconds."""
    open_after: Count = 5
    """After so many failures in a row, a provider is not called for `retry.probe_s`."""
    probe_s: Seconds = 15.0
    """How long a failing provider is not called, in seconds; doubles with each failed trial, up to 5 minutes."""


class Settings(Part):
    """All settings, validated; secrets and the database's password are never printed."""

    home: Path
    """The folder of the embedded database and the workspaces."""
    database_url: DatabaseUrl = Field(repr=False)
    """The database: `sqlite:///PATH` or `postgresql://…`."""
    model: ModelName | None = None
    """The model to use, as `provider/model`."""
    fallbacks: tuple[ModelName, ...] = ()
    """Models to try in turn when one fails, for personas that name none of their own."""
    task_models: Mapping[str, ModelName] = {}
    """Models by type of task; a persona's own model takes precedence."""
    project: ProjectName = "default"
    """The project of what is started without naming one."""
    timezone: Zone = "UTC"
    """Where a budget's day begins at midnight, and the default for schedules."""
    policy: Path | None = None
    """The policy file; `policy.yaml` in the working directory by default, if it is there."""
    personas: tuple[Path, ...] = ()
    """Folders of persona files; `personas` in the working directory by default, if it is there."""
    workflows: tuple[Path, ...] = ()
    """Folders of workflow files, besides those that come with Interlock."""
    bootstrap: Path = Path(".")
    """The folder of AGENTS.md, SOUL.md, TOOLS.md and the other files that go into prompts."""
    prices: Path | None = None
    """A file of model prices that override the built-in ones."""
    providers: Mapping[str, ProviderSettings] = {}
    brave: BraveSettings = BraveSettings()
    postal: PostalSettings = PostalSettings()
    smtp: SmtpSettings = SmtpSettings()
    slack: SlackSettings = SlackSettings()
    telegram: TelegramSettings = TelegramSettings()
    sentry: SentrySettings = SentrySettings()
    http: HttpSettings = HttpSettings()
    concurrency: Count = 16
    """The most runs that one worker process executes at a time."""
    capabilities: tuple[CapabilityName, ...] = ()
    """What this machine's workers can do besides what they detect, such as `gpu`."""
    crash_limit: Count = 3
    """How many workers in a row may die on a run; one more and it is a dead letter."""
    database_direct_url: DatabaseUrl | None = Field(default=None, repr=False)
    """PostgreSQL without the pooler, to hear of new work at once and to migrate."""
    database_pooler: bool = False
    """Whether `database_url` leads to a transaction pooler such as pgbouncer."""
    mission_budget_usd: Amount = 20.0
    """What a mission may cost by default, in USD."""
    project_day_usd: Amount = 50.0
    """What a project may cost in a day, in USD."""
    task_budgets_usd: Mapping[TaskType, Amount] = {}
    """What a task of a type may cost at most, in USD; by default 2 to 8."""
    projects: Mapping[ProjectName, ProjectSettings] = {}
    """Limits of single projects, by name."""
    approval_expires_s: Seconds = 86_400.0
    """How long a question waits for an answer before it expires, in seconds."""
    approvals: ApprovalSettings = ApprovalSettings()
    consensus: ConsensusSettings = ConsensusSettings()
    sandbox: SandboxSettings = SandboxSettings()
    agents: AgentSettings = AgentSettings()
    delegation: DelegationSettings = DelegationSettings()
    subagents: SubagentSettings = SubagentSettings()
    chat: WorkspaceChat = WorkspaceChat()
    routing: Routing = Routing()
    memory: MemorySettings = MemorySettings()
    heartbeat: HeartbeatSettings = HeartbeatSettings()
    times: Times = Times()
    retry: Retry = Retry()
    loops: Loops = Loops()
    breakers: Breakers = Breakers()
    lessons: LessonSettings = LessonSettings()
    keep: RetentionSettings = RetentionSettings()
    audit: AuditSettings = AuditSettings()
    secrets: Mapping[SecretName, SecretSettings] = {}

    @property
    def database_name(self) -> str:
        """The database's URL without user and password, for display."""
        scheme, _, rest = self.database_url.partition("://")
        head, at, tail = rest.partition("@")
        return f"{scheme}://{tail if at else head}".partition("?")[0]

    @property
    def is_embedded(self) -> bool:
        """Whether the database is an SQLite file, so that only one process executes runs."""
        return self.database_url.startswith("sqlite:")

    def mission_usd(self, project: str) -> float:
        """The default budget of a project's missions, in USD."""
        found = self.projects.get(project, ProjectSettings()).mission_budget_usd
        return self.mission_budget_usd if found is None else found

    def day_usd(self, project: str) -> float:
        """A project's budget for a day, in USD."""
        found = self.projects.get(project, ProjectSettings()).project_day_usd
        return self.project_day_usd if found is None else found

    def provider(self, name: str) -> ProviderSettings:
        """The settings of a provider, with its key."""
        return self.providers.get(name, ProviderSettings())

    def key(self, provider: str) -> str | None:
        """The key of a provider in plain text, for its adapter; None if there is none."""
        found = self.provider(provider).api_key
        return found.get_secret_value() if found is not None else None
