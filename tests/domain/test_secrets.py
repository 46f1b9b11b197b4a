"""No secret passes, nothing else is touched, and the time stays linear. Tokens are made at run time, never written."""

from __future__ import annotations

import base64
import json
import random
import re
import string
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conftest import DATA
from counting import calls
from hostile import SCANNERS
from swarmlore.domain.security import secret_formats, secret_values
from swarmlore.domain.security.redaction import RULES_VERSION, expand, redact, rule_names

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import redaction

LETTERS = string.ascii_letters + string.digits


# --- a made-up token for every shape of the table ---


def draw(shape: str, rng: random.Random) -> str:
    """Draw a string that an expression of the table matches."""
    return draw_parsed(re._parser.parse(expand(shape), re.ASCII), rng)


def draw_parsed(parsed, rng: random.Random) -> str:
    return "".join(draw_node(str(kind), value, rng) for kind, value in parsed)


def draw_node(kind: str, value, rng: random.Random) -> str:
    if kind == "LITERAL":
        return chr(value)
    if kind == "IN":
        return rng.choice(drawable(value))
    if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, inner = value
        return "".join(draw_parsed(inner, rng) for _ in range(rng.randint(least, min(most, least + 8))))
    if kind == "SUBPATTERN":
        return draw_parsed(value[-1], rng)
    if kind == "BRANCH":
        return draw_parsed(rng.choice(value[1]), rng)
    assert kind in ("ASSERT", "ASSERT_NOT"), f"the table uses {kind}, which draw() does not know"
    return ""


def drawable(members) -> str:
    """Return the characters of a set, each as often as it would be in a real token."""
    chars = ""
    for kind, value in members:
        if str(kind) == "LITERAL":
            chars += chr(value)
        elif str(kind) == "RANGE":
            chars += "".join(map(chr, range(value[0], value[1] + 1)))
        else:
            chars += {"CATEGORY_WORD": LETTERS + "_", "CATEGORY_DIGIT": string.digits}[str(value)]
    return chars


PREFIX_ROWS = [
    (rule, prefix, shape)
    for rule, prefixes, shape in secret_formats.PREFIXED + secret_formats.LOOSE
    for prefix in prefixes.split()
]


def share_redacted(text: str, make, rng: random.Random, tries: int = 25) -> float:
    """Return how often a drawn token is gone from the text it was put into."""
    gone = 0
    for _ in range(tries):
        token = make(rng)
        clean, fired = redact(text.format(token))
        gone += token not in clean and bool(fired) and text.split("{}")[0] in clean
    return gone / tries


PREFIX_IDS = [f"{rule}-{prefix}" for rule, prefix, _ in PREFIX_ROWS]
SHAPE_IDS = [f"{rule}-{keywords}" for rule, keywords, _, _ in secret_formats.SHAPED]
CONTEXT_IDS = [f"{rule}-{words}" for rule, words, _ in secret_formats.CONTEXT]


@pytest.mark.parametrize(("rule", "prefix", "shape"), PREFIX_ROWS, ids=PREFIX_IDS)
def test_a_token_with_the_prefix_of_a_provider_is_redacted_wherever_it_stands(rule, prefix, shape):
    rng = random.Random(prefix + shape)
    assert share_redacted('the call used "{}" and failed', lambda rng: prefix + draw(shape, rng), rng) >= 0.85


@pytest.mark.parametrize(("rule", "prefix", "shape"), PREFIX_ROWS, ids=PREFIX_IDS)
def test_a_prefix_alone_or_before_a_placeholder_is_no_secret(rule, prefix, shape):
    text = f"tokens of this kind start with {prefix} as in {prefix}cut or {prefix}xxxxxxxxxxxxxxxxxxxxxxxx"
    assert redact(text) == (text, ())


@pytest.mark.parametrize(("rule", "keywords", "shape", "test"), secret_formats.SHAPED, ids=SHAPE_IDS)
def test_a_token_with_the_shape_of_a_provider_is_redacted(rule, keywords, shape, test):
    rng = random.Random(shape)
    gone = sum(redact(f"see {draw(shape, rng)} here")[1] != () for _ in range(25))
    assert gone >= 22


