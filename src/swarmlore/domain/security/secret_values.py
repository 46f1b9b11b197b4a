"""Judge whether a value is a secret: random, or a placeholder, identifier, variable or word; with the word lists."""

from __future__ import annotations

from functools import cache

# (rule, keywords, shape, test of the value). Keywords are lower case, separated by commas and searched for anywhere in
# the text; the shape ignores case; the last group is the secret. `<=>` matches what joins a name and its value, `<_>`
# what joins two words of a name.
WORDED: tuple[tuple[str, str, str, str], ...] = (
    (
        "private-key",
        "private key",
        r"-----BEGIN [A-Z0-9 _]{0,60}PRIVATE KEY(?: BLOCK)?-----(?=(?:\s|\\[nr]){0,9}[\w+/=:])"
        # up to the end line; of a truncated block all lines that can belong to it
        # (atomic groups: before Python 3.11.5 a possessive repeat of a group matches wrongly)
        r"(?:(?>(?:[^-]|-(?!----)){1,20000})-----END [A-Z0-9 _]{0,60}PRIVATE KEY(?: BLOCK)?-----"
        r"|(?>(?:(?>(?:[\s>#*\"',]|\\[nr]|[A-Z][A-Z\-]{2,20}: [^\n\\]{1,60}){0,40})[A-Z0-9+/]{16,}+={0,2}){1,400}))",
        "any",
    ),
    ("private-key", "private-lines:", r"Private-Lines: \d{1,4}((?:\s{1,4}[A-Z0-9+/=]{16,64}+){1,200})", "any"),
    ("url-password", "://", r"://([^\s/:@\"'<>\\]{0,80}):([^\s/@\"'<>\\]{1,1000})@(?=[\w\[$*{])", "login"),
    (
        "url-password",
        "://",
        r"://[^\s/:@\"'<>\\]{0,80}:(?!\d{2,5}/)([^\s@\"'<>\\]{8,1000})@(?=[\w\[$*{])",
        "random_or_digits",
    ),
    (
        "url-password",
        "://",
        r"://([^\s/:@\"'<>\\]{10,1000})(?::[^\s/@\"'<>\\]{0,80})?@(?=[\w\[$*{])",
        "random_or_digits",
    ),
    (
        "authorization",
        "authorization",
        r"authorization[\"'\]]{0,2}\s{0,3}(?::|[=,]\s{0,3}f?(?=[\"'`]))\s{0,3}[\"'`]{0,2}(?:[a-z][a-z\-]{2,14} {1,4})?"
        r"([^\s\"'`,;<>\\]{8,}+)",
        "header",
    ),
    ("bearer-token", "bearer", r"bearer[ \t]{1,4}[\"'`]?([\w.~+/\-]{16,}+={0,2})", "random"),
    (
        "curl-user",
        "curl",
        r"(?<!\S)(?:-u|--user|--proxy-user)[ =]{0,3}[\"']?([^\s:\"'<>]{1,80}):[\"']?([^\s\"'<>]{1,120})",
        "login",
    ),
    ("curl-user", "curl", r"(?<!\S)(?:-u|--user)[ =]{0,3}[\"']?([^\s:\"'<>]{8,80}):(?![^\s\"'])", "password"),
    (
        "netrc",
        "machine",
        r"machine\s{1,9}\S{1,99}\s{1,9}login\s{1,9}(\S{1,99})\s{1,9}password\s{1,9}(\S{4,99})",
        "login",
    ),
    (
        "pgpass",
        ":5432:,:5433:,:6543:,pgpass",
        r"(?<![^\s\"'`])[\w.*\-]{1,99}:(?:\d{4,5}|\*):[\w*\-]{1,60}:([\w*\-]{1,60}):([^\s\"'`:]{4,99})",
        "login",
    ),
    ("command-password", "sshpass", r"(sshpass)\s{1,4}-p\s{0,3}[\"']?([^\s\"']{4,99})", "login"),
    ("command-password", "docker login", r"\s(-p|--password)[ =]{1,3}[\"']?([^\s\"']{6,200})", "login"),
    ("command-password", "mysql", r"mysql\w{0,10}\s[^\n|;]{0,80}?-p([^\s\"'$-][^\s\"']{4,60})", "password"),
    (
        "command-password",
        " -p",
        r"\s-u\s{1,3}(\S{1,80})\s(?:[^\n|;]{0,40}?\s)?-p[ =]{0,2}[\"']?([^\s\"']{6,200})",
        "password",
    ),
    (
        "command-password",
        "-stdin,with-token",
        r"(?:echo|printf)\s{1,3}(?:-\w\s|[\"']?%s[\"']?\s){0,2}[\"']?([^\s\"'|]{6,4000})[\"']?\s{0,3}\|"
        r"[^\n|;]{0,99}?(?:-stdin|with-token)",
        "password",
    ),
    (
        "generic-secret",
        "secret set,secrets set",
        r"secrets?\sset\s[^\n|;]{0,120}?\s(?:-b|--body|--value)[ =][\"']?([^\s\"']{8,4000})",
        "random_or_digits",
    ),
    ("command-password", "redis-cli", r"(redis-cli)\s[^\n|;]{0,80}?-a\s{1,3}[\"']?([^\s\"']{6,99})", "login"),
    ("command-password", "pass:", r"(-pass(?:in|out)?)\s{1,3}pass:([^\s\"']{4,99})", "login"),
    (
        "spoken-password",
        "password is,password was,passphrase is,passphrase was",
        r"(?:password|passphrase)\s{1,3}(?:is|was)\s{0,2}:?\s{1,2}[\"'`]?([^\s\"'`,;]{6,80})",
        "password",
    ),
    (
        "flag-password",
        " --",
        r"(?<!\S)--?(?:[a-z][a-z\-_]{0,30})?(?:password|passwd|pass)[ =]{1,3}[\"'`]?([^\s\"'`]{6,99})",
        "password",
    ),
    ("secret-token-uri", "secret-token:", r"secret-token:([^\s\"'<>]{8,500})", "password"),
    ("cookie", "cookie:", r"(?:set-)?cookie:\s{0,3}[\w.\-]{1,40}=([^\s;\"',]{20,2000})", "random"),
    ("contribsys", "contribsys", r"contribsys__com<=>(<h8>:<h8>)", "named"),
    ("jwk-private-part", '"kty"', r'"(?:d|p|q|dp|dq|qi|k)"\s{0,4}:\s{0,4}"(<u20+>)', "varied"),
    # The public half of a credential pair gives no access alone, so only an assignment counts, never a mention.
    ("account-id", "cloudinary", r"cloudinary<_>cloud(?:<_>name)?<=>([a-z0-9][a-z0-9_\-]{2,40})", "named"),
    ("account-id", "tableau", r"tableau<_>(?:token|pat)<_>name<=>([\w.\-]{3,60})", "named"),
    ("account-id", "canva", r"canva<_>client<_>id<=>(OC-<u10,14>)", "named"),
    ("tenant-address", "supabase.co", r"url<=>(?:https?://)?([a-z]{16,24}\.supabase\.co)(?![\w.\-]|/\w)", "named"),
    ("account-id", "lark,feishu", r"(?:lark|feishu)<_>app<_>id<=>(cli_<w16>)", "named"),
    (
        "account-id",
        "pscale,planetscale",
        r"(?:pscale|planetscale)<_>(?:db<_>)?(?:user(?:name)?|id)<=>(<a12,20>)",
        "named",
    ),
    ("account-id", "clickhouse", r"clickhouse<_>(?:cloud<_>)?(?:api<_>)?(?:key<_>)?id<=>(<w20>)", "named"),
    ("account-id", "account_sid,accountsid,account sid", r"account<_>sid<=>(AC<h32>)", "named"),
    ("account-id", "plivo", r"plivo<_>auth<_>id<=>((?:MA|SA)<A18>)", "named"),
    ("account-id", "algolia", r"algolia<_>app(?:lication)?<_>id<=>(<A10>)", "named"),
    ("account-id", "ramp_id_", r"client<_>id<=>(ramp_id_<w30,60>)", "named"),
    ("account-id", "aik_client_", r"client<_>id<=>(AIK_CLIENT_<w32,64>)", "named"),
    ("account-id", "paypal", r"paypal<_>client<_>id<=>(A<u79>)", "named"),
    ("account-id", "mdb_sa_id_", r"client<_>id<=>(mdb_sa_id_<h24>)", "named"),
    ("account-id", "ebay", r"(?:client|app)<_>id<=>(<w2,20>-<w2,20>-(?:PRD|SBX)-<h9>-<h8>)", "named"),
    ("account-id", "googleusercontent", r"client<_>id<=>(<d8,21>-<a32>\.apps\.googleusercontent\.com)", "named"),
    (
        "account-id",
        "client_id,client-id,client id,clientid,app_id,app-id,app id,appid,app_key,access_id,access-id,accessid,"
        "account_id,application_id,merchant_id",
        r"(?:adobe|airtable|amazon|asana|atlassian|auth0|bitbucket|box|coinbase|crowdstrike|discord|docusign|dropbox|facebook"
        r"|figma|fitbit|github|gitlab|hubspot|instagram|linkedin|looker|messagebird|miro|notion|okta|paypal|pinterest|plaid"
        r"|reddit|sendbird|shopify|slack|spotify|square|strava|stripe|sumo|sumologic|tiktok|trello|twitch|twitter|vonage|wiz"
        r"|xero|yahoo|zoom)<_>(?:api<_>)?(?:oauth<_>)?(?:client|app|account|access|application|merchant)<_>(?:id|key)<=>"
        r"(<w10,40>|<d15,20>|Iv1\.<h16>)(?![\w\-])",
        "random_or_digits",
    ),
)

