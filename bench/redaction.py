"""How many secrets survive redaction, at every length and in every context, and how much harmless text is touched.

    python bench/redaction.py                       # both figures; exit code 1 where a threshold is missed
    python bench/redaction.py --misses 20           # with examples of what was missed and what was touched
    python bench/redaction.py --more FOLDER … --half odd   # look-alikes of these repositories too, every second one

Secrets: every rule of the tables, its values drawn with 4 characters less to 8 more, in every context. One is redacted
if no 8 of its characters in a row are left. Look-alikes: lines of real files that hold hashes, ids, lock entries,
base64, minified code or certificates, from the packages of this environment, from this project's git objects and from
the folders (or bare repositories) given with --more. Kinds that are not there are named.
"""

from __future__ import annotations

import argparse
import random
import re
import string
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from swarmlore.domain.security import secret_formats
from swarmlore.domain.security.redaction import expand, redact

LENGTHS = range(-4, 9)
LEAST_REDACTED = 0.97
MOST_TOUCHED = 0.03
WINDOW = 8

# --- secrets ---

# A value of a rule as pieces: what is drawn, what it is drawn from ("" for fixed text), and whether it is the secret.
Piece = tuple[str, str, bool]
# Rule, name of the provider, and pieces.
Made = tuple[str, str, list[Piece]]

# A carrier has a name for the value ({n}, {N}, {h}), the words of it ({w}), or only the value ({v}).
NAMED = {
    "env": ("{N}={v}", "export {N}={v}\n", '{N}="{v}"', "{N}='{v}' make deploy"),
    "json": ('{{"{n}": "{v}"}}', '{{"service": {{"retries": 3, "{n}": "{v}"}}, "debug": true}}', '  "{c}": "{v}",'),
    "yaml": ("{n}: {v}\n", 'service:\n  {n}: "{v}"\n  retries: 3\n', "- {h}: '{v}'"),
    "url": (
        "https://api.example.com/v1/items?page=2&{n}={v}&limit=5",
        "https://deploy:{v}@git.example.com/app.git",
        "GET https://api.example.com/v1?{c}={v} HTTP/1.1",
    ),
    "header": ("X-{H}: {v}", "Authorization: Bearer {v}", "curl -H 'X-{H}: {v}' https://api.example.com"),
    "prose": (
        "Deploy uses the {w} {v} in the CI config file.",
        "The {w} is {v}, ask the platform team before it is changed.",
        "Use `{v}` as the {w} of the staging job.",
        'The job failed because the {w} "{v}" was wrong.',
        "The {w} (currently {v}) must be rotated.",
        "The {w} changed to {v} on Monday.",
        "The {w} we use for the tests is {v}",
        "I rotated the {w}, new value: {v}",
        "**{w}**: `{v}`",
        "- {w} → {v}",
        "use {v} as {w}",
        "{N} must be {v} there.",
        "Das {w} für Staging lautet {v}.",
    ),
    "code": (
        'client = Client({n}="{v}", timeout=3)',
        "tool deploy --{h} {v} --dry-run",
        "tool --{h}={v}",
        '{n}: str = "{v}"',
        'const {c} = Buffer.from("{v}");',
    ),
}
BARE = {
    "env": ("VALUE={v}", 'THING="{v}"'),
    "json": ('{{"value": "{v}"}}', '["one", "{v}"]'),
    "yaml": ("thing: {v}\n", "- {v}\n"),
    "url": ("https://api.example.com/v1?v={v}&limit=5", "https://{v}@git.example.com/app.git"),
    "header": ("X-Thing: {v}", "curl -H 'X-Thing: {v}' https://api.example.com"),
    "prose": (
        "Deploy uses {v} in the CI config file.",
        "It works with `{v}` only.",
        'The job failed with "{v}" in the log.',
        "Rotate {v}.",
    ),
    "code": ('connect("{v}")', "tool deploy {v} --dry-run"),
}