@pytest.mark.parametrize(("rule", "words", "shape"), secret_formats.CONTEXT, ids=CONTEXT_IDS)
def test_a_value_assigned_to_the_name_of_a_provider_is_redacted(rule, words, shape):
    rng = random.Random(shape)
    for word in words.split():
        name = word.strip("_-.")
        for text in (f"export {name.upper()}_API_KEY={{}}", f'"{name}_token": "{{}}",', f"{name} secret = '{{}}'"):
            assert share_redacted(text, lambda rng: draw(shape, rng), rng, tries=8) >= 0.75, text


# --- documented formats, written down apart from the table: rule, and the token in the notation of the table ---

DOCUMENTED = """
aws-access-key AKIA<B16>
aws-access-key ASIA<B16>
github-token ghp_<w36>
github-token gho_<w36>
github-token ghs_<w36>
github-fine-grained-token github_pat_<w22>_<w59>
gitlab-token glpat-<u20>
gitlab-token glrt-<u20>
gitlab-token glptt-<h40>
bitbucket-app-password ATBB<w32>
slack-token xoxb-<d12>-<d13>-<w24>
slack-token xoxp-<d12>-<d12>-<d12>-<h32>
slack-app-token xapp-1-<A11>-<d13>-<h64>
stripe-key sk_live_<w24>
stripe-key rk_test_<w99>
square-token sq0atp-<u22>
shopify-token shpat_<h32>
plaid-token access-production-<U>
npm-token npm_<w36>
pypi-token pypi-AgEIcHlwaS5vcmc<u120>
rubygems-key rubygems_<h48>
nuget-key oy2<a43>
crates-token cio<w32>
docker-token dckr_pat_<u27>
anthropic-key sk-ant-api03-<u93>AA
openai-key sk-proj-<u74>T3BlbkFJ<u74>
sk-key sk-<w48>
gcp-api-key AIzaSy<u33>
gcp-oauth-secret GOCSPX-<u28>
gcp-oauth-token ya29.<u120>
huggingface-token hf_<w34>
replicate-token r8_<w37>
groq-key gsk_<w52>
perplexity-key pplx-<w48>
xai-key xai-<w80>
openrouter-key sk-or-v1-<h64>
langsmith-key lsv2_pt_<h32>_<h10>
nvidia-key nvapi-<u64>
databricks-token dapi<h32>
databricks-token dapi<h32>-2
digitalocean-token dop_v1_<h64>
heroku-key HRKU-AA<u58>
vercel-token vcp_<w56>
netlify-token nfp_<w36>
fly-token fo1_<u43>
render-key rnd_<w28>
supabase-token sbp_<h40>
vault-service-token hvs.<u95>
doppler-token dp.pt.<w43>
terraform-token <w14>.atlasv1.<u67>
pulumi-token pul-<h40>
age-secret-key AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}
sentry-token sntryu_<h64>
new-relic-key NRAK-<A27>
grafana-service-token glsa_<w32>_<h8>
grafana-cloud-token glc_<b80>==
dynatrace-token dt0c01.<A24>.<A64>
sendgrid-key SG.<u22>.<u43>
mailgun-key key-<h32>
mailchimp-key <h32>-us12
brevo-key xkeysib-<h64>-<w16>
resend-key re_<w8>_<w24>
twilio-key SK<h32>
linear-key lin_api_<w40>
notion-token ntn_<d11><w35>
figma-token figd_<u43>
airtable-key pat<w14>.<h64>
hubspot-token pat-na1-<U>
typeform-token tfp_<w44>_<w14>
contentful-token CFPAT-<u43>
postman-key PMAK-<h24>-<h34>
atlassian-token ATATT3<u180>=<A8>
telegram-token <d10>:AA<u33>
discord-token MT<w22>.<u6>.<u38>
azure-client-secret <w3>8Q~<u34>
square-access-token EAAA<u60>
easypost-key EZAK<w54>
shippo-token shippo_live_<h40>
duffel-token duffel_test_<u43>
flutterwave-key FLWSECK_TEST-<h32>-X
launchdarkly-key sdk-<U>
readme-key rdme_<a70>
sourcegraph-token sgp_<h40>
scalingo-token tk-us-<u48>
frameio-token fio-u-<u64>
clojars-token CLOJARS_<a60>
onepassword-service-token ops_eyJ<b300>
circleci-token CCIPAT_<w22>_<h40>
cloudflare-token cfut_<w48>
tailscale-key tskey-auth-<w11>CNTRL-<w32>
"""


