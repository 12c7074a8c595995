"""Classifies arguments by name: commands, code, SQL, URLs, paths, recipients, money, acts.

The values are judged by the modules of these topics.
"""

from functools import lru_cache

from interlock.policy.command_lines import services
from interlock.policy.definitions import verbs
from interlock.policy.definitions.tool_definitions import words
from interlock.policy.definitions.tool_descriptions import read_prose
from interlock.policy.definitions.tool_names import Says, read_name
from interlock.policy.values import amounts, recipients, side_effects
from interlock.policy.values.folding import fold
from interlock.policy.values.production import is_prose_key


class Content:
    """What an argument may hold, as bit flags. Plain integers, because they are tested for every call."""

    NOTHING = 0
    COMMAND = 1
    CODE = 2
    SQL = 4
    MAYBE_SQL = 8
    URL = 16
    PATH = 32
    PEOPLE = 64
    SUMS = 128
    ACT = 256
    METHOD = 512
    BODY = 1024
    HOOK = 2048
    PROSE = 4096
    HEADERS = 8192
    SCRIPT_OF_PAGE = 32768
    MAYBE_ACT = 65536
    """An operation, or a kind of thing."""
    ASIDE = 131072
    """A side effect: where to write the result, whether to delete the source."""
    SOUGHT = 262144
    """A search term or pattern."""
    SERVICE = 524288
    """A service to be called, such as `lock.unlock`."""
    RUN = 16384
    """A step of a recipe, which a shell would run."""


class ToolKind:
    """What a tool is by its name, as bit flags."""

    PLAIN = 0
    READS = 1
    SHELL = 2
    PYTHON = 4
    DATABASE = 8
    HTTP = 16
    WRITES_FILES = 32
    PROGRAM = 128
    """It is named after a program with subcommands, and its arguments are those of the program."""
    REPORTS = 256
    """It takes queries in a database language, although its name only says that it reports."""
    LISTS_EVENTS = 64
    """It lists past events, so that an act among its arguments is a search criterion."""


_COMMAND = frozenset(
    "command commands cmd cmds shell bash argv exec cmdline commandline powershell shellcommand terminal".split()
)
_CODE = frozenset("code script scripts program snippet python expression".split())
_CODE_OF = frozenset(
    "discount coupon promo promotion voucher gift referral invite zip postal post area dial dialing phone country "
    "currency language lang locale airport iata icao city state province region county location station bank branch "
    "sort swift bic iso fips hs sku upc ean bar product item article part stock ticker symbol market exchange course "
    "class subject department cost booking reservation confirmation tracking order flight airline carrier gate fare "
    "plan tax unit status error exit return http response reason icd cpt diagnosis procedure industry sic naics color "
    "colour hex project account customer vendor supplier store shop category".split()
)
"""Codes that are identifiers: `discount_code`, `postalCode`."""
_SQL = frozenset("sql statement statements sqlquery querysql ddl dml".split())
_OTHER_LANGUAGES = frozenset("cypher gremlin sparql kql graphql gql mql aql dql n1ql flux influxql aggregation".split())
_OTHER_STORES = frozenset("neo4j memgraph mongo mongodb neptune arangodb dgraph couchbase cosmosdb".split())
_PAGE_SCRIPTS = frozenset("js javascript jscode javascriptcode".split())
_RUN = frozenset(
    "run runs entrypoint beforescript afterscript postinstall preinstall oncomplete cron crontab "
    "userdata manifest yaml yml "
    "dockerfile".split()
)
_URL = frozenset("url urls uri uris link links href endpoint site website webpage baseurl src".split())
_SOUGHT = frozenset("pattern patterns regex regexp q search needle term terms keyword keywords".split())
_PATH = frozenset(
    "path paths file files filename filenames filepath filepaths folder directory dir dest destination "
    "source src attachments attachment output cwd workdir root archive location target input".split()
)
_METHOD = frozenset("method httpmethod requestmethod verb httpverb requesttype".split())
_BODY = frozenset(
    "body data json form files payload formdata postdata upload fields rawbody requestbody jsonbody".split()
)
_HOOK = frozenset("webhook callback hook hooks webhooks webhookurl callbackurl".split())
_SHELL_TOOLS = frozenset(
    "bash shell terminal sh exec cmd powershell console subprocess zsh ssh command commands execute".split()
)
_PYTHON_TOOLS = frozenset("python ipython jupyter notebook interpreter repl code".split())
_DATABASE_TOOLS = frozenset(
    "sql database db postgres postgresql mysql sqlite mariadb bigquery snowflake redshift duckdb "
    "clickhouse mssql oracle".split()
)
_HTTP_TOOLS = frozenset("http https request requests fetch curl rest api webhook graphql browser".split())
_MAYBE_ACTS = frozenset("mode type kind event job steps step instruction request".split())
_SHOWS_EVENTS = frozenset("list search get count find log logs trail history".split())
_EVENTS = frozenset("audit activity activities trail".split())
_REPORTS = frozenset("query queries reporting analytics dashboard warehouse".split())
_ABOUT_QUESTIONS = frozenset(
    "parse parser format formatter explain validate validator lint search docs documentation knowledge translate "
    "optimize optimizer builder analyze analyzer check suggest generate help web".split()
)
"""Words in names of tools that analyse a statement without executing it."""
_LOOKED_UP = frozenset(
    "phone phones number numbers email emails mail mailbox address addresses account accounts user users username "
    "contact contacts person people wallet handle channel member members owner profile".split()
)
"""Things that are looked up by an address."""
_FILE_WRITES = frozenset(
    "write edit save create append delete move copy put upload replace update patch insert modify rename "
    "remove download export store make mkdir touch add set overwrite extract unzip install apply new".split()
)