# (rule, before, shape of the secret, after) for rules that are a phrase around a secret.
PHRASES = (
    ("url-password", "postgres://app:", "<w20>", "@db.internal:5432/app"),
    ("authorization", "Authorization: Token ", "<w30>", "\n"),
    ("authorization", "Authorization: Basic ", "<b24>", "\n"),
    ("bearer-token", "send Bearer ", "<u32>", " with it"),
    ("curl-user", "curl -sS -u elastic:", "<w16>", " https://localhost:9200"),
    ("netrc", "machine git.internal login bot password ", "<w16>", "\n"),
    ("pgpass", "db.internal:5432:app:app_user:", "<w16>", "\n"),
    ("command-password", "sshpass -p ", "<w14>", " ssh host"),
    ("command-password", "docker login -u bot -p ", "<w20>", " registry.internal"),
    ("command-password", "mysqldump -u root -p", "<w14>", " app"),
    ("command-password", "redis-cli -h cache -a ", "<w14>", " ping"),
    ("command-password", "openssl rsa -passin pass:", "<w14>", " -in k"),
    ("spoken-password", "the password is ", "<w14>", " for now"),
    ("spoken-secret", "the staging api key is ", "<w32>", ", ask ops"),
    ("flag-secret", "deploy --api-token ", "<w32>", " --dry-run"),
    ("flag-password", "restore --db-password ", "<w16>", " --all"),
    ("command-password", "twine upload -u bot -p ", "<w14>", " dist/*"),
    ("command-password", "echo ", "<w14>", " | docker login -u bot --password-stdin"),
    ("generic-secret", "gh secret set DEPLOY --body ", "<w32>", ""),
    ("secret-token-uri", "use secret-token:", "<w24>", " here"),
    ("cookie", "Cookie: session=", "<w40>", "; theme=dark"),
    ("contribsys", "BUNDLE_GEMS__CONTRIBSYS__COM: ", "<h8>:<h8>", "\n"),
    ("jwk-private-part", '{"kty":"EC","d":"', "<u43>", '"}'),
    ("kubernetes-secret", "kind: Secret\ndata:\n  user: ", "<b16>", "\ntype: Opaque"),
    ("account-id", "CANVA_CLIENT_ID=", "OC-<u12>", "\n"),
    ("account-id", "LARK_APP_ID=", "cli_<w16>", "\n"),
    ("account-id", "TWILIO_ACCOUNT_SID=", "AC<h32>", "\n"),
    ("account-id", "PLIVO_AUTH_ID=", "MA<A18>", "\n"),
    ("account-id", "RAMP_CLIENT_ID=", "ramp_id_<w40>", "\n"),
    ("account-id", "AIK_CLIENT_ID=", "AIK_CLIENT_<w40>", "\n"),
    ("account-id", "PAYPAL_CLIENT_ID=", "A<u79>", "\n"),
    ("account-id", "SPOTIFY_CLIENT_ID=", "<h32>", "\n"),
    ("private-key", "-----BEGIN " + "RSA PRIVATE KEY-----\n", "<b64>\n<b64>\n<b44>==", "\nend"),
)
ALNUM = string.ascii_letters + string.digits
# What secrets are made of that no provider describes: under a name that says secret, or password.
ALPHABETS = {
    "hex": "0123456789abcdef",
    "letters and digits": ALNUM,
    "letters": string.ascii_letters,
    "small letters": string.ascii_lowercase,
    "base64": ALNUM + "+/",
    "base32": string.ascii_uppercase + "234567",
    "symbols": ALNUM + "!@#$%^*-_+.",
}
SECRET_NAMES = ("api_key", "auth_token", "client_secret", "secret_key", "access_token", "private_key", "credential")
PASSWORD_NAMES = ("password", "db_password", "passwd", "admin_passphrase")
ENDINGS = ("key", "token", "secret", "password", "credential", "credentials", "pat")