@pytest.mark.parametrize("row", DOCUMENTED.split("\n")[1:-1])
def test_a_documented_format_is_redacted_under_its_rule(row):
    rule, shape = row.split()
    rng = random.Random(row)
    # A dot that stands for itself; the notation of the table is an expression.
    token = draw(shape.replace(".", r"\."), rng)
    assert redact(f"curl failed with {token}, try again") == (f"curl failed with [redacted:{rule}], try again", (rule,))


# --- phrases: (rule, text before, the secret, text after) ---


def noise(seed: str, length: int, alphabet: str = LETTERS) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=length))


def a_uuid(seed: int) -> str:
    return str(uuid.UUID(int=random.Random(seed).getrandbits(128)))


BLOCK = "\n".join(noise(f"line {n}", 64, LETTERS + "+/") for n in range(4))
ARMOUR = ("-----BEGIN " + "RSA PRIVATE KEY-----", "-----END " + "RSA PRIVATE KEY-----")
HEX = "0123456789abcdef"

PHRASES = [
    ("private-key", "key:\n", f"{ARMOUR[0]}\n{BLOCK}\n{ARMOUR[1]}", "\nend"),
    ("private-key", '{"key": "', f"{ARMOUR[0]}\n{BLOCK}\n{ARMOUR[1]}".replace("\n", "\\n"), '\\n"}'),
    ("private-key", "cut:\n", f"{ARMOUR[0]}\nProc-Type: 4,ENCRYPTED\n\n{BLOCK}", "\nand then it stops"),
    ("private-key", "Private-Lines: 4", "\n" + BLOCK, "\nPrivate-MAC: 12"),
    ("url-password", "postgres://app:", "correct-horse", "@db.internal:5432/app"),
    ("url-password", "redis://:", noise("redis", 12), "@cache:6379/0"),
    ("url-password", "git clone https://bot:", noise("clone", 20), "@git.internal/x.git"),
    ("authorization", "Authorization: Basic ", base64.b64encode(b"deploy:orange9tree").decode(), "\n"),
    ("authorization", 'headers["Authorization"] = "Token ', noise("token", 30), '"'),
    ("bearer-token", "send Bearer ", noise("bearer", 32), " with it"),
    ("curl-user", "curl -sS -u elastic:", "P4ss&w0rd", " https://localhost:9200"),
    ("curl-user", "curl --user '", noise("as user", 20), ":' https://api.internal"),
    ("netrc", "machine git.internal login bot password ", "orange9tree", "\n"),
    ("pgpass", "db.internal:5432:app:app_user:", "orange9tree", "\n"),
    ("command-password", "sshpass -p ", "orange9tree", " ssh host"),
    ("command-password", "docker login -u bot -p ", "orange9tree", " registry.internal"),
    ("command-password", "mysqldump -u root -p", "orange9tree", " app"),
    ("command-password", "redis-cli -h cache -a ", "orange9tree", " ping"),
    ("command-password", "openssl rsa -passin pass:", "orange9tree", " -in k"),
    ("command-password", "twine upload -u bot -p ", "orange9tree", " dist/*"),
    ("command-password", "echo ", "orange9tree", " | docker login -u bot --password-stdin"),
    ("generic-secret", "gh secret set DEPLOY --body ", noise("body", 32), "\n"),
    ("spoken-password", "the password is ", "orange9Tree!", " for now"),
    ("generic-secret", "the staging api key is ", noise("spoken", 32), ", ask ops"),
    ("generic-secret", "deploy --api-token ", noise("flag", 32), " --dry-run"),
    ("flag-password", "restore --db-password ", "orange9Tree!", " --all"),
    ("secret-token-uri", "use secret-token:", noise("uri", 24), " here"),
    ("cookie", "Cookie: session=", noise("cookie", 40), "; theme=dark"),
    ("contribsys", "BUNDLE_GEMS__CONTRIBSYS__COM: ", "cafebead:deafbabe", "\n"),
    ("jwk-private-part", '{"kty":"EC","d":"', noise("jwk", 43), '"}'),
    ("kubernetes-secret", "kind: Secret\ndata:\n  user: ", "YWRtaW4=", "\ntype: Opaque"),
    ("kubernetes-secret", '{"kind": "Secret", "data": {"user": "', "YWRtaW4=", '"}}'),
    ("tenant-address", "ARTIFACTORY_URL=https://", "acme.jfrog.io", "\n"),
    ("tenant-address", 'supabaseUrl: "https://', noise("ref", 20, string.ascii_lowercase) + ".supabase.co", '"'),
    ("account-id", "CLOUDINARY_CLOUD_NAME=", "acme-images", "\n"),
    ("account-id", "TABLEAU_TOKEN_NAME=", "nightly-refresh", "\n"),
    ("account-id", "canva client id: ", "OC-" + noise("canva", 12), "\n"),
    ("account-id", "LARK_APP_ID=", "cli_" + noise("lark", 16), "\n"),
    ("account-id", "planetscale_username: ", noise("pscale", 12, string.ascii_lowercase + string.digits), "\n"),
    ("account-id", "clickhouse_key_id = ", noise("clickhouse", 20), "\n"),
    ("account-id", "TWILIO_ACCOUNT_SID=", "AC" + noise("twilio", 32, HEX), "\n"),
    ("account-id", "PLIVO_AUTH_ID=", "MA" + noise("plivo", 18, string.ascii_uppercase), "\n"),
    ("account-id", "ALGOLIA_APP_ID=", noise("algolia", 10, string.ascii_uppercase + string.digits), "\n"),
    ("account-id", "RAMP_CLIENT_ID=", "ramp_id_" + noise("ramp", 40), "\n"),
    ("account-id", "AIK_CLIENT_ID=", "AIK_CLIENT_" + noise("aikido", 40), "\n"),
    ("account-id", "PAYPAL_CLIENT_ID=", "A" + noise("paypal", 79), "\n"),
    ("account-id", "ATLAS_CLIENT_ID=", "mdb_sa_id_" + noise("atlas", 24, HEX), "\n"),
    ("account-id", "EBAY_CLIENT_ID=", f"Acme-Shop-PRD-{noise('ebay', 9, HEX)}-{noise('e', 8, HEX)}", "\n"),
    (
        "account-id",
        "GOOGLE_CLIENT_ID=",
        f"{noise('g', 12, string.digits)}-{noise('google', 32, HEX)}.apps.googleusercontent.com",
        "\n",
    ),
    ("account-id", "SPOTIFY_CLIENT_ID=", noise("spotify", 32, HEX), "\n"),
    ("password", 'db_password = "', "orange9Tree!", '"'),
    ("password", "DB_PASS=", "hunter2orange", "\n"),
    ("password", "<password>", "orange9Tree!", "</password>"),
    ("password", "Server=db;User=app;Password=", "orange9Tree!", ";Encrypt=true"),
    ("generic-secret", "api_key: ", noise("api", 32), "\n"),
    ("generic-secret", 'clientSecret => "', noise("client", 40), '"'),
    ("generic-secret", "https://api.internal/v1?page=2&access_token=", noise("query", 32), "&x=1"),
    ("generic-secret", '<add key="ApiKey" value="', noise("xml", 32), '"/>'),
    ("generic-secret", '- name: SEARCH_TOKEN\n  value: "', noise("env", 32), '"'),
    ("generic-secret", "headers.set('X-Api-Key', '", a_uuid(1), "')"),
    ("generic-secret", "<apiToken>\n    ", noise("element", 32), "\n</apiToken>"),
    ("generic-secret", '#define ACME_TOKEN "', noise("macro", 32), '"'),
    ("generic-secret", 'client.setApiKey("', noise("setter", 32), '");'),
    ("generic-secret", 'api_token <- "', noise("arrow", 32), '"'),
    ("generic-secret", 'ACME_TOKEN :::= "', noise("make", 32), '"'),
    ("generic-secret", '{"app.ini": "ACME_TOKEN=', noise("ini", 32), '\\nDEBUG=true"}'),
    ("generic-secret", "ACME_KEY=", noise("weak", 32), "\n"),
    ("generic-secret", "secret_key_base: ", noise("rails", 128, HEX), "\n"),
]