EDITS = frozenset(
    "new_text newText old_text oldText new_string newString old_string oldString new_str old_str new_content "
    "newContent replacement patch diff insert_text".split()
)
"""Arguments that change the file named beside them."""
STORES = frozenset(("redis-cli",))
"""Programs of key-value stores, whose commands are also given as queries."""
_PROGRAMS = {"redis": "redis-cli", "valkey": "redis-cli", "keydb": "redis-cli"}
"""Services whose program has another name."""


@lru_cache(maxsize=4096)
def content_of(key: str) -> int:
    """What an argument of that name may hold, as flags of `Content`."""
    found = words(fold(key)[:80])
    whole, last = "".join(found), found[-1] if found else ""
    out = Content.NOTHING
    for names, what in (
        (_COMMAND, Content.COMMAND), (_CODE, Content.CODE), (_SQL, Content.SQL), (_URL, Content.URL),
        (_PATH, Content.PATH), (_METHOD, Content.METHOD), (_BODY, Content.BODY),
        (_RUN, Content.RUN), (_PAGE_SCRIPTS, Content.SCRIPT_OF_PAGE),
    ):  # fmt: skip
        if whole in names or last in names:
            out |= what
    if out & Content.CODE and found[-2:-1] and last in ("code", "codes") and found[-2] in _CODE_OF:
        out &= ~Content.CODE
    if whole == "source":
        out |= Content.CODE
    if "sql" in found:
        out |= Content.SQL
    if last in ("query", "queries", "q", "input", "text", "request"):
        out |= Content.MAYBE_SQL
    if any(word in _HOOK for word in found) or whole in _HOOK:
        out |= Content.HOOK
    if last in _OTHER_LANGUAGES:
        out |= Content.MAYBE_SQL
    if last in _SOUGHT:
        out |= Content.SOUGHT
    if last in ("headers", "header"):
        out |= Content.HEADERS
    if recipients.key_weight(key):
        out |= Content.PEOPLE
    if amounts.concerns(key):
        out |= Content.SUMS
    if verbs.is_act_key(key):
        out |= Content.ACT
    if whole in _MAYBE_ACTS:
        out |= Content.MAYBE_ACT
    if whole == "service":
        out |= Content.SERVICE
    if side_effects.concerns(key):
        out |= Content.ASIDE
    if is_prose_key(key):
        out |= Content.PROSE
    return out


@lru_cache(maxsize=4096)
def holds_query(key: str) -> bool:
    """Whether an argument of that name holds a query, and no other text."""
    found = words(fold(key)[:80])
    return bool(found) and (found[-1] in ("query", "queries") or found[-1] in _OTHER_LANGUAGES | _SQL)


@lru_cache(maxsize=4096)
def program_of(tool: str) -> str:
    """The program with subcommands that a tool is named after: `kubectl`, `aws_cli`; else empty."""
    found = [
        word
        for word in words(fold(tool)[:200])
        if word not in _SHELL_TOOLS and word not in ("cli", "tool", "mcp", "run", "call")
    ]
    name = _PROGRAMS.get(found[0], found[0]) if len(found) == 1 else ""
    return name if services.knows(name) or name == "git" else ""


@lru_cache(maxsize=4096)
def only_reports(tool: str, description: str) -> bool:
    """Whether a tool named after a thing only reports on it, by its description."""
    if read_name(tool).says is not Says.NOTHING:
        return False
    prose = read_prose(description)
    return prose.leads_with_reading and prose.act is None and prose.mention is None


@lru_cache(maxsize=4096)
def looks_up(tool: str, description: str, key: str) -> bool:
    """Whether a tool named after a thing only reports on a person in an argument: `Returns the type of a number`.

    Arguments that can only be recipients do not count, nor do descriptions that do not mention what is looked up.
    """
    if recipients.key_weight(key) > 1 or words(key)[:1] == ("to",):
        return False
    return only_reports(tool, description) and not _LOOKED_UP.isdisjoint(words(description[:400]))


@lru_cache(maxsize=4096)
def kind_of(tool: str) -> int:
    """What a tool of that name is, as flags of `ToolKind`."""
    found = set(words(fold(tool)[:200]))
    out = ToolKind.READS if verbs.only_reads(tool) else ToolKind.PLAIN
    if found & _DATABASE_TOOLS:
        out |= ToolKind.DATABASE
    elif found & _PYTHON_TOOLS:
        out |= ToolKind.PYTHON
    elif found & _SHELL_TOOLS:
        out |= ToolKind.SHELL
    if found & _SHOWS_EVENTS and found & _EVENTS and (out or verbs.names_a_log(tool)):
        out |= ToolKind.LISTS_EVENTS | ToolKind.READS
    if found & (_REPORTS | _OTHER_LANGUAGES | _OTHER_STORES) and not found & _ABOUT_QUESTIONS:
        out |= ToolKind.REPORTS
    if program_of(tool):
        out |= ToolKind.PROGRAM
    if found & _HTTP_TOOLS:
        out |= ToolKind.HTTP
    if found & _FILE_WRITES:
        out |= ToolKind.WRITES_FILES
    return out
