"""Code in languages that are not parsed here: whatever looks like more than plain computing counts as hidden.

Which program runs it is not known here.
"""

import re

from interlock.policy import kinds
from interlock.policy.calls import Raised

LONGEST = 400
_RISKY_CODE = re.compile(
    r"system|exec|`|open|unlink|socket|require|import|eval|spawn|fork|popen|process|child|fetch|http|file|\bio\b|rmdir|"
    r"\bfs\.|rmSync|\.submit\s*\(|\.click\s*\(|cookie|localstorage|mkdir|rename|kill|chmod|chown|send|net|%x|const_|instance_|function|constructor|globalthis|qx|<>|\buse\b|load|dir\b|"
    r"\$env|getenv|\bENV\b|passthru|proc_|curl|write|syscall|::|remove|\brm\s*\(|delete|\bdofile|\binput\b|shell|truncate|symlink",
    re.IGNORECASE,
)
_TELLS = re.compile(r"\bprocess\.(?:versions?|platform|arch|pid|uptime\(\)|cwd\(\))")


def judge(code: str) -> tuple[Raised, ...]:
    """What raises a piece of code in a language that is not parsed here: whatever is more than plain computing."""
    return (kinds.HIDDEN,) if len(code) > LONGEST or _RISKY_CODE.search(_TELLS.sub("", code)) else ()