@pytest.mark.parametrize(("rule", "before", "secret", "after"), PHRASES)
def test_only_the_secret_part_of_a_phrase_is_redacted(rule, before, secret, after):
    clean, fired = redact(before + secret + after)
    assert clean == f"{before}[redacted:{rule}]{after}"
    assert fired == (rule,)


def test_every_rule_of_the_table_has_an_example_here():
    rows = {rule for rule, *_ in (*PREFIX_ROWS, *secret_formats.SHAPED, *secret_formats.CONTEXT)}
    assert rows | {rule for rule, *_ in PHRASES} == rule_names()
    worded = [rule for rule, *_ in secret_values.WORDED]
    examples = [rule for rule, *_ in PHRASES]
    assert [rule for rule in sorted(set(worded)) if examples.count(rule) < worded.count(rule)] == []


def test_the_table_names_providers_by_the_hundred_and_rules_in_kebab_case():
    assert len(rule_names()) > 250
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in rule_names())
    assert RULES_VERSION == secret_formats.RULES_VERSION


def test_rules_are_named_once_each_in_the_order_of_the_text():
    first, second = draw("ghp_<w36>", random.Random(1)), draw("npm_<w36>", random.Random(2))
    clean, fired = redact(f"{second} then {first} then {second}")
    assert clean == "[redacted:npm-token] then [redacted:github-token] then [redacted:npm-token]"
    assert fired == ("npm-token", "github-token")