def pieces_of(shape: str, rng: random.Random) -> list[Piece]:
    """Draw what an expression of the tables matches, part by part."""
    parsed = re._parser.parse(expand(shape), re.ASCII)  # type: ignore[attr-defined]
    made = list(_draw(parsed, rng, False))
    return made if any(secret for *_, secret in made) else [(text, alphabet, True) for text, alphabet, _ in made]


def _draw(parsed: Iterable[tuple[object, object]], rng: random.Random, secret: bool) -> Iterator[Piece]:
    for kind, value in parsed:
        yield from _draw_node(str(kind), value, rng, secret)


def _draw_node(kind: str, value: object, rng: random.Random, secret: bool) -> Iterator[Piece]:
    if kind == "LITERAL":
        yield chr(value), "", secret  # type: ignore[arg-type]
    elif kind == "IN":
        yield rng.choice(_chars(value)), _chars(value), secret
    elif kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, inner = value  # type: ignore[misc]
        least = max(least, 24) if most > 1_000_000 else least  # an open run
        drawn = [piece for _ in range(rng.randint(least, min(most, least + 8))) for piece in _draw(inner, rng, secret)]
        if len(list(inner)) == 1 and drawn and drawn[0][1]:
            yield "".join(text for text, *_ in drawn), drawn[0][1], secret
        else:
            yield from drawn
    elif kind == "SUBPATTERN":
        yield from _draw(value[-1], rng, secret or value[0] is not None)  # type: ignore[index]
    elif kind == "BRANCH":
        yield from _draw(rng.choice(value[1]), rng, secret)  # type: ignore[index]
    elif kind not in ("ASSERT", "ASSERT_NOT"):
        raise ValueError(f"the tables use {kind}, which this bench cannot draw")


def _chars(members: object) -> str:
    chars = ""
    for kind, value in members:  # type: ignore[attr-defined]
        if str(kind) == "LITERAL":
            chars += chr(value)
        elif str(kind) == "RANGE":
            chars += "".join(map(chr, range(value[0], value[1] + 1)))
        else:
            chars += {"CATEGORY_WORD": ALNUM + "_", "CATEGORY_DIGIT": string.digits}[str(value)]
    return chars


def at_length(pieces: list[Piece], change: int, rng: random.Random) -> tuple[str, list[str]]:
    """A value whose longest drawn run has that many characters more or less, and its secret parts."""
    places = [at for at, (_, alphabet, secret) in enumerate(pieces) if alphabet and secret]
    at = max(places, key=lambda place: len(pieces[place][0]))
    text, alphabet, _ = pieces[at]
    text = text[:change] if change < 0 else text + "".join(rng.choices(alphabet, k=change))
    changed = [*pieces[:at], (text, alphabet, True), *pieces[at + 1 :]]
    parts = "".join(text if alphabet and secret else "\n" for text, alphabet, secret in changed)
    return "".join(text for text, *_ in changed), [part for part in parts.split("\n") if len(part) >= WINDOW]


def made_by_rule(rng: random.Random) -> Iterator[Made]:
    """One value of every rule that is a prefix, a shape or a shape under a provider's name, with the name it has."""
    for rule, prefixes, shape in (*secret_formats.PREFIXED, *secret_formats.LOOSE):
        yield rule, _name_of(rule), [(rng.choice(prefixes.split()), "", False), *_secret(pieces_of(shape, rng))]
    for rule, words, shape in secret_formats.CONTEXT:
        word = rng.choice(words.split()).strip("_-.").replace(".", "_").replace("-", "_").replace(" ", "_")
        yield f"{rule} (name)", f"{word}_{rng.choice(('api_key', 'token', 'secret'))}", pieces_of(shape, rng)
    for alphabet, chars in ALPHABETS.items():
        drawn = "".join(rng.choices(chars, k=28))
        yield f"generic-secret, {alphabet}", rng.choice(SECRET_NAMES), [(drawn, chars, True)]
        yield f"password, {alphabet}", rng.choice(PASSWORD_NAMES), [(drawn[:16], chars, True)]


