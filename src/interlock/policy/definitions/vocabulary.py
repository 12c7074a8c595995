"""Word tables for judging tool definitions: verbs that act, verbs that read, nouns that look like either.

Data only; positions in a name or a sentence are analysed in `tool_names` and `tool_descriptions`.
"""

from collections.abc import Mapping

ACTS: Mapping[str, str] = {
    "sends": (
        "send transmit broadcast notify retweet unsubscribe dial telephone escalate disseminate ring remind "
        "warn nudge redispatch redeliver"
    ),
    "pays": (
        "pay settle prepay buy sell withdraw donate remit reimburse redeem invest borrow lend liquidate "
        "checkout renew subscribe wager gamble waive overcharge repurchase retransfer "
        "redeposit rebill rebalance compensate"
    ),
    "publishes": "publish repost deploy announce syndicate merge reupload",
    "shares": "disclose reshare expose leak exfiltrate unshare reinvite",
    "books": "reserve rebook reschedule cancel enroll enrol register rsvp",
    "deletes": (
        "delete remove erase destroy purge wipe truncate terminate overwrite uninstall discard unlink prune "
        "dispose expunge evict rm rmdir del shred backtrack unassign detach disconnect deregister unregister revert "
        "rollback undo deprovision nuke forget untag unpin unarchive untrash expire eliminate "
        "deallocate dissociate disassociate decommission invalidate flushall flushdb abolish annul nullify rescind "
        "relinquish uproot reimage repartition obliterate zeroize dismantle"
    ),
    "changes access": (
        "grant revoke authorize authorise impersonate unlock promote demote unban suspend reinstate approve reject "
        "deny whitelist blacklist allowlist denylist assign elevate login logout authenticate chmod chown "
        "sudo unblock entitle protect disapprove quarantine overrule offboard certify"
    ),
    "changes what is stored": (
        "hide create modify edit alter add insert append prepend write replace rename upsert "
        "save restore "
        "configure manage mutate organize organise mkdir touch attach resolve reopen submit "
        "follow unlike react fill autofill provision install initialize initialise "
        "migrate ingest manipulate consult mv cp unstar reorder adjust decline accept deactivate activate enable "
        "disable toggle amend redact overhaul populate unsend unfriend prescribe discharge bind unpair "
        "reprioritize dismiss cleanup upgrade downgrade cordon evacuate rollout reseat finalize finalise "
        "associate increment decrement incr decr synchronize synchronise resync allocate relocate repair "
        "notarize notarise reroute acknowledge ack rearrange renumber reclassify recategorize "
        "calibrate postpone adjourn convene defer expedite prolong curtail reindex rehost repoint "
        "rekey rebuild renovate retrofit remodel repurpose reposition reorient revamp shelve offload recommission "
        "reclaim relist "
        "delist advertise unveil proclaim endorse upvote downvote retire retract renounce overturn nominate "
        "ratify legalize fulfill fulfil unmount sideload distribute withhold abandon unmute "
        "reconnect revive impose "
        "outsource "
        "downsize vacate resign nationalize nationalise privatize privatise devalue forfeit deplete"
    ),
    "runs something": (
        "execute exec invoke spawn launch restart reboot shutdown eval initiate halt unpause "
        "retry rerun reprocess enqueue requeue engage disengage failover interrupt intervene interfere"
    ),
    "does harm": (
        "harvest steal corrupt sabotage disrupt hijack tamper falsify forge fabricate intercept siphon divert deface "
        "infect overload ddos phish spoof counterfeit launder extort blackmail misconfigure degrade impair poison "
        "eavesdrop wiretap deceive mislead defraud embezzle exfil stalk ransom brute "
        "bruteforce deauthenticate jailbreak bypass brick cripple undermine "
        "neglect conceal sniff bribe harass dox plagiarize misrepresent evade contaminate detonate weaponize kidnap "
        "murder assassinate slaughter maim torture strangle vandalize vandalise loot smuggle coerce intimidate "
        "terrorize incite radicalize demolish incinerate vaporize desecrate infiltrate subvert destabilize overthrow "
        "rob ruin wreck starve vilify subdue inflict instigate provoke obstruct retaliate unleash "
        "surveil endanger misappropriate swindle plunder pillage slander defame oversell overclock enslave euthanize"
    ),
    "controls a device": (
        "disarm grab grasp pour dispense ignite brew unfasten actuate stir weld fly wash cook preheat serve give turn "
        "shut tap click swipe drag inject administer takeoff eject jettison pressurize "
        "depressurize ventilate irrigate fertilize pollinate mow sterilize sterilise disinfect extinguish humidify "
        "dehumidify defrost maneuver manoeuvre refuel recharge unload unplug energize neutralize neutralise regulate "
        "tighten loosen widen electrify irradiate thaw unseal decontaminate scram "
        "inhibit fumigate plow excavate dredge manufacture"
    ),
    "acts on people or goods": (
        "detain imprison apprehend extradite deport banish expel oust impeach prosecute indict conscript recruit "
        "rehire "
        "appoint disqualify penalize penalise punish summon sue mobilize mobilise demobilize sedate intubate vaccinate "
        "restrain immobilize immobilise enlist inoculate resuscitate amputate transfuse tranquilize confiscate seize "
        "impound repossess foreclose expropriate "
        "restock replenish stockpile procure refinance subsidize outbid bequeath"
    ),
}
"""Effects, and the verbs for each; none of these is also a noun."""