# Domains under which every customer has a subdomain, and the shape of an assignment of such an address.
TENANT_ADDRESS = (
    r"(?:url|uri|host|hostname|server|domain|endpoint|instance|account|site)<=>(?:https?://)?"
    r"((?:[a-z0-9][a-z0-9\-]{{0,62}}\.){{1,4}}{})(?![\w.\-]|/\w)"
)
TENANT_HOSTS = """
    jfrog.io my.salesforce.com online.tableau.com snowflakecomputing.com okta.com oktapreview.com
    auth0.com cloud.databricks.com azuredatabricks.net myshopify.com zendesk.com freshdesk.com atlassian.net
    service-now.com grafana.net clickhouse.cloud es.io elastic-cloud.com redis-cloud.com upstash.io aivencloud.com
    documents.azure.com vault.azure.net openai.azure.com database.windows.net firebaseio.com looker.com
    workday.com sentry.io pipedrive.com bamboohr.com onelogin.com jumpcloud.com kinde.com temporal.io turso.io
    psdb.cloud neon.tech mongodb.net cloudant.com algolia.net"""

# Prefixes of PREFIXED that also start other words, as all short ones do: what follows must have about the length of
# their shape.
COMMON_PREFIXES = """
    key- key_ api- secret_ pat. sat. sdk- mob- v1.0- AAAA oauth: 1000. dose dapi tss_ ext_ EXO SCW API- pul- ico-
    api_org_"""