def test_the_tail_of_a_very_long_value_goes_too():
    value = noise("long", 3000)
    assert redact(f"SESSION_TOKEN={value} next")[0] == "SESSION_TOKEN=[redacted:generic-secret] next"


# --- other lengths, other contexts: a sample of bench/redaction.py ---


def test_secrets_go_at_any_length_and_in_any_context():
    every = list(redaction.cases(seed=3))
    sample = random.Random(3).sample(every, 6000)
    left = Counter(case.context for case in sample if case.leaks())
    total = Counter(case.context for case in sample)
    assert left.total() <= 60
    assert {context: count for context, count in left.items() if count > total[context] * 0.03} == {}


def test_every_rule_holds_four_characters_less_and_eight_more():
    every = [case for case in redaction.cases(seed=4) if case.change in (-4, 8)]
    sample = {(case.rule, case.change): case for case in every}
    assert len({case.rule for case in sample.values()}) > 300
    assert sum(case.leaks() for case in sample.values()) <= len(sample) * 0.02


@pytest.mark.parametrize("change", [-4, 4, 40])
def test_a_known_prefix_goes_in_a_plain_sentence_at_any_length(change):
    key = noise(f"google {change}", 35 + change)
    assert redact(f"Deploy uses the token AIza{key} in the CI config file") == (
        "Deploy uses the token [redacted:gcp-api-key] in the CI config file",
        ("gcp-api-key",),
    )


@pytest.mark.parametrize(
    "text",
    [
        "the token is {}",
        "log in with password {} today",
        "it uses the key {}.",
        "the key for the staging job is `{}`",
        "{} is the deploy token",
        "use {} as the API key of the job",
        "| token | {} |",
        "token: |\n  {}\n",
        '"token":\n  "{}"',
        "the token (currently {}) must be rotated",
        "the deploy token changed to {} on Monday",
        "the key we use is {}",
        "here is the token:\n{}\n",
        "**api key**: `{}`",
        "- api key → {}",
        "use {} as api key",
        "API_TOKEN must be {}",
        "Das Passwort lautet {}.",
        "Der API-Schlüssel für Staging ist {}",
        "Nimm {} als Token",
        'api_key: str = "{}"',
        'let token: &str = "{}";',
        'const apiSecret = Buffer.from("{}");',
        'curl -H "X-Api-Key:{}" https://api.internal',
        "https://api.internal/v1?key={}&page=2",
        "https://{}:x-oauth-basic@git.internal/app.git",
        "token%3D{}",
        'Client(api_key="{}")',
        "tool --auth-token {}",
    ],
)
@pytest.mark.parametrize(
    "alphabet", [HEX, LETTERS, string.ascii_lowercase + string.digits], ids=["hex", "mixed", "small"]
)
def test_a_word_that_says_secret_covers_the_value_beside_it(text, alphabet):
    value = noise(text, 32, alphabet)
    assert value[8:16] not in redact(text.format(value))[0]