MAY_ACT: Mapping[str, str] = {
    "sends": "email mail message reply forward call fax dispatch relay contact redirect mention sms dm tweet",
    "pays": (
        "purchase refund charge transfer deposit order bid trade wire tip fund bill stake swap mint exchange debit "
        "credit bet void"
    ),
    "publishes": "post upload push release commit roll",
    "shares": "share invite",
    "books": "book schedule rent hire lease request arrange confirm",
    "deletes": "drop clear reset kill trash clean drain archive flush abort cut pop",
    "changes access": "access permit ban kick delegate block mute override isolate",
    "changes what is stored": (
        "clone update change set patch put store import move copy mark label tag link complete close apply fork "
        "star join leave like dislike comment rate review vote sign sync pin place setup flag pause snooze rebase "
        "secure safeguard maintain oversee enforce "
        "strengthen facilitate play input connect pair scale transition end finish record log rotate correct silence "
        "increase decrease reduce raise lower boost"
    ),
    "runs something": "run resume start stop trigger dispatch bash zsh powershell pwsh shell terminal command",
    "controls a device": "print lock control switch heat arm press drive hand open type steer",
    "does harm": "flood exploit hack crack abuse",
}
"""Verbs that are also nouns; they count in the position of a verb."""

THINGS: Mapping[str, str] = {
    "sends": "sent notification broadcast",
    "pays": "paid payment payout bought sold withdrew withdrawn withdrawal donation reimbursement payoff",
    "publishes": "deployment publication",
    "shares": "invitation",
    "books": "reservation cancellation",
    "deletes": "crud deletion removal erasure destruction overwritten overwrote",
    "changes access": "permission revocation credential",
    "does harm": "exfiltration sabotage tampering theft corruption ransomware malware backdoor",
}
"""Nouns and irregular forms; they count unless the tool says that it only reads."""

HEADS: Mapping[str, str] = {
    "runs something": "ssh telnet winrm psexec rdp vnc sftp scp cronjob crontab sh cmd",
    "books": "signup enrollment enrolment rebooking",
    "pays": "settlement disbursement remittance redemption liquidation embezzlement",
    "deletes": "disposal eviction deregistration uninstallation purging closure termination annulment nullification",
    "changes access": (
        "authorization impersonation activation deactivation suspension reinstatement elevation approval rejection "
        "denial assignment reassignment disablement enablement escalation expulsion dismissal lockout"
    ),
    "changes what is stored": (
        "modification insertion replacement restoration reconfiguration submission installation amendment "
        "adjustment duplication reallocation migration ingestion overwriting creation"
    ),
    "controls a device": "hotkey shortcut throw smash",
    "does harm": "diversion infection intimidation interruption coercion defamation",
}
"""Nouns derived from acting verbs; they count as the last word of a name, unless the description says that it reads."""

