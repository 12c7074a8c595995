"""Word tables for names of tools: words that act together, and objects that decide whether the verb beside them acts.

Data only; positions in a name are analysed in `tool_names`.
"""

from collections.abc import Mapping

PAIRS: Mapping[str, str] = {
    "does harm": (
        "dump+hash dump+hashes dump+cookie dump+token dump+memory dump+lsass dump+process capture+keystroke "
        "log+keystroke record+keystroke export+wallet jam+signal jam+gps scrape+email scrape+emails fire+employee "
        "kafka+produce extend+offer plant+evidence plant+bomb plant+malware plant+backdoor skip+verification "
        "skip+approval skip+inspection "
        "skip+maintenance skip+collection skip+dose attack+server attack+host attack+target attack+site attack+website "
        "attack+network attack+system damage+property damage+equipment crash+server crash+system rig+election rig+vote "
        "rig+auction rig+bid spread+misinformation spread+disinformation spread+rumor spread+malware spread+propaganda "
        "hide+evidence hide+log hide+transaction hide+activity hide+asset suppress+alert suppress+alarm "
        "suppress+warning suppress+evidence suppress+vote suppress+notification ignore+alert ignore+alarm "
        "ignore+warning conduct+attack conduct+raid conduct+strike test+fire self+destruct shoot+target shoot+missile "
        "fire+missile fire+weapon censor+post censor+article censor+content censor+news mine+bitcoin mine+crypto "
        "mine+coin generate+malware "
        "generate+ransomware generate+spam generate+disinformation generate+misinformation generate+propaganda "
        "fire+worker fire+staff crack+hash crack+hashes port+scan port+scanner subnet+scan arp+scan "
        "nuclei+scan generate+payload generate+exploit generate+shellcode test+payload "
        "api+fuzzer http+intruder"
    ),
    "controls a device": (
        "skip+song skip+track honk+horn next+song next+track previous+track previous+song seek+song "
        "loop+song shuffle+queue "
        "go+to pick+up issue+prescription take+off power+on power+off plug+in speed+up slow+down ramp+up ramp+down "
        "throw+away throw+out dim+light dim+lamp dim+screen land+drone land+plane land+aircraft park+car park+vehicle "
        "tow+car tow+vehicle vent+gas vent+chamber vent+tank trip+breaker trip+turbine trip+relay "
        "hold+key mouse+down mouse+up key+down key+up force+output force+coil shed+load dose+chemical "
        "seed+cloud spray+pesticide spray+herbicide spray+chemical spray+water pump+water "
        "drill+well drill+hole flip+switch tilt+camera dock+ship feed+pet feed+dog feed+cat feed+fish feed+animal "
        "treat+patient operate+device operate+reactor program+firmware program+ecu "
        "operate+machine operate+vehicle operate+valve operate+robot operate+crane operate+switch perform+intervention "
        "perform+surgery perform+transplant perform+takeover take+photo take+picture take+selfie mine+resource "
        "mine+resources mine+asteroid mine+ore break+object slice+object throw+object open+object close+object "
        "pickup+object dirty+object use+up empty+liquid cool+object"
    ),
    "sends": (
        "file+tax file+taxes ship+order ship+orders ship+package ship+item ship+parcel ship+product ship+passport "
        "ship+gift ship+document ship+goods ship+device file+complaint file+claim "
        "file+report file+lawsuit file+dispute text+user text+customer text+contact "
        "text+number text+phone text+person text+message make+call ping+webhook ping+user ping+team ping+person "
        "ping+channel page+oncall page+engineer page+team page+user alert+user alert+users alert+team alert+staff "
        "alert+customer alert+authorities report+incident report+abuse report+spam report+crime report+fraud "
        "report+phishing report+post report+comment "
        "report+account report+tweet quote+tweet report+user report+violation report+emergency "
        "report+outage issue+alert issue+warning issue+notice issue+statement issue+recall sound+alarm hang+up "
        "ask+customer ask+client respond+event respond+invitation respond+invite respond+review "
        "respond+ticket hail+taxi "
        "page+doctor "
        "ask+supplier ask+vendor inform+public inform+customer inform+passenger inform+authorities refer+patient "
        "declare+emergency declare+goods appeal+decision"
    ),
    "changes access": (
        "sign+in log+in log+out sign+up generate+key generate+token generate+code generate+secret "
        "generate+credentials log+off "
        "issue+token issue+certificate issue+license issue+permit freeze+account freeze+card freeze+asset "
        "freeze+fund freeze+user freeze+wallet "
        "freeze+balance freeze+transaction opt+in opt+out take+over take+ownership issue+subpoena issue+warrant "
        "issue+ban generate+certificate temporary+access temp+access assume+role restrict+access "
        "restrict+user restrict+app restrict+apps apps+restrict regenerate+key regenerate+token regenerate+secret "
        "regenerate+password regenerate+credentials "
        "restrict+account "
        "veto+bill veto+proposal "
        "sanction+user sanction+company sanction+country jail+user lift+ban lift+restriction onboard+user "
        "onboard+employee onboard+customer onboard+vendor root+device ground+flight"
    ),
    "pays": (
        "top+up check+out make+payment make+transaction make+transfer make+purchase make+order generate+invoice "
        "process+payment process+refund process+order process+transaction issue+credit issue+refund issue+invoice "
        "issue+card issue+payment issue+voucher bridge+token "
        "bridge+asset short+stock short+share rebalance+portfolio spend+budget "
        "spend+money collect+payment collect+payments capture+payment capture+funds "
        "hold+funds raise+invoice raise+funds raise+limit process+claim process+return process+withdrawal "
        "handle+refund handle+payment handle+return "
        "capture+charge charge+capture capture+order order+capture capture+authorization "
        "claim+reward claim+bounty claim+airdrop claim+prize claim+bonus cash+out award+contract reverse+transaction "
        "reverse+payment reverse+charge reverse+transfer levy+tax levy+fine invoice+customer invoice+client "
        "discount+product reward+user"
    ),
    "books": "check+in make+reservation make+booking make+appointment select+seat pick+seat choose+seat",
    "changes what is stored": (
        "mark+read mark+as "
        "set+up find+replace search+replace handle+request handle+dialog generate+deepfake raise+ticket raise+case "
        "raise+dispute "
        "raise+claim cherry+pick duplicate+page duplicate+database duplicate+task duplicate+document duplicate+record "
        "duplicate+file duplicate+event duplicate+project duplicate+issue duplicate+template duplicate+sheet "
        "convert+lead resize+instance resize+vm resize+disk resize+volume resize+cluster flash+firmware "
        "duplicate+card duplicate+board extend+lease extend+deadline extend+loan extend+subscription "
        "extend+reservation extend+booking extend+stay extend+trial extend+contract extend+session extend+expiry "
        "delay+payment delay+flight delay+shipment delay+treatment delay+delivery delay+order grade+student "
        "grade+exam mount+volume mount+drive "
        "mount+disk mount+share mount+filesystem back+up zero+out lay+off git+init init+repo init+repository "
        "init+project format+cell format+cells "
        "format+range format+row format+rows format+column format+columns format+slide format+worksheet"
    ),
    "shares": "make+public share+detail share+info share+address",
    "runs something": (
        "power+shell windows+shell system+shell linux+shell kick+off open+terminal call+tool spin+up spin+down "
        "train+model train+classifier tune+model "
        "ssh+command ssh+exec ssh+run remote+access remote+command remote+exec remote+shell"
    ),
    "deletes": (
        "empty+trash empty+bin empty+cache empty+bucket empty+queue empty+cart empty+folder tear+down "
        "get+rid format+disk format+drive encrypt+file encrypt+disk encrypt+drive encrypt+folder encrypt+database "
        "encrypt+directory encrypt+volume encrypt+server take+down factory+reset"
    ),
    "publishes": "go+live post+status",
}
"""Two words of a name that act together, adjacent or with a word of `BETWEEN` between them."""