# Endings of a name (letters only, lower case) that mark its value as a secret ...
SECRET_NAMES = """
    token secret apikey secretkey accesskey privatekey authkey signingkey encryptionkey masterkey accountkey
    sharedkey servicekey licensekey sharedaccesskey subscriptionkey functionskey deploykey serverkey clientkey
    adminkey rootkey sessionkey apisecret credential credentials authorization jwt bearer serviceaccountkey
    integrationkey ingestkey writekey webhookkey hmackey consumerkey applicationkey appkey rolekey secrettoken
    platformkey clientcredential oauth geheimnis"""
PASSWORD_NAMES = "password passwd passphrase passwort kennwort"
# ... as whole last words, where an ending would be too broad ...
SECRET_WORDS = "pat auth creds cred"
PASSWORD_WORDS = "pwd pass pw"
# ... and whole last words, joined, that mark its value as public.
PUBLIC_NAMES = """
    csrftoken xsrftoken antiforgerytoken csrfsecret nexttoken pagetoken nextpagetoken continuationtoken synctoken
    cursortoken resumetoken maxtoken padtoken eostoken bostoken unktoken septoken clstoken masktoken stoptoken
    publicapikey publickey publishablekey publishabletoken publictoken sitekey cachekey idempotencykey
    idempotencytoken clienttoken publickeytoken cancellationtoken designtoken noauth author"""
# Words that make a name secret wherever they stand in it, unless its last word says otherwise.
SECRET_STEMS = "token secret apikey credential credentials passwd password"
# Last words of a name whose value is no secret, even if the name mentions a provider.
PLAIN_NAMES = """
    id ids name url uri version sha commit rev revision hash digest checksum etag path file dir host port region zone
    project org team date time at count size type status image tag branch ref email user username length chars prefix
    suffix header endpoint arn expiry ttl iv nonce fingerprint thumbprint model"""
