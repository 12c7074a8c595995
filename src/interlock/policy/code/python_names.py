"""Names in Python code by effect: modules that connect, hide or open up, harmful calls, file operations.

Code is parsed and judged in `python_code`.
"""

import re
from collections.abc import Mapping

from interlock.policy import kinds
from interlock.policy.calls import Raised

NETWORK = frozenset(
    "socket ssl requests httpx httpx2 aiohttp urllib3 http urllib smtplib aiosmtplib ftplib telnetlib "
    "imaplib poplib nntplib xmlrpc socketserver websocket websockets paramiko fabric asyncssh pexpect "
    "boto3 botocore aiobotocore google azure slack_sdk slack_bolt telegram discord tweepy twilio sendgrid "
    "mailgun stripe paypalrestsdk openai anthropic kafka pika redis pymongo psycopg psycopg2 pymysql mysql "
    "asyncpg cassandra elasticsearch webbrowser selenium playwright mechanize scapy impacket nmap shodan "
    "dns ldap3 paho pysftp scp web3 ccxt kubernetes docker github gitlab jira notion_client pyftpdlib "
    "flask_mail yagmail exchangelib praw facebook instagrapi pycurl tornado twisted gevent grpc zmq "
    "grequests requests_html scrapy kombu celery confluent_kafka aiokafka aioftp smbprotocol pysmb smb ldap winrm "
    "pypsrp "
    "wmi hvac boto aioboto3 s3fs gcsfs adlfs googleapiclient gspread oauth2client msal msgraph O365 redmail mailchimp "
    "mailchimp_marketing postmarker vonage nexmo plivo messagebird pushbullet pushover apprise slackclient nextcord "
    "telethon pyrogram heyoo matrix_client zulip mattermostdriver twython instabot linkedin_api mastodon atproto "
    "TikTokApi braintree plaid coinbase binance solana solders robin_stocks alpaca_trade_api ib_insync "
    "MetaTrader5 "
    "pygit2 dulwich atlassian airtable pyairtable asana trello hubspot simple_salesforce zenpy shopify woocommerce "
    "podman "
    "openshift libcloud openstack novaclient digitalocean linode_api4 hcloud ovh proxmoxer pyVmomi libvirt ansible "
    "salt "
    "napalm netmiko scrapli nornir easysnmp censys whois ipwhois MySQLdb mariadb cx_Oracle oracledb pyodbc pymssql "
    "motor "
    "aioredis pymemcache opensearchpy neo4j influxdb influxdb_client clickhouse_driver snowflake databricks trino "
    "prestodb "
    "pyhive happybase couchdb arango rethinkdb firebase_admin supabase splinter helium undetected_chromedriver cohere "
    "replicate wandb comet_ml torpy socks socketserver pwn pwntools mitmproxy pychromecast soco pyatv kasa "
    "phue "
    "pysnmp snmp antigravity turtledemo httplib2 urllib2 asyncssh2 websocket_client pyzmq nats stomp ftputil smbclient "
    "cloudscraper pyppeteer huggingface_hub wget curl_cffi treq trio_websocket socketio zeep suds".split()
)
CARRIED = frozenset(
    "requests httpx aiohttp urllib3 smtplib ftplib telnetlib imaplib poplib socket paramiko boto3 webbrowser".split()
)
"""Modules that code may use by name without importing them, if an earlier cell did."""
PURE_PARTS = frozenset(
    "urllib.parse urllib.error importlib.metadata importlib.resources http.HTTPStatus http.cookies "
    "google.protobuf requests.exceptions".split()
)
HIDING = frozenset(
    "jsonpickle posix nt ctypes cffi marshal pickle dill cloudpickle shelve importlib imp runpy code codeop pty pdb "
    "gc winreg _winreg win32api win32com pythoncom pyautogui pynput keyboard mouse pyperclip keyring bdb "
    "builtins zipimport pkgutil crypt pip ensurepip sh plumbum invoke sarge delegator js2py execjs _io "
    "_posixsubprocess "
    "ptyprocess pyHook pyxhook uinput d3dshot clipboard pyscreeze browser_cookie3 rookiepy browsercookie pycookiecheat "
    "secretstorage pykeepass comtypes _winapi win32gui win32service win32security frida "
    "mss pyscreenshot sounddevice pyaudio picamera picamera2 evdev Xlib "
    "_ctypes _pickle commands popen2 rpyc Pyro4".split()
)
ACCESS = frozenset("crontab python_crontab spwd pam ptrace systemd dbus pydbus bluetooth bleak RPi gpiozero".split())
CALLS: Mapping[str, Raised] = {
    **dict.fromkeys(
        "os.remove os.unlink os.rmdir os.removedirs shutil.rmtree os.truncate os.kill os.killpg "
        "signal.pthread_kill send2trash.send2trash os.abort os.forkpty".split(),
        kinds.DESTROYS,
    ),
    **dict.fromkeys(
        "os.chmod os.chown os.lchown os.lchmod os.fchmod os.fchown os.setuid os.setgid os.seteuid "
        "os.setgroups os.setegid os.chroot shutil.chown os.mknod os.fork os.setresuid".split(),
        kinds.ACCESS,
    ),
    **dict.fromkeys(
        "os.execv os.execve os.execvp os.execvpe os.execl os.execle os.execlp os.execlpe os.spawnv "
        "os.spawnl os.spawnvp os.spawnlp os.spawnve os.spawnle os.posix_spawn os.posix_spawnp "
        "os.startfile pty.spawn sys.settrace sys.setprofile types.CodeType types.FunctionType "
        "pandas.read_pickle pd.read_pickle torch.load joblib.load yaml.unsafe_load sys._getframe distutils.spawn.spawn "
        "PIL.ImageGrab.grab ImageGrab.grab "
        "doctest.run_docstring_examples trace.Trace yaml.full_load site.main os.mkfifo os.dup2".split(),
        kinds.HIDDEN,
    ),
    **dict.fromkeys("pwd.getpwall grp.getgrall".split(), kinds.READS_SECRETS),
    **dict.fromkeys(
        "torch.hub.load nltk.download asyncio.open_connection "
        "logging.config.listen asyncio.start_server asyncio.create_connection asyncio.open_unix_connection".split(),
        kinds.LEAVES,
    ),
}
PROGRAMS = frozenset(
    "os.system os.popen subprocess.run subprocess.call subprocess.Popen subprocess.check_call "
    "subprocess.check_output subprocess.getoutput subprocess.getstatusoutput commands.getoutput "
    "asyncio.create_subprocess_shell asyncio.create_subprocess_exec sh.bash get_ipython.system "
    "get_ipython.run_line_magic".split()
)
RISKY = frozenset(
    "system popen execv execve execl execlp execvp spawnv spawnl fork unlink rmtree rmdir removedirs kill "
    "killpg chmod chown Popen check_output check_call getoutput urlopen sendmail eval exec __import__ "
    "import_module".split()
)
"""Names of attributes that are harmful on any object."""
EXECUTES = frozenset(("eval", "exec", "compile", "__import__", "execfile", "globals", "vars", "breakpoint"))
INNARDS = frozenset(
    "__subclasses__ __globals__ __builtins__ __bases__ __base__ __mro__ __code__ __closure__ "
    "__self__ __getattribute__ __loader__ __import__ __reduce__ __reduce_ex__ f_globals f_locals f_builtins "
    "gi_frame tb_frame func_globals".split()
)
DESTROYING = frozenset("unlink rmdir rmtree remove_file delete_file kill".split())
SENDING = frozenset(
    "urlopen urlretrieve sendmail send_message create_connection getaddrinfo gethostbyname sendto".split()
)
EVALUATES = frozenset(
    "timeit.timeit timeit.repeat timeit.Timer cProfile.run cProfile.runctx profile.run profile.runctx pandas.eval "
    "pd.eval "
    "numexpr.evaluate pdb.run".split()
)
"""Calls that evaluate the string they are given."""
EXECUTED = frozenset(("eval", "exec", "__import__", "execfile"))
"""Functions that evaluate strings, wherever they are passed."""
INSIDE = re.compile(r"[.@]__(?:class|globals|subclasses|builtins|init|mro|base|import)__|@(?:pd|pandas|np)\.")
"""Text that accesses internals of objects when it is formatted or evaluated."""
SERVER = re.compile(
    r"(?:postgres\w*|mysql|mariadb|mssql|oracle|mongodb|redis|rediss|amqps?|snowflake|bigquery|clickhouse|cassandra)"
    r"(?:\+\w+)*://",
    re.IGNORECASE,
)
OPENS_ADDRESSES = frozenset(
    "pandas pd polars pl dask cv2 fsspec xarray pyarrow matplotlib plt imageio skimage geopandas".split()
)
"""Libraries that open URLs as they open files."""
PATH_WRITES = frozenset("write_text write_bytes touch mkdir symlink_to hardlink_to link_to rename replace".split())
PATH_READS = frozenset("read_text read_bytes open iterdir glob rglob".split())
SOME_VALUE = "a1b2" * 5
WRITE_MODE = re.compile(r"[wax+]")
PATH_CALLS = frozenset(
    "open io.open codecs.open os.open pathlib.Path Path PurePath pathlib.PurePath os.listdir os.scandir "
    "os.walk os.stat glob.glob glob.iglob shutil.copy shutil.copyfile shutil.copy2 shutil.copytree "
    "shutil.move os.rename os.replace os.makedirs os.mkdir os.symlink os.link os.chdir zipfile.ZipFile "
    "tarfile.open sqlite3.connect np.loadtxt pd.read_csv shutil.make_archive shutil.unpack_archive "
    "os.path.join os.path.expanduser linecache.getlines fileinput.input file_path read_text "
    "shutil.disk_usage os.path.getsize".split()
)
WRITING = frozenset(
    "shutil.copy shutil.copyfile shutil.copy2 shutil.copytree shutil.move os.rename os.replace os.makedirs "
    "os.mkdir os.symlink os.link shutil.unpack_archive".split()
)
ENVIRONMENT = frozenset(("os.environ", "os.environb"))
ASKS_ENVIRONMENT = frozenset(("os.getenv", "os.environ.get", "os.environ.pop", "os.environ.setdefault", "os.getenvb"))
URL = re.compile(r"^(?:https?|ftp|sftp|s3|gs|git|ssh|tcp|udp|wss?|ldap|smb)://", re.IGNORECASE)
MAGIC = re.compile(r"^\s*(?:!{1,2}|%%?(?:bash|sh|system|sx|script|run|load|pip|writefile)\b)", re.MULTILINE)
REACHED = frozenset("os subprocess shutil socket sys builtins posix nt signal pty".split())
"""Modules that are reachable as attributes of others."""
THROUGH = frozenset(
    "builtins.eval builtins.exec builtins.compile builtins.__import__ os.__dict__ sys.__dict__ subprocess.__dict__ "
    "shutil.__dict__ builtins.__dict__ multiprocessing.connection multiprocessing.managers".split()
)
"""Names that are harmful as such: what is reached through them is known only at run time."""