BETWEEN = frozenset(
    "phone voice bank online emergency a an the new api access my user auth audio video invite temporary guest "
    "door entry backup to x ssh temp temporary".split()
)
"""Words that may be between the two of a pair."""

LOOSE = frozenset("respond generate make process handle issue raise collect capture report".split())
"""First words of pairs that may be separated by a word of `BETWEEN`."""

AT_END: Mapping[str, frozenset[str]] = {
    "issue": frozenset("certificate certificates alert alerts warning warnings credentials loan".split()),
    "generate": frozenset("certificate certificates credentials".split()),
    "report": frozenset("violation violations spill accident hazard theft fraud crime".split()),
    "file": frozenset("declaration charges application complaint claim lawsuit motion appeal petition patent".split()),
}
"""First words of names, and the last words with which they act: `issue_fire_alert`, `file_customs_declaration`."""

FIRST_OBJECTS: Mapping[str, frozenset[str]] = {
    "share": frozenset("data result results log logs code history details info url".split()),
    "post": frozenset("data result results".split()),
    "email": frozenset("data result results".split()),
    "store": frozenset("data value values result results metadata state".split()),
    "record": frozenset(("activity", "value", "result")),
    "log": frozenset(("time", "activity")),
}
"""Verbs that are also nouns, and their objects at the end of a name that they begin: `share_data`."""

OPENED_LAST = frozenset("door doors garage gate gates valve valves blinds shutter hatch barrier trunk".split())
"""Devices after which `open` is a verb at the end of a name: `valve_open`."""

INFORMATION = frozenset("guidelines forecast website webpage sources article articles news documentation".split())
"""What a tool only reads when it accesses it, if its description begins by reading."""

RESTRICTED = frozenset(
    "confidential sensitive restricted private classified biometric personal secret protected secure admin".split()
)
"""What is not for everybody to read."""