ATTACKERS = frozenset(
    "nmap masscan zmap rustscan naabu sqlmap metasploit msfconsole msfvenom meterpreter nikto gobuster dirbuster wfuzz "
    "ffuf feroxbuster hashcat mimikatz netcat ncat socat aircrack wpscan commix xsstrike setoolkit crackmapexec "
    "netexec "
    "burpsuite secretsdump ettercap bettercap arpspoof hping slowloris phisher".split()
)
"""Attack programs, in names of tools that run them; not in names of tools that explain their output."""

HARMS = frozenset(
    "theft fraud forgery fabrication falsification tampering sabotage espionage bribery scam phishing counterfeiting "
    "hijack hijacking extortion blackmail embezzlement exfiltration ransomware spoofing sniffing eavesdropping "
    "misrepresentation misdiagnosis malpractice neglect breach attack attacks manipulation harvesting stalking "
    "harassment poisoning sabotaging laundering corruption disruption scandal misuse falsehood crash injection "
    "surveillance alteration alterations retraction deprivation defacement "
    "keylog keylogger keylogging hydra portscan portscanner".split()
)
"""Nouns for harm; they count as the last word of a name that does not lead with reading."""

HARMFUL = frozenset(
    "backdoor rce fraudulent covert stealth stealthy clandestine destructive unlawful illegal unauthorized "
    "unauthorised malicious ponzi phishing fake deepfake".split()
)
"""Words for the victim or manner of harm; they do not count if the last word is one of `GUARDS`."""

GUARDS = frozenset(
    "detection detector checker check scan scanner filter report reports stats finder lookup classifier "
    "analyzer analysis "
    "monitor alert alerts prevention validator verifier data store detect api awareness protection score list "
    "news".split()
)

DOERS = frozenset(
    "sender mailer emailer notifier deleter remover eraser cleaner wiper publisher poster uploader deployer payer "
    "buyer purchaser booker scheduler writer executor runner launcher unlocker creator updater editor modifier "
    "installer controller tweeter messenger broadcaster dialer forwarder replier inviter sharer".split()
)
"""Agent nouns; they count as the last word of a name of several words."""

CALLED = frozenset(
    "close change drop kill move push transfer trade bid post upload invite book rent clear reset clean ban block make "
    "give spray dispatch shift swap stake share lock adjust modify edit".split()
)
"""Verbs whose agent nouns are names of tools."""

PERSONS = frozenset(
    "seller buyer borrower lender subscriber reminder settler merger waiver nudger approver authorizer defender "
    "authenticator container".split()
)
"""Agent nouns for people, which do not count."""

NOUNLIKE = frozenset(
    "flood exploit hack crack abuse pop override confirm sms dm resume print consent tweet play input record log "
    "end order post call message email mail text comment review label tag link trade permit bid bill credit charge "
    "share book star type fund stake swap command shell terminal rate tip exchange wire schedule release commit store "
    "mention contact fax vote drive hand increase decrease raise boost".split()
)
"""Words of `MAY_ACT` that are nouns at the end of a name: `customer_order`, `blog_post`."""