def _secret(pieces: list[Piece]) -> list[Piece]:
    return [(text, alphabet, True) for text, alphabet, _ in pieces]


def _name_of(rule: str) -> str:
    name = rule.replace("-", "_")
    return name if name.endswith(ENDINGS) else f"{name}_token"


@dataclass(frozen=True)
class Case:
    """A text with a secret in it."""

    rule: str
    context: str
    change: int
    text: str
    parts: tuple[str, ...]

    def leaks(self) -> bool:
        """Whether eight characters in a row of the secret are left."""
        left = redact(self.text)[0]
        return any(part[at : at + WINDOW] in left for part in self.parts for at in range(len(part) - WINDOW + 1))


def cases(seed: int = 1) -> Iterator[Case]:
    """Every rule at every length in every context."""
    rng = random.Random(seed)
    for change in LENGTHS:
        for rule, name, pieces in made_by_rule(rng):
            yield from _in_contexts(rule, name, pieces, change, NAMED, "", rng)
            if "(name)" not in rule and pieces[0][1] == "" and _tells(pieces[0][0]):
                yield from _in_contexts(rule, name, pieces, change, BARE, ", no name", rng)
        for rule, _, shape, _ in secret_formats.SHAPED:
            yield from _in_contexts(rule, rule, pieces_of(shape, rng), change, BARE, ", no name", rng)
        for rule, before, shape, after in PHRASES:
            value, parts = at_length(pieces_of(shape, rng), change, rng)
            yield Case(rule, "phrase", change, before + value + after, tuple(parts))


def _tells(prefix: str) -> bool:
    """Whether a prefix is one that nothing else starts with."""
    return len(prefix) >= 4


def _in_contexts(
    rule: str,
    name: str,
    pieces: list[Piece],
    change: int,
    carriers: dict[str, tuple[str, ...]],
    kind: str,
    rng: random.Random,
) -> Iterator[Case]:
    for context, texts in carriers.items():
        value, parts = at_length(pieces, change, rng)
        yield Case(rule, context + kind, change, carried(rng.choice(texts), name, value), tuple(parts))


def carried(text: str, name: str, value: str) -> str:
    """A carrier with a name in all its spellings and a value."""
    hyphened, camel = name.replace("_", "-"), name[0] + name.title().replace("_", "")[1:]
    words = name.replace("_", " ")
    return text.format(n=name, N=name.upper(), h=hyphened, H=hyphened.title(), w=words, c=camel, v=value)


# --- look-alikes ---

# Kind, ending of the file's name, what a line must hold.
LONG_HEX = r"\b[0-9a-f]{32,}\b"
A_UUID = r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
A_DIGEST = r"sha(?:1|256|512)[:\-=\"' ]{1,4}[0-9a-f]{40}"
LOCKS = r"(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|(?:uv|poetry|Cargo|Pipfile)\.lock|go\.sum)$"
KINDS = (
    ("RECORD hashes", r"dist-info/RECORD$", "sha256="),
    ("lock files", LOCKS, r"[0-9a-zA-Z+/]{30}"),
    ("minified code", r"\.min\.(?:js|css|mjs)$", "."),
    ("source maps", r"\.(?:js|css)\.map$", "."),
    ("certificates", r"\.(?:pem|crt|cer)$", "CERTIFICATE"),
    ("public keys", r"(?:\.pub|authorized_keys|known_hosts)$", "AAAA"),
    ("base64 images", r"\.(?:svg|css|html?|ipynb|md|[jt]s)$", r"data:[a-z/+\-]+;base64,|\"image/(?:png|jpeg)\": \""),
    ("SRI", r"\.(?:html?|md|js|ts|yml|py|toml)$", r"sha(?:256|384|512)-[A-Za-z0-9+/]{40}"),
    ("digests", r"(?:Dockerfile|\.ya?ml|\.json|\.md|\.txt|\.toml|\.go|\.py|\.rs)$", A_DIGEST),
    ("UUIDs", r"\.(?:json|ya?ml|py|js|ts|md|go|rs|ipynb|txt|xml|html?)$", A_UUID),
    ("hashes", r"\.(?:json|ya?ml|py|js|ts|md|go|rs|txt|toml|sh|snap)$", LONG_HEX),
    ("documentation of secrets", r"\.(?:md|rst|txt|html?)$", r"(?i)\b(?:api.?key|token|password|secret)\b"),
    ("code with secret names", r"\.(?:py|js|ts|go|rs|sh)$", r"(?i)(?:api_?key|token|password|secret)\w* ?[=:]"),
)
# Names under which a hash, an id or an image stands; and what such values look like in a line.
PLAIN_NAMES = """
    hash digest checksum integrity sha256 md5 etag uuid id request_id trace_id commit rev revision fingerprint
    public_key cache_key image version build resolved data content blob tree object signature nonce lock resolution
    shasum tag github_sha sentry_release docker_digest npm_integrity aws_request_id azure_correlation_id""".split()