# Providers (words of CONTEXT) whose names are assigned hashes or ids more often than secrets.
CODE_HOSTS = """
    github gh_ gitlab gitea forgejo codeberg gitee bitbucket sonar circleci circle_ci travis drone jenkins npm codecov
    sentry heroku vercel netlify railway artifactory jfrog bintray xray packagist buildkite snyk datadog splunk"""
# Keywords, as in WORDED, of which a text must hold one to be searched for spoken secrets; they may stand inside a word.
SPOKEN_WORDS = "*token,*secret,*key,*credential,*passw,*passphrase,*pwd,*pat ,*kennwort,*geheimnis,*ssel"
# Words that may follow the name of a secret without changing what it is.
TAIL_WORDS = """
    value val str string default prod production dev development test testing staging stage live sandbox new old
    base raw plain plaintext b64 base64 encoded primary secondary main backup env here one two"""
# Names of the form SOMETHING_KEY whose value is no secret.
PLAIN_KEYS = """
    public cache primary foreign sort partition hash range row column index lookup bucket object map dict item
    site map maps unique composite group routing sequence registry translation i18n message shard sdk json field
    param header config option state action event sequence idempotency dedup gpg pgp known ssh host storage s3 content
    commit build file blob artifact restore version image store entry record node react query feature issue tag
    first second third last next previous derived for with by to no"""

# Whole values that are placeholders for a password.
PLACEHOLDER_WORDS = """
    pass password passwd pwd pw secret token key apikey api_key test testing user username admin root guest foo bar
    baz xxx yyy zzz changeme change_me change-me changeit mypassword mypass yourpassword your_password example none
    null true false string required optional hidden masked redacted undefined empty default postgres mysql redis
    rabbitmq minio minioadmin elastic mongo sa letmein dummy sample placeholder todo hunter basic bearer digest argon2
    argon2id argon2i bcrypt scrypt pbkdf2 sha1 sha256 sha512 md5 base64 oauth2 utf8 x509 rsa2048 ed25519 aes256
    password1 password123 pass123 pass1234 secret123 test123 test1234 admin123 123456 12345678"""
# Substrings (lower case) that mark a value as an example.
PLACEHOLDER_PARTS = """
    example xxxx **** ... ____ #### placeholder changeme change-me change_me your- your_ yourapi yourtoken yoursecret
    yourpass yourkey my-secret my_secret mysecret dummy replace- replace_ replaceme insert- insert_ redacted
    ghijklmnopqrst 123456789012345 _here -here keyhere tokenhere foobar"""

# Frequency of each pair of letters in words and names of code, aa ab … zz: 5 as in random letters, 9 far above it.
LETTER_PAIRS = "".join(
    """
    26762351503767060768432341 75547432752834741664720051 72537317506632830657511030 74459532811533631564631230
    63674541300657253886143520 74557721900633730655601040 61439456701646641774622021 81339211702443831656511140
    54665550002669750577050305 84448324524343743383844232 64359343821534542474525041 72359320802723740155530060
    85249210702452770363510130 72677582614324640378440020 44662441414668560866655200 83338225602732760856511060
    54544433423744444464933211 82559340704454730576431040 51638336704533663278623040 72438316800432640765512160
    66546450500768360777000201 92439220800232620243210220 83448336803537730774122120 54758513701543482358332432
    64646541621666590477244244 73439312713342630343412244""".split()
)


# Letters and digits become a, A and 0, so that changes of kind can be counted as pairs.
_KINDS = dict.fromkeys(range(97, 123), "a") | dict.fromkeys(range(65, 91), "A") | dict.fromkeys(range(48, 58), "0")
_KINDS |= dict.fromkeys(map(ord, "_./:\\ "), "-")  # word separators; other symbols carry no information
_COUNT = "abcdefghijklmnopqrstuvwxyz 01234567890"

# Log odds, in units of 0.3, that two neighbours are random, by their kinds; for letters of one word see LETTER_PAIRS.
# A value with a sum of at least _RANDOM counts as random.
_KIND_ODDS = {"aA": 6, "a0": 12, "A0": 12, "0a": 12, "0A": 12, "00": 3}
_JOINT = -8
_RANDOM = 16
_SHORTEST = 8


@cache
def words_of(text: str) -> frozenset[str]:
    """Return the words of a whitespace-separated list as a set (cached)."""
    return frozenset(text.split())


def is_spread(value: str) -> bool:
    """Tell whether a value uses at least five characters about equally (inverse Simpson index)."""
    return len(value) ** 2 >= 5 * sum(value.count(char) ** 2 for char in set(value))


