"""The objects by which a verb of a tool acts or reads: pairs of words, things opened, carried, requested or resolved.

Data only; the verbs themselves are `vocabulary`'s, and `names` and `senses` know where in a text they count.
"""

from collections.abc import Mapping

PAIRS: Mapping[str, str] = {
    "does harm": (
        "dump+hash dump+hashes dump+cookie dump+token dump+memory dump+lsass dump+process capture+keystroke "
        "log+keystroke record+keystroke export+wallet jam+signal jam+gps scrape+email scrape+emails fire+employee "
        "kafka+produce extend+offer plant+evidence skip+verification "
        "fire+worker fire+staff crack+hash crack+hashes"
    ),
    "controls a device": "go+to pick+up issue+prescription take+off",
    "sends": (
        "file+tax file+taxes ship+order ship+orders ship+package ship+item file+complaint file+claim "
        "file+report file+lawsuit file+dispute text+user text+customer text+contact "
        "text+number text+phone text+person text+message make+call ping+webhook ping+user ping+team ping+person "
        "ping+channel page+oncall page+engineer page+team page+user alert+user alert+users alert+team alert+staff "
        "alert+customer alert+authorities report+incident report+abuse report+spam report+crime report+fraud "
        "report+phishing report+post report+comment "
        "report+account report+tweet quote+tweet report+user report+violation report+emergency "
        "report+outage ask+customer ask+client "
        "ask+supplier ask+vendor"
    ),
    "changes access": (
        "sign+in log+in log+out sign+up generate+key generate+token generate+code generate+credentials log+off "
        "issue+token issue+certificate issue+license issue+permit freeze+account freeze+card freeze+asset freeze+fund"
    ),
    "pays": (
        "top+up check+out make+payment make+transaction make+transfer make+purchase make+order generate+invoice "
        "process+payment process+refund process+order process+transaction issue+credit issue+refund issue+invoice "
        "issue+card issue+payment issue+voucher bridge+token "
        "bridge+asset short+stock short+share rebalance+portfolio spend+budget "
        "spend+money collect+payment collect+payments capture+payment capture+funds "
        "hold+funds raise+invoice raise+funds raise+limit process+claim process+return process+withdrawal "
        "handle+refund handle+payment handle+return"
    ),
    "books": "check+in make+reservation make+booking make+appointment",
    "changes what is stored": (
        "set+up find+replace search+replace handle+request generate+deepfake raise+ticket raise+case raise+dispute "
        "raise+claim cherry+pick"
    ),
    "shares": "make+public share+detail share+info share+address",
    "runs something": "kick+off call+tool",
    "deletes": (
        "empty+trash empty+bin empty+cache empty+bucket empty+queue empty+cart empty+folder tear+down "
        "get+rid format+disk format+drive encrypt+file encrypt+disk encrypt+drive encrypt+folder"
    ),
    "publishes": "go+live post+status",
}
"""Two words of a name that act together, with nothing or `BETWEEN` between them."""

BY_OBJECT: Mapping[str, tuple[str, str]] = {
    "issue": (
        "pays",
        (
            "refund refunds credit credits invoice invoices voucher vouchers coupon card cards payment payments "
            "cheque certificate certificates license permit prescription prescriptions medication medications token "
            "tokens fine command commands order orders visa diagnosis diagnoses badge diploma diplomas "
            "passport passports"
        ),
    ),
    "raise": (
        "changes what is stored",
        "ticket tickets case claim dispute limit limits invoice funds money alarm budget",
    ),
    "hold": ("books", "funds order room seat seats reservation table"),
    "collect": ("pays", "payment payments fee fees funds debt debts donation donations"),
    "capture": ("pays", "payment payments funds"),
    "process": (
        "pays",
        (
            "payment payments refund refunds order orders transaction transactions transfer transfers withdrawal "
            "withdrawals purchase purchases return returns claim claims cancellation"
        ),
    ),
    "facilitate": ("pays", "payment payments transaction transactions transfer transfers purchase"),
    "handle": ("changes what is stored", "case cases refund refunds payment payments request requests return returns"),
    "ship": ("sends", "order orders package packages parcel item items goods"),
    "fire": ("runs something", "event events webhook webhooks trigger triggers applet action"),
    "pick": ("controls a device", "up"),
    "bring": (
        "runs something",
        "server servers service services instance instances cluster container containers site environment",
    ),
    "point": ("changes what is stored", "domain domains subdomain dns record traffic"),
    "freeze": ("changes access", "card cards account accounts funds assets"),
    "spend": ("pays", "budget money funds credits"),
    "empty": ("deletes", "cache trash bin cart folder bucket queue inbox"),
    "water": ("controls a device", "garden plant plants lawn flowers field"),
    "wake": ("sends", "engineer oncall whoever device computer server people user team"),
    "evaluate": ("runs something", "python code javascript shell command commands script scripts"),
    "lift": ("changes access", "ban restriction restrictions block embargo quarantine"),
    "route": ("changes what is stored", "invoice invoices payment payments traffic mail mails call calls"),
    "improve": ("changes what is stored", "score scores rating ratings ranking rankings"),
    "boost": ("changes what is stored", "followers ranking rankings rating ratings score likes reach number"),
    "shape": ("changes what is stored", "traffic"),
    "try": ("does harm", "password passwords credentials pins"),
    "build": ("does harm", "payload payloads malware exploit exploits ransomware virus"),
    "hide": ("does harm", "plagiarism evidence trace traces log logs activity transactions assets funds errors"),
    "gain": ("changes access", "access control privileges"),
    "page": ("sends", "engineer oncall team operator"),
    "alert": ("sends", "user users team staff customer customers authorities owner admin"),
    "ping": ("sends", "user users team person member channel webhook"),
    "ask": ("sends", "customer customers client supplier vendor employee"),
    "report": (
        "sends",
        (
            "incident incidents abuse abusive spam crime violation fraud phishing bug problem emergency outage "
            "content suspicious"
        ),
    ),
}
"""Verbs that act by their object in a description: `issues a refund`, not `issues of a project`."""