@pytest.mark.parametrize(
    "text",
    [
        "the key id is {}",
        "the token refresh was broken by {}",
        "commit {} fixed the token bucket",
        "{} as token handling",
        "arn:aws:kms:eu-1:1:key/{}",
        "the token check failed in commit {}",
    ],
)
def test_a_hash_near_a_word_that_says_secret_stays_unless_it_is_called_one(text):
    assert redact(text.format(noise(text, 40, HEX)))[1] == ()


def test_letters_alone_are_a_secret_where_a_name_says_so():
    for number in range(20):
        value = noise(f"letters {number}", 32, string.ascii_lowercase)
        assert value not in redact(f"api_token={value}")[0]


# --- what must stay ---


def test_hashes_ids_and_images_stay_under_plain_names():
    rng = random.Random(8)
    values = [rng.randbytes(size).hex() for size in (16, 20, 32, 64) for _ in range(20)]
    values += [a_uuid(number) for number in range(20)]
    values += [
        f"{kind}{base64.b64encode(rng.randbytes(48)).decode()}" for kind in ("sha384-", "h1:", "") for _ in range(20)
    ]
    values += [f"data:image/png;base64,{base64.b64encode(rng.randbytes(3000)).decode()}" for _ in range(20)]
    lines = [redaction.LookAlike("made up", "here", value) for value in values]
    made = [one.text for seed in range(5) for one in redaction.under_plain_names(lines, random.Random(seed))]
    assert len(made) > 600
    assert sum(redact(text)[0] != text for text in made) <= len(made) / 100


def test_no_prefix_fires_inside_a_long_run_of_base64():
    runs = [base64.b64encode(random.Random(number).randbytes(60_000)).decode() for number in range(12)]
    wrapped = ["\n".join(run[at : at + 64] for at in range(0, 20_000, 64)) for run in runs]
    images = [f'<img src="data:image/png;base64,{run}">' for run in runs]
    assert [text for text in (*images, *wrapped) if redact(text)[1]] == []


