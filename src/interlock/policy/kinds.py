"""The kinds of findings: rule id, risk and reason of each, in one table.

The modules of the topics determine which of them apply.
"""

from interlock.policy.calls import Raised
from interlock.policy.risk import Risk


def _red(rule: str, reason: str) -> Raised:
    return Raised(f"builtin:{rule}", Risk.RED, reason)


def _yellow(rule: str, reason: str) -> Raised:
    return Raised(f"builtin:{rule}", Risk.YELLOW, reason)


UNREADABLE = _red("unreadable", "what it would do cannot be told from its text")
HIDDEN = _red("hidden", "it runs what only shows when it runs, or what is written in disguise")
UNKNOWN_PROGRAM = _red("unknown-program", "it runs a program that is not known to be harmless")
LEAVES = _red("leaves", "it reaches other machines")
DESTROYS = _red("destroys", "it deletes or overwrites what has no version")
ACCESS = _red("access", "it changes accounts, permissions or what runs by itself")
PAYS = _red("pays", "it moves money, or names the means to")
READS_SECRETS = _red("reads-secrets", "it touches where secrets are kept")
OUTSIDE_WORKSPACE = _red("outside-workspace", "it touches files outside the workspace")
BOOTSTRAP_FILE = _red("bootstrap-file", "it changes a file that instructs agents")
STARTS_BY_ITSELF = _red("starts-by-itself", "it changes a file that runs or decides by itself")
INSTALLS = _yellow("installs", "it fetches what others wrote")
READS_ELSEWHERE = _yellow("reads-elsewhere", "it reads from a service elsewhere")
ASKS_UNKNOWN = _yellow("asks-unknown", "it asks a program that is not known for something to read")
GIT_LEAVES = _red("git-leaves", "it may leave the workspace")
HTTP_WRITE = _red("http-write", "it writes to the outside")
NOT_PUBLIC = _red("not-public", "its address is not a public page")
CARRIES_OUT = _red("carries-out", "its address carries much or encoded text to the outside")
BROWSER_ACTS = _red("browser-acts", "it acts on a page: submits, uploads, runs code, or presses what says so")
DATABASE_WRITE = _yellow("database-write", "it is not plainly a read")
DATABASE_SCHEMA = _red("database-schema", "it changes the schema or who may do what")
DATABASE_DELETE = _red("database-delete", "it deletes what has no version")
DATABASE_LEAVES = _red(
    "database-leaves", "it reaches beyond the database: files, programs, other servers, its settings"
)
DATABASE_UNREADABLE = _red("database-unreadable", "it is not one statement that can be read for sure")
RECIPIENT = _red("recipient", "somebody it is addressed to is not known to be inside the organisation")
AMOUNT = _red("amount", "it moves more than the policy's limit")
BULK = _red("bulk", "it touches many at once, or all")
PRODUCTION = _red("production", "it names a production system of the policy")
ACTS = _red("acts", "its arguments ask to send, pay, publish, share, book, delete or change access")

KINDS: tuple[Raised, ...] = (
    UNREADABLE, HIDDEN, UNKNOWN_PROGRAM, LEAVES, DESTROYS, ACCESS, PAYS, READS_SECRETS, OUTSIDE_WORKSPACE,
    BOOTSTRAP_FILE, STARTS_BY_ITSELF, INSTALLS, READS_ELSEWHERE, ASKS_UNKNOWN, GIT_LEAVES, HTTP_WRITE, NOT_PUBLIC,
    CARRIES_OUT, BROWSER_ACTS, DATABASE_WRITE, DATABASE_SCHEMA, DATABASE_DELETE, DATABASE_LEAVES, DATABASE_UNREADABLE,
    RECIPIENT, AMOUNT, BULK, PRODUCTION, ACTS,
)  # fmt: skip
"""Every kind, for the documentation."""


def by(kind: Raised, name: str) -> Raised:
    """A finding with the name of what was recognised; the name must come from our own tables, not from arguments."""
    return Raised(kind.rule, kind.risk, f"`{name}`: {kind.reason}")