A_VALUE = re.compile(
    rf"{A_UUID}|\bsha(?:256|384|512)[-=:][\w+/=\-]{{40,}}|h1:[\w+/=]{{40,}}|{LONG_HEX}|[A-Za-z0-9+/]{{60,}}={{0,2}}"
)
LONGEST = 4_000
PER_FILE = 30  # look-alikes of one kind in one file, so that no lock file drowns the rest
WHOLE = ("certificates", "public keys")


@dataclass(frozen=True)
class LookAlike:
    kind: str
    where: str
    text: str


def look_alikes(more: Iterable[Path], rng: random.Random) -> Iterator[LookAlike]:
    """What only looks like a secret: lines of files that hold such things."""
    for folder in (*map(Path, sys.path), *more):
        if folder.name == "site-packages" or folder in more:
            for name, read in _files(folder):
                yield from _in_file(name, read, rng)
    yield from _commits()


def _files(folder: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Files of a folder, or of the newest commit of a bare repository: their names, and how each is read."""
    if not (folder / "HEAD").is_file():
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            yield str(path), path.read_bytes
        return
    for name in _git(folder, "ls-tree", "-r", "--name-only", "HEAD").decode().splitlines():
        yield f"{folder.parent.name}/{name}", partial(_git, folder, "show", f"HEAD:{name}")


def _git(folder: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", folder, *words], capture_output=True, check=False).stdout


def _in_file(name: str, read: Callable[[], bytes], rng: random.Random) -> Iterator[LookAlike]:
    kinds = [(kind, holds) for kind, ending, holds in KINDS if re.search(ending, name)]
    if not kinds:
        return
    text = read().decode("utf-8", "replace")
    for kind, holds in kinds:
        chosen = re.compile(holds)
        if kind in WHOLE:
            found = [text[:LONGEST]] if chosen.search(text) and "PRIVATE" not in text else []
        else:
            found = [_around(line, match) for line in text.splitlines() if (match := chosen.search(line))]
        for line in rng.sample(found, min(PER_FILE, len(found))):
            yield LookAlike(kind, name, line)


def _around(line: str, match: re.Match[str]) -> str:
    start = max(0, match.start() - 200)
    return line[start : start + LONGEST].strip()


def under_plain_names(found: Iterable[LookAlike], rng: random.Random) -> Iterator[LookAlike]:
    """The hashes, ids and images in look-alikes, each in a context of its own under a name that says no secret."""
    for one in found:
        for match in list(A_VALUE.finditer(one.text))[:2]:
            context, texts = rng.choice(list(NAMED.items()))
            if "Authorization" not in (text := rng.choice(texts)) and "deploy:" not in text:
                yield LookAlike(f"{one.kind}, as a value", context, carried(text, rng.choice(PLAIN_NAMES), match[0]))


def _commits() -> Iterator[LookAlike]:
    for line in _git(Path(__file__).parent, "log", "-300", "--format=commit %H%ntree %T%n%h %s").decode().splitlines():
        yield LookAlike("git objects", "git log", line)


# --- figures ---


def table(title: str, missed: Counter[str], total: Counter[str]) -> None:
    print(f"\n{title:<34}{'of':>8}{'share':>9}")
    for name in sorted(total):
        print(f"{name:<34}{total[name]:>8}{missed[name] / total[name]:>9.2%}")
    print(f"{'all':<34}{total.total():>8}{missed.total() / max(1, total.total()):>9.2%}")


def measure_secrets(seed: int, examples: int) -> float:
    """Print the share of secrets that leak, by context and by length; return the share that is redacted."""
    total: dict[str, Counter[str]] = defaultdict(Counter)
    leaked: dict[str, Counter[str]] = defaultdict(Counter)
    shown: list[Case] = []
    for case in cases(seed):
        for kind, name in (("context", case.context), ("length", f"{case.change:+}"), ("rule", case.rule)):
            total[kind][name] += 1
        if case.leaks():
            shown.append(case)
            for kind, name in (("context", case.context), ("length", f"{case.change:+}"), ("rule", case.rule)):
                leaked[kind][name] += 1
    table("secrets left, by context", leaked["context"], total["context"])
    table("secrets left, by length", leaked["length"], total["length"])
    worst = sorted(leaked["rule"], key=lambda rule: -leaked["rule"][rule] / total["rule"][rule])[:20]
    some = [Counter({name: counts["rule"][name] for name in worst}) for counts in (leaked, total)]
    table("secrets left, worst rules", some[0], some[1])
    for case in random.Random(seed).sample(shown, min(examples, len(shown))):
        print(f"  left ({case.rule}, {case.change:+}): {case.text[:200]!r}")
    return 1 - leaked["context"].total() / total["context"].total()


def measure_look_alikes(more: list[Path], half: str, examples: int) -> float:
    """Print the share of harmless text that is touched, by kind; return it."""
    found = [
        one for _, one in sorted({(one.kind, one.text): one for one in look_alikes(more, random.Random(1))}.items())
    ]
    judged = {"even": found[::2], "odd": found[1::2], "both": found}[half]
    judged = [*judged, *under_plain_names(judged, random.Random(2))]
    total: Counter[str] = Counter()
    touched: Counter[str] = Counter()
    shown: list[tuple[LookAlike, str]] = []
    for one in judged:
        total[one.kind] += 1
        left, fired = redact(one.text)
        if fired:
            touched[one.kind] += 1
            shown.append((one, left))
    table("look-alikes touched", touched, total)
    missing = [kind for kind, *_ in KINDS if not total[kind]]
    print(f"kinds that are not on this machine: {', '.join(missing) or 'none'}")
    for one, left in random.Random(1).sample(shown, min(examples, len(shown))):
        at = left.find("[redacted:")
        print(f"  touched ({one.kind}, {one.where[-60:]}): {left[max(0, at - 70) : at + 60]!r}")
    return touched.total() / max(1, total.total())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--more", type=Path, nargs="*", default=[], help="folders or bare repositories with look-alikes"
    )
    parser.add_argument("--half", choices=("even", "odd", "both"), default="both", help="which of the look-alikes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--misses", type=int, default=0, metavar="N", help="show N examples of each")
    parser.add_argument("--only", choices=("secrets", "look-alikes"))
    given = parser.parse_args()
    good = True
    if given.only != "look-alikes":
        redacted = measure_secrets(given.seed, given.misses)
        print(f"\nredacted: {redacted:.2%} (at least {LEAST_REDACTED:.0%})")
        good = redacted >= LEAST_REDACTED
    if given.only != "secrets":
        touched = measure_look_alikes(given.more, given.half, given.misses)
        print(f"\nharmless text touched: {touched:.2%} (at most {MOST_TOUCHED:.0%})")
        good = good and touched <= MOST_TOUCHED
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
