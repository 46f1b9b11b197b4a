"""Settings: defaults < home's config.toml < the project's .swarmlore.toml < environment < flags.

A project's file comes with the repository and is not trusted: it may set limits, profile and switches, never commands,
addresses, paths or providers. Every value keeps its origin.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from swarmlore.domain.records import MODES, PROFILES
from swarmlore.errors import ConfigError
from swarmlore.frozen import TYPE_CHECKING, field, fields, frozen

if TYPE_CHECKING:
    from typing import Any

USER_FILE = "config.toml"
MAX_BYTES = 1_000_000
PROJECT_FILE = ".swarmlore.toml"
# Common settings of a project's file can be written without a section.
SHORT = {"profile": "recall.profile", "enabled": "knowledge.enabled", "hive": "life.hive", "store": "store.url"}


def _setting(default: Any, help: str, **facts: Any) -> Any:
    """Declare a setting with its help and facts.

    Facts: low, high, choices, project (a project's file may set it), env (another name), secret (may hold a password).
    """
    metadata = {"help": help, **facts}
    if isinstance(default, tuple):
        return field(default_factory=lambda: default, metadata=metadata)
    return field(default=default, metadata=metadata)


@frozen
class StoreSettings:
    url: str = _setting("", "postgresql://… of a team's store; empty: a file in the home folder", secret=True)
    lock_timeout_s: float = _setting(30.0, "seconds to wait for other writers", low=0.1, high=3600.0)


@frozen
class RecallSettings:
    profile: str = _setting("default", "rules that rank the hits", choices=PROFILES, project=True)
    mode: str = _setting("hybrid", "which engines look: words, vectors, the graph, or all", choices=MODES, project=True)
    limit: int = _setting(5, "hits when nothing else is asked", low=1, high=1000, project=True)
    recency_half_life_days: float = _setting(
        14.0, "profile swarm: days until a memory counts half", low=0.01, high=36500.0, project=True,
        env="MEMORY_RECENCY_HALF_LIFE_DAYS",
    )  # fmt: skip
    access_boost_max: float = _setting(
        1.5, "profile swarm: most that frequent access can add", low=1.0, high=100.0, project=True,
        env="MEMORY_ACCESS_BOOST_MAX",
    )  # fmt: skip
    access_recency_hours: float = _setting(
        48.0, "profile swarm: hours in which an access counts in full", low=0.0, high=876000.0, project=True,
        env="MEMORY_ACCESS_RECENCY_HOURS",
    )  # fmt: skip
    candidate_multiplier: int = _setting(
        3, "candidates fetched per asked hit", low=1, high=100, project=True, env="MEMORY_CANDIDATE_MULTIPLIER"
    )
    exact_rows: int = _setting(50_000, "vectors searched exactly up to this many", low=0, high=10_000_000)
    approximate: bool = _setting(True, "false: all vectors are searched exactly, however many there are")
    bar: float = _setting(0.0, "raise or lower the bar of relevance for injection", low=-10.0, high=10.0, project=True)


@frozen
class InjectSettings:
    max_count: int = _setting(5, "memories in one block", low=0, high=50, project=True)
    char_budget: int = _setting(2000, "characters of one block's lines", low=200, high=9000, project=True)


@frozen
class KnowledgeSettings:
    enabled: bool = _setting(True, "false: no capture and no injection; reading works", project=True)
    swarm_max_entries: int = _setting(100, "profile knowledge: cap per project", low=1, high=1_000_000, project=True)
    hive_max_entries: int = _setting(200, "profile knowledge: cap of the hive", low=1, high=1_000_000, project=True)
    auto_promote_days: int = _setting(90, "age at which a lesson may be promoted", low=1, high=36500, project=True)
    max_inject_count: int = _setting(5, "profile knowledge: lessons per injection", low=0, high=50, project=True)
    inject_char_budget: int = _setting(2000, "profile knowledge: size of a block", low=200, high=10000, project=True)
    max_lesson_display_chars: int = _setting(120, "profile knowledge: shown per lesson", low=40, high=280, project=True)
    dedup_threshold: float = _setting(0.6, "word-pair overlap that makes a near-duplicate", low=0.0, high=1.0,
                                      project=True)  # fmt: skip
    scope_filter: tuple[str, ...] = _setting(("global",), "scopes that recall and injection look at", project=True)
    hive_enabled: bool = _setting(True, "false: the hive is neither read nor written", project=True)
    validation_enabled: bool = _setting(True, "false: structure, safety and meaning are not checked")
    evergreen_confidence: float = _setting(0.9, "confidence of an evergreen lesson", low=0.0, high=1.0, project=True)
    evergreen_utility: float = _setting(0.8, "utility of an evergreen lesson", low=0.0, high=1.0, project=True)
    low_utility_threshold: float = _setting(0.3, "utility at or below which a lesson is flagged", low=0.0, high=1.0,
                                            project=True)  # fmt: skip
    min_retrievals_for_utility: int = _setting(3, "showings before utility counts", low=1, high=1000, project=True)
    default_max_phases: int = _setting(10, "phases a lesson lives unconfirmed", low=1, high=10000, project=True)
    todo_max_phases: int = _setting(3, "phases a todo lives", low=1, high=10000, project=True)
    same_project_weight: float = _setting(1.0, "weight of an encounter in its own project", low=0.0, high=10.0,
                                          project=True)  # fmt: skip
    cross_project_weight: float = _setting(0.5, "weight of an encounter elsewhere", low=0.0, high=10.0, project=True)
    rejected_max_entries: int = _setting(20, "rejections kept", low=0, high=10000, project=True)
    min_encounter_score: float = _setting(0.1, "lowest encounter score", low=0.0, high=10.0, project=True)
    initial_encounter_score: float = _setting(1.0, "encounter score of a new hive lesson", low=0.0, high=10.0,
                                              project=True)  # fmt: skip
    encounter_increment: float = _setting(0.1, "what one encounter adds", low=0.0, high=10.0, project=True)
    max_encounter_score: float = _setting(10.0, "highest encounter score", low=0.0, high=1000.0, project=True)
    sweep_enabled: bool = _setting(True, "profile knowledge: sweep when a phase completes", project=True)
    context_budget_threshold: int = _setting(300, "characters of context below which nothing is injected", low=0,
                                             high=100_000, project=True)  # fmt: skip


@frozen
class LifeSettings:
    task_completion_days: float = _setting(7.0, "life of task results", low=0.0, high=36500.0, project=True)
    session_summary_days: float = _setting(3.0, "life of session summaries", low=0.0, high=36500.0, project=True)
    transcript_days: float = _setting(3.0, "life of transcript turns", low=0.0, high=36500.0, project=True)
    file_index_days: float = _setting(30.0, "life of indexed files", low=0.0, high=36500.0, project=True)
    hive: str = _setting("propose", "promotion to the hive", choices=("never", "propose", "auto"), project=True)


@frozen
class ReportSettings:
    max_stale: float = _setting(0.25, "share of lessons whose cited code has changed", low=0.0, high=1.0, project=True)
    max_duplicates: float = _setting(0.1, "share of lessons that repeat another", low=0.0, high=1.0, project=True)
    max_harmful: float = _setting(0.1, "share of lessons that did more harm than good", low=0.0, high=1.0, project=True)
    max_unused: float = _setting(0.75, "share of lessons that were never shown", low=0.0, high=1.0, project=True)
    max_junk: float = _setting(0.8, "share of lessons with any of these", low=0.0, high=1.0, project=True)
    min_given: float = _setting(0.01, "share of moments at which something was given", low=0.0, high=1.0, project=True)
    unused_after_days: float = _setting(60.0, "days before a lesson that was never shown counts", low=0.0,
                                        high=36500.0, project=True)  # fmt: skip
    min_lessons: int = _setting(20, "fewer lessons are not judged", low=0, high=1_000_000, project=True)


@frozen
class InstinctSettings:
    start: float = _setting(0.5, "confidence of a new instinct", low=0.0, high=1.0, project=True)
    reinforced: float = _setting(0.1, "what a confirmation adds", low=0.0, high=1.0, project=True)
    highest: float = _setting(0.9, "most that confirmations can reach", low=0.0, high=1.0, project=True)
    contradicted: float = _setting(0.2, "what a contradiction takes", low=0.0, high=1.0, project=True)
    stale_days: int = _setting(30, "days without a confirmation that cost some", low=1, high=36500, project=True)
    stale: float = _setting(0.1, "what so many days cost", low=0.0, high=1.0, project=True)
    prune_below: float = _setting(0.3, "confidence below which one is pruned", low=0.0, high=1.0, project=True)
    prune_days: int = _setting(90, "prune --stale: days without a confirmation", low=1, high=36500, project=True)
    promote_from: float = _setting(0.8, "confidence from which a universal one may become a note", low=0.0, high=1.0,
                                   project=True)  # fmt: skip


@frozen
class NotesSettings:
    telemetry: bool = _setting(False, "write each search of notes to metrics.jsonl beside them")
    ask_writer: bool = _setting(True, "let the language model, if there is one, read notes for the graph")


@frozen
class ReflectSettings:
    auto: bool = _setting(False, "look back at each session that ends or is cut, and propose what to learn from it")


@frozen
class EmbedderSettings:
    kind: str = _setting("minilm", "minilm, openai, wordllama, fastembed or none")
    model: str = _setting("", "model name, where the kind has several")
    base_url: str = _setting("", "address of an OpenAI-compatible server")
    api_key_env: str = _setting("", "NAME of the environment variable that holds the key")
    dimension: int = _setting(0, "vector size, where the server can choose; 0: its default", low=0, high=65536)
    timeout_s: float = _setting(30.0, "seconds to wait for a server", low=0.1, high=600.0)
    batch: int = _setting(0, "texts per call; 0: the kind's default", low=0, high=4096)
    threads: int = _setting(1, "threads of the built-in model", low=1, high=64)


@frozen
class WriterSettings:
    kind: str = _setting("none", "language model for lessons, summaries and duplicates: openai, anthropic or none")
    model: str = _setting("", "model name")
    base_url: str = _setting("", "address of the server")
    api_key_env: str = _setting("", "NAME of the environment variable that holds the key")
    timeout_s: float = _setting(20.0, "seconds to wait for an answer", low=0.1, high=600.0)
    calls_per_day: int = _setting(200, "questions to it a day, over all processes; 0: none", low=0, high=10_000_000)
    tokens_per_day: int = _setting(500_000, "tokens a day, estimated; then rules alone decide", low=0,
                                   high=10_000_000_000)  # fmt: skip


@frozen
class WorkerSettings:
    lease_s: float = _setting(30.0, "seconds a job belongs to who took it; renewed meanwhile", low=0.2, high=3600.0)
    job_s: float = _setting(300.0, "seconds after which a job is given up for this time", low=0.1, high=86400.0)
    memory_mb: int = _setting(1024, "megabytes that a job may take", low=64, high=1_000_000)
    attempts: int = _setting(5, "times a job is tried before it is put aside", low=1, high=100)
    backoff_s: float = _setting(2.0, "pause after the first failure; doubled after each", low=0.0, high=600.0)
    poll_s: float = _setting(5.0, "seconds between two looks, if nobody wakes the worker", low=0.05, high=5.0)
    queue_limit: int = _setting(10_000, "jobs from which on hooks only spool", low=1, high=10_000_000)
    mail_days: float = _setting(
        90.0, "days that mail is kept once it was read; unread, four times that", low=1.0, high=36500.0
    )


@frozen
class ResearchSettings:
    web_command: str = _setting("", "command that searches the web; {question} stands for the question")
    web_timeout_s: float = _setting(30.0, "seconds that it may take", low=0.5, high=600.0)


@frozen
class Value:
    """One setting as `swarmlore config` shows it."""

    name: str
    value: Any
    origin: str
    help: str


@frozen
class Settings:
    """All settings by section, with their origins and the warnings from reading them."""

    store: StoreSettings = field(default_factory=StoreSettings)
    recall: RecallSettings = field(default_factory=RecallSettings)
    inject: InjectSettings = field(default_factory=InjectSettings)
    knowledge: KnowledgeSettings = field(default_factory=KnowledgeSettings)
    life: LifeSettings = field(default_factory=LifeSettings)
    report: ReportSettings = field(default_factory=ReportSettings)
    instincts: InstinctSettings = field(default_factory=InstinctSettings)
    notes: NotesSettings = field(default_factory=NotesSettings)
    reflect: ReflectSettings = field(default_factory=ReflectSettings)
    embedder: EmbedderSettings = field(default_factory=EmbedderSettings)
    writer: WriterSettings = field(default_factory=WriterSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    research: ResearchSettings = field(default_factory=ResearchSettings)
    origins: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def values(self) -> list[Value]:
        """Return every setting with its value and origin."""
        return [
            Value(name, _shown(self, section, spec), self.origins.get(name, "default"), spec.metadata["help"])
            for name, (section, spec) in _specs().items()
        ]


def _shown(settings: Settings, section: str, spec: Any) -> Any:
    """Return the value of a setting for display, without a password."""
    value = getattr(getattr(settings, section), spec.name)
    if not spec.metadata.get("secret"):
        return value
    from swarmlore.domain.language.display import without_password

    return without_password(value)


_SECTIONS: dict[str, Any] = {
    spec.name: spec.default_factory for spec in fields(Settings)[:-2]
}  # the last two are facts


def _specs() -> dict[str, tuple[str, Any]]:
    """Return section and field of every setting, by its dotted name."""
    return {f"{name}.{spec.name}": (name, spec) for name, kind in _SECTIONS.items() for spec in fields(kind)}


def home_dir(env: Mapping[str, str]) -> str:
    """Return the home folder: SWARMLORE_HOME, else the user data directory of the platform."""
    if chosen := env.get("SWARMLORE_HOME"):
        return os.path.abspath(os.path.expanduser(chosen))
    if sys.platform == "win32":
        base = env.get("LOCALAPPDATA") or os.path.join(_user_dir(), "AppData", "Local")
        return os.path.join(base, "swarmlore", "Data")
    if sys.platform == "darwin":
        return os.path.join(_user_dir(), "Library", "Application Support", "swarmlore")
    if chosen := env.get("XDG_DATA_HOME"):
        return os.path.join(chosen, "swarmlore")
    return os.path.join(_user_dir(), ".local", "share", "swarmlore")


def _user_dir() -> str:
    folder = os.path.expanduser("~")
    if not os.path.isdir(folder):
        raise ConfigError(f"the home folder {folder} is not there", "set HOME, or SWARMLORE_HOME to a folder of yours")
    return folder


def file_stamps(home: str, project_root: str) -> tuple[tuple[int, int], ...]:
    """Return time and size of both settings files; a process that keeps a store open reloads if they change."""
    return _stamp(os.path.join(home, USER_FILE)), _stamp(os.path.join(project_root, PROJECT_FILE))


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return 0, 0
    return found.st_mtime_ns, found.st_size


def load(home: str, project_root: str, env: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Settings:
    """Load all settings with their origins; raises ConfigError naming the file, the key and what is allowed."""
    found: dict[str, tuple[Any, str]] = {}
    warnings: list[str] = []
    _take_file(os.path.join(home, USER_FILE), found, warnings, trusted=True)
    if project_root:
        _take_file(os.path.join(project_root, PROJECT_FILE), found, warnings, trusted=False)
    _take_env(env, found)
    for name, value in (flags or {}).items():
        found[name] = (_checked(name, value, "flag"), "flag")
    return _build(found, warnings)


def uses_server(home: str, env: Mapping[str, str]) -> bool:
    """Return whether a home's store is on a database server; False if its file cannot be read."""
    try:
        return bool(load(home, "", env).store.url)
    except ConfigError:
        return False


def _build(found: Mapping[str, tuple[Any, str]], warnings: list[str]) -> Settings:
    chosen: dict[str, dict[str, Any]] = {name: {} for name in _SECTIONS}
    for name, (value, _) in found.items():
        section, _, key = name.partition(".")
        chosen[section][key] = value
    sections = {name: kind(**chosen[name]) for name, kind in _SECTIONS.items()}
    return Settings(**sections, origins={name: origin for name, (_, origin) in found.items()}, warnings=tuple(warnings))


def _take_file(path: str, found: dict[str, tuple[Any, str]], warnings: list[str], *, trusted: bool) -> None:
    for name, value in read_file(path).items():
        spec = _specs().get(name)
        if spec is None:
            warnings.append(f"{path}: unknown setting {name}")
        elif not trusted and not spec[1].metadata.get("project"):
            warnings.append(f"{path}: {name} cannot be set by a project and was ignored")
        else:
            found[name] = (_checked(name, value, path), path)


def read_file(path: str) -> dict[str, Any]:
    """Read a TOML file as `section.key` → value; {} if it does not exist."""
    if os.path.isdir(path):
        raise ConfigError(f"{path} is a folder", f"remove {path}, or put a file in its place")
    if not os.path.isfile(path):  # opening a pipe or device would block
        return {}
    if os.path.getsize(path) > MAX_BYTES:
        raise ConfigError(f"{path} is larger than {MAX_BYTES} bytes", f"mend or remove {path}")
    import tomllib  # loaded only if a file exists: it doubles the start-up time of a small command

    try:
        with open(path, "rb") as file:
            data = tomllib.load(file)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", f"mend or remove {path}") from error
    return {
        (f"{section}.{key}" if key else SHORT.get(section, section)): value
        for section, table in data.items()
        for key, value in (table.items() if isinstance(table, dict) else (("", table),))
    }


def _take_env(env: Mapping[str, str], found: dict[str, tuple[Any, str]]) -> None:
    for name, (_, spec) in _specs().items():
        own = "SWARMLORE_" + name.replace(".", "_").upper()
        for variable in (spec.metadata.get("env"), own):
            if variable and env.get(variable):
                found[name] = (_checked(name, env[variable], variable), variable)


def parse_value(name: str, text: str) -> Any:
    """Parse the text of a setting to its type; raises ConfigError."""
    return _checked(name, text, "value")


def _checked(name: str, value: Any, origin: str) -> Any:
    """Return a setting's value in its type; raises ConfigError if it is unknown, not a choice or out of range."""
    spec = _specs().get(name)
    if spec is None:
        raise ConfigError(f"unknown setting {name}", "swarmlore config lists all of them")
    facts = spec[1].metadata
    typed = _typed(name, value, str(spec[1].type), origin)
    if "choices" in facts and typed not in facts["choices"]:
        raise ConfigError(f"{origin}: {name} = {typed!r}", "one of: " + ", ".join(facts["choices"]))
    if "low" in facts and not facts["low"] <= typed <= facts["high"]:
        raise ConfigError(f"{origin}: {name} = {typed!r}", f"from {facts['low']} to {facts['high']}")
    return typed


def _typed(name: str, value: Any, kind: str, origin: str) -> Any:
    """Convert a value to its setting's type: text (environment, flags) is parsed; raises ConfigError otherwise."""
    try:
        str(value).encode("utf-8")  # a lone surrogate cannot be written back
        if kind == "bool":
            return _truth(value)
        if kind.startswith("tuple"):
            return tuple(str(item) for item in (value.split(",") if isinstance(value, str) else value))
        if isinstance(value, bool) or (kind == "str" and not isinstance(value, str)):
            raise ValueError(value)
        return _whole(value) if kind == "int" else float(value) if kind == "float" else value
    except (TypeError, ValueError) as error:
        wanted = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "a text"}
        raise ConfigError(f"{origin}: {name} = {value!r}", wanted.get(kind, "a list of texts")) from error