READS = frozenset(
    "calc get list search read view find check count show describe summarize summarise fetch retrieve lookup look "
    "query display inspect browse explore discover peek examine observe monitor track watch listen obtain gather "
    "collect pull scan detect identify recognize recognise classify analyze analyse audit assess evaluate verify "
    "validate confirm_exists compare diff match rank recommend suggest predict forecast estimate calculate compute "
    "convert translate transcribe extract parse tokenize encode decode hash format render preview screenshot "
    "capture snapshot explain answer ask think reason reflect plan brainstorm generate simulate test lint measure "
    "sum subtract multiply divide round average filter sort group aggregate cluster select choose pick return "
    "returns provide report tell know learn about determine indicate quantify whether "
    "geocode locate navigate traverse walk visit crawl "
    "scrape download export load cat grep head tail wc pwd ls du cd tree stat whoami history status info details "
    "trace visualize visualise plot chart draw graph introspect enumerate iterate exists has is are can who what "
    "when where which how why help echo reverse interpret correlate score normalize normalise dedupe quote price "
    "wait sleep say outline highlight paraphrase proofread rephrase weigh stream poll lists".split()
)
"""Verbs that read, compare or calculate."""

READ_NOUNS = frozenset(
    "list view check report plan test status history info details match scan stream preview download price quote "
    "score chart graph plot draw group format watch track help trace head tail tree poll version summary cluster "
    "snapshot".split()
)
"""Words of `READS` that are also nouns: `share_list` may share a list."""

ABOUT = frozenset(
    "status state history histories log logs count counts time date dates info information detail details id ids "
    "stats statistics statistic volume template templates method methods type types rate rates limit limits code "
    "codes number numbers name names price prices data value values schema format formats result results metadata "
    "total totals fee fees cost costs policy policies office score scores level levels category categories events "
    "settings preferences options balance queue quota activity activities tracking reference references url urls "
    "size sizes requirements eligibility availability error errors reason reasons attempts feed estimator "
    "calculator validator viewer finder reader parser checker analyzer analyser converter tracker lookup searcher "
    "docs documentation guidelines definition declaration help address market markets index marker markers "
    "validation version versions".split()
)
"""Nouns that make the word before them a noun: `payment_status`, `order_history`."""

CHANGED = frozenset(
    "data status state details detail information info metadata settings preferences options name names value values "
    "address price prices level category code date dates time number numbers schema events template templates policy "
    "policies balance queue reference url urls volume limit limits quota".split()
)
"""Those of them that may be the object of the verb before them: `updates status`."""

MADE = frozenset(
    "chart plot graph diagram summary summaries uuid guid embedding embeddings thought thoughts numbers integers "
    "ints digits matrix vector vectors outline translation visualization visualisation forecast "
    "transcript thumbnail mindmap flowchart histogram heatmap wordcloud palette map sitemap".split()
)
"""Objects that are part of the tool's own output."""

MAKERS = frozenset("create add append insert write set compose recreate".split())
"""Verbs that produce them."""

STRIPPED = frozenset(
    "duplicates whitespace spaces formatting punctuation stopwords accents html markdown noise outliers prefix "
    "suffix diacritics emojis comments nulls".split()
)
"""Objects that may be removed from the input text."""

STRIPPERS = frozenset("remove erase drop clear replace discard eliminate".split())

CORRECTED = frozenset("grammar spelling typos text sentence sentences punctuation orthography".split())
"""Objects that are corrected in the input text."""

CREDENTIALS = frozenset(
    "password passwords passphrase passphrases secret secrets credential credentials passcode passcodes otp otps "
    "cvv cvc mnemonic jwt keychain env dotenv".split()
)
"""Secrets, as the last word of a reading tool's name."""

CREDENTIAL_PAIRS = frozenset(
    tuple(pair.split("+"))
    for pair in (
        "access+token access+tokens auth+token api+key api+keys private+key private+keys secret+key secret+keys "
        "signing+key "
        "bearer+token session+token refresh+token session+cookie session+cookies env+vars environment+variables "
        "seed+phrase recovery+phrase recovery+code recovery+codes backup+codes mfa+code mfa+codes fa+code fa+codes "
        "verification+code verification+codes connection+string connection+strings env+file env+variables login+data"
    ).split()
)
"""The same in two words."""

MAYBE_CREDENTIALS = frozenset("token tokens cookie cookies".split())
"""Words for a secret, or for something with an id or a price."""

COINS = frozenset("nft nfts erc spl lp crypto trending top new popular coin listed".split())
"""Words before `token` that make it a cryptocurrency."""

