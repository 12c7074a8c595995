"""Word tables: objects that decide whether a verb acts or reads, and compound nouns.

Data only. The verbs are in `vocabulary`, word pairs of names in `name_words`; positions in a text are analysed in
`tool_names` and `verb_senses`.
"""

from collections.abc import Mapping

BY_OBJECT: Mapping[str, tuple[str, str]] = {
    "issue": (
        "pays",
        (
            "refund refunds credit credits invoice invoices voucher vouchers coupon card cards payment payments "
            "cheque certificate certificates license permit prescription prescriptions medication medications token "
            "tokens fine command commands order orders visa diagnosis diagnoses badge diploma diplomas "
            "passport passports subpoena warrant ban loan loans clearance"
        ),
    ),
    "inform": (
        "sends",
        (
            "public passengers passenger customers customer residents authorities police family families patients "
            "patient employees staff citizens stakeholders tenants investors media press parents"
        ),
    ),
    "refer": ("sends", "patient patients"),
    "declare": ("sends", "goods emergency bankruptcy war income dividend"),
    "acquire": ("pays", "land rights permit license property company shares assets"),
    "implement": ("changes what is stored", "policy policies restrictions ban measures change changes controls"),
    "establish": ("changes what is stored", "limit limits rule rules"),
    "program": ("changes what is stored", "firmware ecu controller microcontroller"),
    "trip": ("controls a device", "breaker breakers turbine relay"),
    "vent": ("controls a device", "gas chamber tank reactor"),
    "shed": ("controls a device", "load loads"),
    "train": ("runs something", "model models classifier network lora"),
    "tune": ("runs something", "model models"),
    "resize": (
        "changes what is stored",
        "instance instances vm disk disks volume volumes cluster clusters pool partition server database drive",
    ),
    "force": ("runs something", "sync resync synchronization synchronisation refresh update restart rebuild rerun"),
    "generate": (
        "does harm",
        (
            "malware ransomware spam disinformation misinformation propaganda deepfake deepfakes payload payloads "
            "exploit exploits shellcode"
        ),
    ),
    "spread": ("does harm", "misinformation disinformation rumor rumors rumours malware propaganda virus"),
    "suppress": ("does harm", "alert alerts alarm alarms warning warnings evidence vote votes notifications log logs"),
    "attack": ("does harm", "target targets server servers host hosts system systems network website site"),
    "extend": (
        "changes what is stored",
        "lease deadline loan subscription reservation booking stay trial contract session expiry validity",
    ),
    "delay": ("changes what is stored", "payment payments flight shipment treatment delivery order orders train"),
    "duplicate": (
        "changes what is stored",
        "page project template sheet card board campaign deal ticket issue form workflow dashboard",
    ),
    "replicate": ("changes what is stored", "page project template campaign workflow database"),
    "regenerate": ("changes access", "key keys token tokens secret secrets password passwords credentials certificate"),
    "leave": ("sends", "comment comments review reviews feedback message messages"),
    "reverse": ("pays", "transaction transactions payment payments charge charges transfer transfers"),
    "claim": ("pays", "reward rewards bounty airdrop prize bonus"),
    "mount": ("changes what is stored", "volume drive disk share filesystem"),
    "skip": ("does harm", "verification approval inspection maintenance collection dose"),
    "format": ("changes what is stored", "cell cells range worksheet slide slides"),
    "operate": (
        "controls a device",
        "device machine machinery vehicle valve robot crane switch drone reactor aircraft",
    ),
    "treat": ("controls a device", "patient patients"),
    "mine": ("controls a device", "resource resources asteroid ore bitcoin crypto coins"),
    "throw": ("deletes", "away out"),
    "dim": ("controls a device", "light lights lamp lamps screen"),
    "land": ("controls a device", "drone plane aircraft"),
    "park": ("controls a device", "car vehicle"),
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
    "ship": (
        "sends",
        (
            "order orders package packages parcel parcels item items goods product products passport gift document "
            "documents device devices shipment medication sample samples"
        ),
    ),
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
    "evaluate": ("runs something", "python code javascript js shell command commands script scripts snippet"),
    "lift": ("changes access", "ban restriction restrictions block embargo quarantine"),
    "route": ("changes what is stored", "invoice invoices payment payments traffic mail mails call calls"),
    "improve": ("changes what is stored", "score scores rating ratings ranking rankings"),
    "encrypt": (
        "deletes",
        "file files disk disks drive folder folders directory database volume volumes server servers",
    ),
    "boost": ("changes what is stored", "followers ranking rankings rating ratings score likes reach number"),
    "shape": ("changes what is stored", "traffic"),
    "try": ("does harm", "password passwords credentials pins"),
    "build": ("does harm", "payload payloads malware exploit exploits ransomware virus"),
    "hide": ("does harm", "plagiarism evidence trace traces log logs activity transactions assets funds errors"),
    "gain": ("changes access", "access control privileges"),
    "page": ("sends", "engineer oncall team operator"),
    "alert": ("sends", "user users team staff customer customers authorities owner admin"),
    "text": ("sends", "it them him her me us user users customer customers client clients contact contacts driver"),
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
"""Verbs that act with certain objects in a description: `issues a refund`, not `issues of a project`."""

PHRASAL: Mapping[str, tuple[str, str]] = {
    "keep": ("changes what is stored", "date sync"),
    "take": ("changes access", "away offline"),
    "bring": ("runs something", "offline online"),
    "fail": ("runs something", "over"),
    "tear": ("deletes", "down"),
    "select": ("controls a device", "dropdown combobox checkbox"),
    "convert": ("changes what is stored", "draft"),
    "knock": ("does harm", "offline out"),
}
"""Verbs that act with a particle after their object: `takes rights away`."""

RETURNED = frozenset("item items order orders product products package shipment purchase device delivered book".split())
"""Goods that are returned to a shop, not data returned to the caller."""

REQUESTED = frozenset(
    "refund refunds payment payments money cancellation cancellations return access permission permissions ride rides "
    "appointment appointments pickup delivery callback transfer transfers reviewers reviewer approval reimbursement "
    "withdrawal deletion removal prescription quote meeting leave loan credit booking".split()
)
"""What a tool requests from people, not from a database."""

COMPOUNDS = frozenset(
    tuple(pair.split("+"))
    for pair in (
        "security+group security+groups resource+group resource+groups deploy+key deploy+keys deploy+token "
        "deploy+tokens merge+request merge+requests merge+base merge+train "
        "merge+trains merge+conflict merge+conflicts merge+access pull+request pull+requests reserve+price "
        "reserve+level reserve+levels reserve+ratio reserve+requirements reserve+bank "
        "access+rights access+right access+level access+levels handle+time handle+times bash+output shell+output "
        "secure+random secure+token "
        "assign+rules approve+rules login+name login+names login+page login+url login+history login+attempts "
        "login+details end+point end+points end+user end+users end+date end+time auto+complete show+ticket "
        "show+tickets show+seat show+seats follow+ups cp+code cp+codes "
        "engage+in engages+in"
    ).split()
)
"""Compound nouns whose first word is otherwise a verb."""

RESOLVED = frozenset(
    "issue issues ticket tickets thread threads conflict conflicts incident incidents alert alerts comment comments "
    "dispute disputes case cases discussion discussions task tasks finding findings bug bugs complaint claim "
    "conversation merge problem problems vulnerability vulnerabilities".split()
)
"""Objects that are closed when resolved; names and addresses are looked up."""

DONE = frozenset(
    "update updates change changes deletion deletions transfer transfers edit edits insert inserts write writes "
    "modification modifications intervention interventions surgery transplant takeover removal removals payment "
    "payments purchase purchases maintenance procedure procedures "
    "cleanup migration rollback deployment installation reset reboot restart upgrade attack injection".split()
)
"""Nouns for changes that a tool performs."""

GRADUAL = frozenset("increase decrease reduce raise lower boost".split())
"""Verbs of increase and decrease."""

COMPUTED = frozenset(
    "fraction fractions contrast noise dimension dimensions dimensionality image images picture photo video audio clip "
    "text string array list vector matrix number numbers expression polynomial sharpness saturation resolution base "
    "power bound case exponent error errors exception tensor dataframe data".split()
)
"""Objects with which those verbs only compute: `reduce a fraction`, `raise to a power`."""

CARRIERS = frozenset("run execute perform make do issue start initiate exec launch conduct".split())
"""Light verbs, whose object says what they do: `run a search` reads."""

CARRIED = frozenset(
    "addition subtraction multiplication division ttest sum comparison query queries search searches lookup "
    "lookups select calculation calculations analysis check checks scan simulation review inspection forecast "
    "inference test tests prediction regression retrieval evaluation aggregation diagnostics diagnostic report "
    "reports background analyses scanner wait linter readonly cypher opencypher gremlin sparql".split()
)
"""Objects with which light verbs read or compute."""

ANNOUNCED = frozenset(
    "alert alerts warning warnings advisory advisories notice notices statement recall evacuation".split()
)
"""What is issued to people: `issues a fire alert`."""

CHOSEN = frozenset("seat seats candidate winner".split())
"""What is booked or decided by selecting it."""

FAKED = frozenset(
    "video videos image images photo photos audio voice news article articles review reviews report reports claim "
    "claims record records evidence testimonial testimonials id ids identity invoice invoices certificate "
    "certificates prescription prescriptions document documents profile profiles account accounts".split()
)
"""What does harm if it is false."""

HARMLESS_WITH: Mapping[str, frozenset[str]] = {
    "apply": frozenset(
        "regression algorithm formula theorem rate rates brackets filter filters smoothing equation heuristics "
        "interpolation".split()
    ),
    "truncate": frozenset(
        "output outputs text texts message messages content contents response responses result results line lines "
        "string strings value values body comment comments description descriptions summary snippet number".split()
    ),
    "give": frozenset(
        "combination information info details list overview summary advice recommendation recommendations suggestion "
        "suggestions tips estimate result results answer answers description explanation probability score status data "
        "lists price prices number numbers date dates name names text url urls image stats statistics id ids weather "
        "temperature average count total bmi years definition definitions translation example examples".split()
    ),
    "order": frozenset("results result rows output ascending descending".split()),
    "roll": frozenset("die dice".split()),
    "initiate": frozenset("crawl search lookup query scan".split()),
    "request": frozenset(
        "list lists current information info data details status example examples metadata statistics history results "
        "logs".split()
    ),
    "move": frozenset("window viewport cursor pointer".split()),
    "assign": frozenset("score scores point points class grade weight weights value values".split()),
    "organize": frozenset("results result output search information".split()),
    "maintain": frozenset("compatibility backward context".split()),
    "scale": frozenset("tensor matrix vector array features".split()),
    "log": frozenset("thought thoughts reasoning".split()),
    "bypass": frozenset("cache caching pagination paging".split()),
}
"""Acting verbs, and the objects with which they only compute, report or skip."""

OPENED = frozenset(
    "door doors garage gate window valve cover curtain blinds lock account accounts position positions pr trade "
    "trades issue ticket tickets "
    "case claim shutter trunk safe ports locks gates windows valves connection tunnels "
    "barrier port firewall tunnel".split()
)
"""Objects that `open` acts on."""