def _whole(value: Any) -> int:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(value)
    return int(value)


def _truth(value: Any) -> bool:
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in words:
        return words[value.strip().lower()]
    raise ValueError(value)


def write_value(home: str, name: str, text: str) -> str:
    """Set one value in the home's config.toml without changing the rest; return the path."""
    name = SHORT.get(name, name)
    value = parse_value(name, text)
    section, _, key = name.partition(".")
    path = os.path.join(home, USER_FILE)
    lines = _lines_of(path)
    _set_line(lines, section, key, f"{key} = {_toml(value)}")
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        _replace_file(path, "\n".join(lines) + "\n")
    except (OSError, ValueError) as error:  # ValueError: an invalid file name
        raise _unwritable(path, error) from error
    return path


def _unwritable(path: str, error: OSError | ValueError) -> ConfigError:
    place, why = path, "the name holds a character that no path can"
    if isinstance(error, OSError):
        place, why = error.filename or path, error.strerror or type(error).__name__
    hint = "check its permissions and the free space, or set SWARMLORE_HOME to a folder that you may write"
    return ConfigError(f"{place} cannot be written: {why}", hint)


def _lines_of(path: str) -> list[str]:
    """Return the lines of a settings file for rewriting; [] if it does not exist."""
    if not os.path.exists(path):
        return []
    read_file(path)  # raises for a broken file, so that it is not overwritten
    if not os.path.isfile(path):  # opening a pipe would block, a device would be replaced
        raise ConfigError(f"{path} is not a file", f"remove {path}, or put a file in its place")
    with open(path, encoding="utf-8") as file:
        return file.read().rstrip("\n").split("\n")  # not splitlines: values may hold other line ends


def _replace_file(path: str, text: str) -> None:
    """Replace a private file atomically."""
    fresh = path + ".new"
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    finally:
        if os.path.isfile(fresh):  # the write failed
            os.unlink(fresh)


def _set_line(lines: list[str], section: str, key: str, line: str) -> None:
    """Replace the line of a key in its section, or insert it."""
    header = f"[{section}]"
    start = next((at for at, text in enumerate(lines) if text.strip() == header), -1)
    if start < 0:
        lines.extend(["", header, line] if lines else [header, line])
        return
    for at in range(start + 1, len(lines)):
        text = lines[at].strip()
        if text.startswith("["):
            break
        if text.partition("=")[0].strip() == key:
            lines[at] = line
            return
    lines.insert(start + 1, line)


def _toml(value: Any) -> str:
    import json  # TOML's basic strings, booleans and lists of strings are written like JSON's

    text = json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")  # the one character that JSON allows unescaped and TOML does not
