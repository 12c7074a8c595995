"""Judges code in languages that are not parsed: anything beyond plain computing counts as hidden.

Which program runs the code is determined in `commands`.
"""

import re

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.values import paths

LONGEST = 400
_RISKY_CODE = re.compile(
    r"system|exec|`|open|unlink|socket|require|import|eval|spawn|fork|popen|process|child|fetch|http|file|\bio\b|rmdir|"
    r"\bfs\.|rmSync|\.submit\s*\(|\.click\s*\(|cookie|localstorage|mkdir|rename|kill|chmod|chown|send|net|%x|const_|instance_|function|constructor|globalthis|qx|<>|\buse\b|load|dir\b|"
    r"\$env|getenv|\bENV\b|passthru|proc_|curl|write|syscall|::|remove|\brm\s*\(|delete|\bdofile|\binput\b|shell|truncate|symlink|"
    r"fromcharcode|\batob\b|unescape|(?:\\x[2-7][0-9a-f]){3}|\\u\{?[0-9a-f]{2}|\[\s*['\"]\w*['\"]\s*\+|[\[\]()!+]{16}|\bmail\s*\(|include|"
    r"\b(?:while\s*\(\s*(?:true|1)\s*\)|for\s*\(\s*;\s*;\s*\)|loop)\s*\{(?![^}]*\b(?:break|return)\b)",
    re.IGNORECASE,
)
_TELLS = re.compile(
    r"\bprocess\.(?:versions?|platform|arch|pid|uptime\(\)|cwd\(\))|\bSystem\.out\.print\w*|\bconsole\.\w+|"
    r"\brequire\(\s*['\"](?:node:)?(?:path|util|assert|url|querystring|string_decoder|lodash|dayjs)['\"]\s*\)|"
    r"\brequire\s+['\"](?:json|set|date|time|csv|bigdecimal|prime|matrix|pp|securerandom|digest)['\"]|"
    r"\bimport\s*\(\s*(?:\"(?:fmt|strings|strconv|sort|math|time|errors|unicode|bytes)\"\s*)+\)|"
    r"\bimport\s+['\"](?:fmt|strings|strconv|sort|math|time|errors|unicode|bytes)['\"]|\buse\s+(?:strict|warnings|feature\s+'\w+')\s*;|"
    r"#include\s*<(?:std(?:io|lib|int|bool|def)|math|string|ctype|limits|assert|time)\.h>|"
    r"#include\s*<(?:iostream|vector|string|algorithm|map|set|cmath|numeric)>|\bstd::(?:cout|endl|vector|string|sort|map|set|max|min)\b|"
    r"\bfunction\b\s*[\w$]*\s*\(|(?<![.\w'\"\]\[])constructor\s*\([^()'\"]*\)\s*\{|(?<=[^\s)\]'\"]/)[gimsuy]{0,4}\.exec\(|"
    r"\bimport\s+java\.util\.(?:\*|\w+);|\bdelete\s+\$\w+(?:->)?[{\[]"
)
_NAMED = r"\(\s*['\"](?P<{}>[\w./ -]{{1,200}})['\"]"
_READS_FILE = re.compile(
    r"(?:\brequire\(\s*['\"](?:node:)?fs['\"]\s*\)|\bfs)\.(?:readFileSync|existsSync|readdirSync|statSync)"
    + _NAMED.format("a")
    + r"|\bFile\.(?:read|readlines|exist\?|foreach)"
    + _NAMED.format("b")
    + r"|\bread\.(?:csv|table)"
    + _NAMED.format("c")
)
"""Reading a file named by a literal."""
_COLLECTIONS = re.compile(r"\b(\w{1,40})\s*=\s*new\s+(?:Set|Map|WeakMap|WeakSet|URLSearchParams)\b")


def is_function(text: str) -> bool:
    """Whether a text is a JavaScript function: `() => document.title`."""
    return "=>" in text or text.startswith("function")


def judge(code: str) -> tuple[Raised, ...]:
    """Findings for code in a language that is not parsed: anything beyond plain computing."""
    if len(code) > LONGEST:
        return (kinds.HIDDEN,)
    rest = _READS_FILE.sub(_without_own, _TELLS.sub("", code))
    for name in set(_COLLECTIONS.findall(rest)):
        rest = re.sub(rf"\b{re.escape(name)}\.delete\b", "", rest)
    return (kinds.HIDDEN,) if _RISKY_CODE.search(rest) else ()


def _without_own(found: re.Match[str]) -> str:
    """Removes the reading of a workspace file that is no secret; keeps anything else."""
    path = found["a"] or found["b"] or found["c"]
    return found.group() if paths.judge(path, writes=False, closed=True) else ""