HARMLESS = [
    "api_key = YOUR_API_KEY",
    "export API_TOKEN=<your-token-here>",
    "token: xxxxxxxxxxxxxxxxxxxxxxxx",
    "password=${DB_PASSWORD} and secret=$SECRET_KEY",
    "api_key: {{ .Values.apiKey }}",
    "password: changeme",
    'token = os.environ["API_TOKEN_V2"]',
    "token = get_token()",
    "token = oauth2.fetch_token_v2(session)",
    "const apiKey = process.env.STRIPE_API_KEY2;",
    "self.secret = settings.AUTH_SECRET_KEY_2024",
    "the password must have 12 characters, 1 digit and 1 symbol",
    "password: at least 12 characters",
    "The token is refreshed every 3600 seconds",
    "Authorization: Bearer prefix is needed on every auth header",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "curl -u user:password https://localhost",
    "curl -u test:test https://localhost",
    "curl -u $USER:$PASS https://localhost",
    "docker run -u 1000:1000 app",
    "postgres://user:password@localhost:5432/app",
    "postgres://postgres:postgres@localhost:5432/app",
    "mongodb+srv://<user>:<password>@cluster0/app",
    "postgres://${PGUSER}:${PGPASSWORD}@db/app",
    "git clone git@github.com:acme/app.git && curl https://acme.jfrog.io/ui/",
    "Docs: https://acme.atlassian.net/wiki/spaces/ENG",
    "git checkout " + noise("sha", 40, HEX),
    "image: app@sha256:" + noise("digest", 64, HEX),
    '"integrity": "sha512-' + noise("npm", 86, LETTERS + "+/") + '=="',
    "SRCREV = " + noise("rev", 40, HEX),
    "cache_key = " + noise("cache", 32, HEX),
    "partition_key: " + noise("part", 32, HEX),
    "csrf_token=" + noise("csrf", 44),
    "next_page_token: " + noise("page", 44),
    "trace id " + noise("trace", 32, HEX) + " in the log",
    "the token bucket broke in build: " + noise("build", 40, HEX),
    "fixed on github: " + noise("fix", 40, HEX),
    "sentry release: " + noise("release", 40, HEX),
    'the step "' + a_uuid(4) + '" failed',
    "clientId = " + a_uuid(2),
    "request " + a_uuid(3) + " timed out",
    "![logo](data:image/png;base64," + noise("png", 400, LETTERS + "+/") + "==)",
    "ssh-rsa " + noise("public", 372, LETTERS + "+/") + " dev@laptop",
    "-----BEGIN CERTIFICATE-----\n" + BLOCK + "\n-----END CERTIFICATE-----",
    "-----BEGIN " + "PUBLIC KEY-----\n" + BLOCK + "\n-----END " + "PUBLIC KEY-----",
    "files that start with -----BEGIN " + "PRIVATE KEY----- are refused by the hook",
    "secretName: web-tls-cert-2024",
    "token_file: /var/run/secrets/token-v2",
    "max_tokens=4096 pad_token=50256",
    "run pytest tests/test_auth_v2.py::test_token_2fa_login_3_times",
    "kind: Deployment\ndata:\n  user: YWRtaW4=",
    "AKIA" + "IOSFODNN7" + "EXAMPLE is the key of the documentation",
    "[redacted:github-token] and [redacted:e2b-key]",
    "https://acme.notion.site/API-" + noise("page", 32, HEX).upper(),
    "the picture api-" + noise("picture", 26, HEX) + ".gif is new",
    'self.load("api_org_96726c78_4ae3_402f_b08b_7a78c6903d2a.xml")',
    "key: " + noise("cache key", 64, HEX),
    "primary_key = " + a_uuid(6),
    "let key = Pkcs1RsaPublicKey { n, e };",
    "actions/checkout@" + noise("action", 40, HEX),
    "the token count of the prompt is 128000 and the key is pressed twice",
    "passwords are hashed with argon2id, tokens with sha256",
    "password = argon2id",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_placeholders_code_and_public_values_stay(text):
    assert redact(text) == (text, ())


def neutral_sentences(count: int) -> list[str]:
    rng = random.Random(7)
    makers = [
        lambda: noise(str(rng.random()), 40, HEX),
        lambda: noise(str(rng.random()), 7, HEX),
        lambda: str(uuid.UUID(int=rng.getrandbits(128))),
        lambda: "/".join(rng.choices(["src", "api", "v2", "auth", "models", "user_profile.py", "test_login.py"], k=5)),
        lambda: f"{rng.randint(0, 20)}.{rng.randint(0, 40)}.{rng.randint(0, 9)}-rc{rng.randint(1, 9)}",
        lambda: noise(str(rng.random()), 64, HEX),
    ]
    frames = ["commit {} broke the build", "see {} for details", "fixed in {}", "{} was released", "pinned: {}, again"]
    return [rng.choice(frames).format(rng.choice(makers)()) for _ in range(count)]


def test_hashes_uuids_paths_and_versions_in_plain_sentences_stay():
    assert [text for text in neutral_sentences(5000) if redact(text) != (text, ())] == []


# --- properties ---

RNG = random.Random(11)
PIECES = [
    *(prefix + draw(shape, RNG) for _, prefix, shape in PREFIX_ROWS[::7]),
    *(draw(shape, RNG) for _, _, shape, _ in secret_formats.SHAPED),
    *(before + secret + after for _, before, secret, after in PHRASES),
    *("[redacted:password]", "[redacted:", "]", "token=", "api_key: ", '"', "'", " ", "\n", "=", ":", "://", "@", "-"),
    *(
        "password is ",
        "curl -u ",
        "kind: Secret\ndata:\n  a: ",
        "Authorization: ",
        "eyJ",
        ".",
        "\\n",
        "é",
        "\ud800",
        "\0",
    ),
    *(ARMOUR[0], ARMOUR[1]),
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=8).map("".join))
@example("kind: Secret\ndata:\n  a: b\n")
@example(f"token={noise('x', 20)}token={noise('y', 20)}")
def test_a_clean_text_is_not_changed_again(text):
    once, _ = redact(text)
    assert redact(once) == (once, ())


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=300))
def test_any_string_is_taken(text):
    clean, fired = redact(text)
    assert isinstance(clean, str)
    assert set(fired) <= rule_names()


def test_a_mark_that_names_no_rule_hides_nothing():
    token = draw("sk-<a32>", random.Random(5))
    assert redact(f"it said [redacted:{token}]") == ("it said [redacted:[redacted:sk-key]]", ("sk-key",))


# --- long hostile texts; `bench/proportion.py` measures the time ---