PHRASAL: Mapping[str, tuple[str, str]] = {
    "keep": ("changes what is stored", "date sync"),
    "take": ("changes access", "away offline"),
    "bring": ("runs something", "offline online"),
    "fail": ("runs something", "over"),
    "tear": ("deletes", "down"),
    "knock": ("does harm", "offline out"),
}
"""Verbs that act by a word behind their object: `takes rights away`."""

BETWEEN = frozenset(
    "phone voice bank online emergency a an the new api access my user auth audio video invite temporary guest "
    "door entry backup x".split()
)
"""What may stand between the two."""

LOOSE = frozenset("generate make process handle issue raise collect capture report".split())
"""First words of those pairs between which and the other it may stand."""

RETURNED = frozenset("item items order orders product products package shipment purchase device delivered book".split())
"""What is returned to a shop, not to the caller."""

REQUESTED = frozenset(
    "refund refunds payment payments money cancellation cancellations return access permission permissions ride rides "
    "appointment appointments pickup delivery callback transfer transfers reviewers reviewer approval reimbursement "
    "withdrawal deletion removal prescription quote meeting leave loan credit booking".split()
)
"""What is asked of somebody, not of a data base, where a tool requests it."""

COMPOUNDS = frozenset(
    tuple(pair.split("+"))
    for pair in (
        "deploy+key deploy+keys deploy+token deploy+tokens merge+request merge+requests merge+base merge+train "
        "merge+trains merge+conflict merge+conflicts merge+access pull+request pull+requests reserve+price "
        "assign+rules approve+rules login+name login+names login+page login+url login+history login+attempts "
        "login+details"
    ).split()
)
"""Two words that name one thing, whatever the first of them does as a verb."""

RESOLVED = frozenset(
    "issue issues ticket tickets thread threads conflict conflicts incident incidents alert alerts comment comments "
    "dispute disputes case cases discussion discussions task tasks finding findings bug bugs complaint claim "
    "conversation merge problem problems vulnerability vulnerabilities".split()
)
"""What is closed when it is resolved; a name or an address is looked up."""

DONE = frozenset(
    "update updates change changes deletion deletions transfer transfers edit edits insert inserts write writes "
    "modification modifications removal removals payment payments purchase purchases maintenance procedure procedures "
    "cleanup migration rollback deployment installation reset reboot restart upgrade attack injection".split()
)
"""Nouns for what changes something, where a tool performs it."""

CARRIERS = frozenset("run execute perform make do issue start initiate exec launch conduct".split())
"""Verbs that say what they do by their object: `run a search` reads."""

CARRIED = frozenset(
    "addition subtraction multiplication division ttest sum comparison query queries search searches lookup "
    "lookups select calculation calculations analysis check checks scan simulation review inspection forecast "
    "inference test tests prediction regression retrieval evaluation aggregation diagnostics diagnostic report "
    "reports background analyses scanner wait linter readonly".split()
)
"""Objects with which those verbs read or calculate."""

OPENED = frozenset(
    "door doors garage gate window valve lock account accounts position positions pr trade trades issue ticket tickets "
    "case claim shutter trunk safe ports locks gates windows valves connection tunnels "
    "barrier port firewall tunnel".split()
)
"""What is opened by more than looking at it."""