def is_placeholder(value: str) -> bool:
    """Tell whether a value is a variable, a template or an example in place of a secret."""
    if not value or value[0] in "{<[(" or value[-1] in ">}" or _is_variable(value):
        return True
    if value[0] in "*@" and not is_random(value[1:]):
        return True
    lower = value.lower()
    if lower in words_of(PLACEHOLDER_WORDS) or any(map(lower.__contains__, words_of(PLACEHOLDER_PARTS))):
        return True
    return _has_long_repeat(value)


def _is_variable(value: str) -> bool:
    """Tell whether a value is `$NAME`, `$1` or `%NAME%`, or contains `${…}` or `$(…)`."""
    if value[0] == "$" and value[1:].replace("_", "").isalnum():
        return True
    return "${" in value or "$(" in value or (len(value) > 2 and value[0] == value[-1] == "%")


def _has_long_repeat(value: str) -> bool:
    """Tell whether one character occurs 12 times in a row."""
    return any(value.count(char) >= 12 and char * 12 in value for char in set(value))


def is_varied(value: str) -> bool:
    """Tell whether a value that already has a provider's shape may be a real secret, not a placeholder."""
    return bool(value) and is_spread(value) and not is_placeholder(value)


def is_random(value: str) -> bool:
    """Tell whether a value looks random: its neighbouring characters are unlike those of words and names."""
    kinds = value.translate(_KINDS)
    letters = kinds.count("a") + kinds.count("A")
    # A timestamp has two letters.
    if letters <= 2 and not (letters and is_hash(value)):
        return False
    if letters + kinds.count("0") < _SHORTEST or _odds(value.lower(), kinds) < _RANDOM:
        return False
    # Class names such as `AccessToken` may look random.
    return is_varied(value) and not _is_counted(value) and not value.endswith(("Key", "Token", "Secret"))


@cache
def _pair_odds() -> dict[str, int]:
    """Return the log odds of each pair of letters, from `LETTER_PAIRS`."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    pairs = (first + second for first in letters for second in letters)
    return {pair: 11 - 2 * int(common) for pair, common in zip(pairs, LETTER_PAIRS, strict=True)}


def _odds(lower: str, kinds: str) -> int:
    """Sum the log odds that neighbouring characters come from a random value and not from the names of real code."""
    pairs = _pair_odds()
    odds = 0
    for at in range(len(kinds) - 1):
        kind = kinds[at : at + 2]
        odds += _KIND_ODDS[kind] if kind in _KIND_ODDS else _JOINT if "-" in kind else pairs.get(lower[at : at + 2], 0)
    return odds


def is_random_or_digits(value: str) -> bool:
    """Tell whether a value looks random; unlike `is_random` it accepts digits alone."""
    return is_random(value) or (value.isdigit() and len(value) >= 12 and is_varied(value) and not _is_counted(value))


def _is_counted(value: str) -> bool:
    """Tell whether most of a value counts up the alphabet or the digits, as `abcd1234` does."""
    lower = value.lower()
    steps = sum(lower[at : at + 2] in _COUNT for at in range(len(lower) - 1))
    return steps * 10 >= len(value) * 7


def has_digit_or_mixed_case(value: str) -> bool:
    """Tell whether a value has a digit or alternating case, which plain words and names do not have."""
    kinds = value.translate(_KINDS)
    return "0" in kinds or "AaA" in kinds


def is_password(value: str) -> bool:
    """Tell whether a value assigned to a password name is one: mixed characters or random, no identifier or word."""
    if len(value) < 6 or is_placeholder(value) or "://" in value or value.startswith(("/", "./", "../", "~/")):
        return False
    kinds = value.translate(_KINDS)
    symbols = sum(value.count(char) for char in "!@#$%^&*~+?")
    if symbols:
        return len(set(value)) >= 5 and ("a" in kinds or "A" in kinds)
    changed = any(map(kinds.count, ("a0", "0a", "A0", "0A")))
    return is_random_or_digits(value) or (len(value) >= 7 and changed and len(set(value)) >= 5 and "(" not in value)


def is_hash(value: str) -> bool:
    """Tell whether a value may be a hash or a UUID, or begins with the name of a hash or with `data:`."""
    named = value.startswith(("sha1", "sha256", "sha384", "sha512", "h1:", "md5", "data:"))
    return named or not value.lower().strip("0123456789abcdef-_")