MAYBE_CREDENTIAL_PAIRS = frozenset(
    tuple(pair.split("+"))
    for pair in "ssh+key ssh+keys access+key access+keys account+key account+keys master+key encryption+key".split()
)

REVEALS = frozenset(
    "get read reveal search show fetch export retrieve view dump extract decrypt lookup obtain scrape display print "
    "find download collect".split()
)
"""Verbs that return what is asked for."""

ORDERS = frozenset("update set put move clear reset drop stop apply".split())
"""Verbs that act on whatever follows them at the start of a name."""

SURFACES = frozenset(
    "gdrive drive dropbox onedrive spotify youtube tiktok twitter x instagram facebook linkedin reddit mastodon slack "
    "discord telegram whatsapp signal gmail outlook camera mic microphone screen keyboard mouse browser robot door tv "
    "speaker lamp light car".split()
)
"""Services and devices: after one of these, the last word of a name is not surely a noun: `gdrive_share`."""

STATES = frozenset("status history stats details info".split())
"""Last words of two-word names that ask for a state: `refund_status`."""

MAY_ORDER = frozenset("change transfer share post vote".split())
"""Verbs that do so too, unless a later word makes them a noun."""

FIRST_NOUNS = frozenset("order call comment record log type star command shell rate tip review".split())
"""First words that are nouns in names that end with a noun: `order_item_details`."""

JOINED_NOUNS = frozenset(
    "order orders request requests control controls log logs agreement rate rates method methods type types id ids fee "
    "fees limit limits form forms policy history".split()
)
"""Words that make the word before them a noun: `purchase_order_details`."""

SHOWS = frozenset("get list show view search find fetch count retrieve lookup describe".split())
"""Verbs that only return what is named after them."""

SHOWN = frozenset("list view search count".split())
"""Those of them that are also nouns."""

NOUNS = frozenset("whitelist blacklist allowlist denylist register reserve checkout login logout".split())
"""Acting verbs that are nouns at the end of a name."""

QUEUED = frozenset(
    "request requests report reports record records summary list version versions marker markers".split()
)
"""Nouns that make the verb before them a noun, after a reading verb: `list_merge_requests`."""

DETERMINERS = frozenset(
    "a all an another any down each every everyone existing given her him his into it its multiple my new off one "
    "our out people several some somebody someone specific specified that the their them these this those to two up "
    "your".split()
)
"""Words that follow a verb, not a noun."""

MASS = frozenset("money funds cash bitcoin crypto cryptocurrency ether".split())
"""Nouns that follow a verb without a determiner."""

OPENERS = frozenset(
    "a ability able action admin agent agents allow allows also an and api are asynchronously atomically "
    "automatically batch be beta bulk by callers can capability capable car client clients command companies "
    "dangerous deprecated designed directly easily efficiently either endpoint experimental for function helper helps "
    "immediately important individuals instantly intended interface internal irreversibly irrevocably is it just "
    "landlords let lets mass may mcp meant method must of operation optionally or owners permanently please plugin "
    "powerful programmatically quickly recursively rental safely securely server service should silently simple "
    "simply skill so that the then this to tool tools us use used user users using utility warning way ways which "
    "will you".split()
)
"""Words before the verb of a sentence: `this tool allows you to`."""

SUBORDINATE = frozenset(
    "if when whenever whether that which where who whose once unless because since until while as were was been "
    "being how what not never already including such".split()
)
"""Words that begin a clause about something else."""

NEGATIONS = frozenset(
    "not never nothing nobody none without "
    "cannot don't doesn't won't can't isn't no neither nor don doesn instead avoid than".split()
)

GRAVE = frozenset({"sends", "pays", "publishes", "shares", "books", "deletes", "changes access", "does harm"})
"""Effects that count anywhere in the definition of a tool that does not read."""

SOFT = frozenset(ACTS) - GRAVE
"""Effects that count for a leading verb; in a later sentence they are advice to the caller."""