FOUND_IN_HOSTILE = {
    "token=a1b2c3d4e5": "generic-secret",
    ARMOUR[0] + "\nabcdefghijklmnopqrst\n": "private-key",
    "kind: Secret\ndata:\n  a: b\n": "kubernetes-secret",
    "curl -u a:": "curl-user",
    "bearer a1b2c3d4e5f6g7h8 ": "bearer-token",
    "glpat-": "gitlab-token",
    "xoxb-1234567890-": "slack-token",
    "host: a.jfrog.io ": "tenant-address",
}


@pytest.mark.parametrize("unit", SCANNERS["secrets"].pieces)
def test_only_secrets_are_hidden_in_a_long_hostile_text(unit):
    text = SCANNERS["secrets"].text(unit, 400_000)
    clean, fired = redact(text)
    assert fired == ((FOUND_IN_HOSTILE[unit],) if unit in FOUND_IN_HOSTILE else ())
    assert clean == (text if not fired else redact(clean)[0])


def test_a_prefix_that_is_repeated_is_read_in_proportion():
    for _, prefix, _ in PREFIX_ROWS:
        unit = prefix + "aB3-_x9."
        small, large = (unit * (size // len(unit)) for size in (2_000, 8_000))
        redact(small)
        assert calls(lambda text=large: redact(text)) < 6 * calls(lambda text=small: redact(text)) + 100, prefix
        redact(unit * (50_000 // len(unit)))


def test_every_token_in_a_megabyte_is_hidden():
    text = " ".join(draw("ghp_<w36>", random.Random(n)) for n in range(500)) * 50
    clean, fired = redact(text)
    assert fired == ("github-token",)
    assert "ghp_" not in clean


IMPORT = """
import json, re, sys
before = set(sys.modules)
compiled = []
re.compile = re._compile = lambda *given: compiled.append(given)
import swarmlore.domain.security.redaction
print(json.dumps([compiled, sorted(m for m in set(sys.modules) - before if m.startswith("swarmlore.domain."))]))
"""


def test_importing_it_compiles_no_expression_and_loads_only_its_own_tables():
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
    compiled, loaded = json.loads(done.stdout)
    assert compiled == []
    assert {name.removeprefix("swarmlore.domain.") for name in loaded} == {
        *("security", "security.redaction", "security.secret_formats", "security.secret_values")
    }


def test_a_clean_lesson_costs_a_few_calls():
    lesson = (
        "Lock with `uv lock --python 3.9`: the floor is 3.9 for the old fleet. Locking on 3.12 drops the markers of "
    )
    lesson += "two backports and installs break there, so the job pins the interpreter before it resolves."
    redact(lesson)
    assert calls(lambda: redact(lesson)) < 100  # one for each expression that its words call for, none for a rule


# --- values ---


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (noise("v1", 20), True),
        (noise("v2", 32, HEX), True),
        (noise("v3", 26, string.ascii_uppercase + "234567"), True),
        ("getAccessTokenFromVault", False),
        ("build-system.requires", False),
        ("abcdef1234567890", False),
        ("2024-01-15T10:30:00Z", False),
        ("SalesResults-1.2", False),
        ("1234567890123456", False),
        ("aaaaaaaa11111111bbbbbbbb", False),
    ],
)
def test_a_value_is_random_when_its_kinds_of_characters_change_often(value, expected):
    assert secret_values.is_random(value) is expected


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("password=Tr0ub4dor&3xyzzy", "password=[redacted:password]"),
        ("login with password=Tr0ub4dor&3xyzzy&More9 now", "login with password=[redacted:password] now"),
        ("https://h/x?password=Tr0ub4dor3&user=bob", "https://h/x?password=[redacted:password]&user=bob"),
        ("password=Tr0ub4dor3&amp;user=bob", "password=[redacted:password]&amp;user=bob"),
        ("PASSWORD=Tr0ub4dor3&& make", "PASSWORD=[redacted:password]&& make"),
        ("PASSWORD=Tr0ub4dor3 & make", "PASSWORD=[redacted:password] & make"),
    ],
)
def test_an_ampersand_is_part_of_a_password_unless_something_else_begins_there(text, kept):
    assert redact(text)[0] == kept


# --- figures on public sets ---


def test_lessons_of_real_projects_stay():
    texts = [json.loads(line)["text"] for line in (DATA / "lessons.jsonl").read_text("utf-8").splitlines()]
    assert sum(redact(text)[0] != text for text in texts) <= len(texts) / 100
