"""The safety layer of the gate: what a text must not contain to be kept.

A filter is a layer, not the wall: whatever passes is still shown as fenced data. Refused are commands that destroy
(`commands`), advice that lowers security, and control characters or markup on which a terminal, browser or prompt
template would act. Texts that try to give a model new orders (`override`) are set aside for review.
"""

from __future__ import annotations

import re
from functools import cache

from swarmlore.frozen import frozen
from swarmlore.rules.commands import find_dangerous_command, find_risky_words
from swarmlore.rules.override import find_override
from swarmlore.text.clean import clean, fold

DANGEROUS = "dangerous command pattern detected"
DEGRADING = "security-degrading instruction detected"
INJECTION = "injection pattern detected"
OVERRIDE = "instruction override attempt"

_SEVERITY = ("reject", "quarantine", "warn")


@frozen
class Finding:
    """One thing that is wrong with a text: what to do about it, why, and the rule that said so."""

    action: str
    reason: str
    rule: str


# What must be in the text, the pattern, the name of the rule. "JavaScript: prefer const" is a label; `javascript:`
# right before code, or named as a kind of link, is not.
_INJECTIONS = (
    ("system", r"\A[\s#*\[<(|_-]{0,8}system\s{0,9}[\]>)|*_]{0,4}\s{0,9}:", "role marker"),
    ("<script", r"<script", "script tag"),
    ("javascript:", r"javascript:(?:\S|\s{0,9}(?:[\w.]{1,40}\s?[(=]|ur[il]|link|href|scheme|protocol))", "script link"),
    ("__proto__", r"__proto__", "prototype trick"),
    ("constructor", r"\bconstructor\s{0,3}\[", "prototype trick"),
    (".prototype", r"\.prototype\s{0,3}\[", "prototype trick"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

# A verb, then within fifty characters of the same sentence (after "no": of the same clause) its object.
_GAP = r"(?:[^.!?\n]|\.(?=\S)){0,50}?"
_CLAUSE = r"(?:[^.!?\n,;:()]|\.(?=\S)){0,50}?"
_OFF = r"\b(?:disabl(?:es?|ing)|deactivat(?:es?|ing)|(?:turn|switch)(?:e?s|ing)?\s{1,3}off)\b"
_SKIP = r"\b(?:skip(?:s|ping)?|bypass(?:es|ing)?)\b"
_AUTH = r"o?auth2?|authn|authz|authenticat(?:ion|e|ing)|authori[sz]ation|[2m]fa"
_DEGRADING = (
    (
        ("firewall", "tls", "ssl", "2fa", "mfa", "factor", "security"),
        rf"{_OFF}{_GAP}\b(?:firewalls?|m?tls|ssl|[2m]fa|(?:two|multi)[- ]?factor|security)\b",
        "protection turned off",
    ),
    (("auth", "2fa", "mfa"), rf"{_SKIP}{_GAP}\b(?:{_AUTH})\b", "authentication skipped"),
    (("cert",), rf"(?:\bignor(?:es?|ing)\b|{_SKIP}){_GAP}\bcert(?:ificate)?s?\b", "certificate ignored"),
    (("validation",), rf"\bno\b{_CLAUSE}\bvalidation\b", "no validation"),
    (("password",), rf"\bremov(?:es?|ing)\b{_GAP}\bpasswords?\b", "password removed"),
)
# "Never disable TLS" does not lower security: a phrase directly governed by a negation passes. "Never forget to
# disable TLS" does lower it, so a word that turns the negation round may not stand between.
_NEGATED = (
    r"(?:\bnever|n't|\b(?:do|does|must|should|shall|may|can|will|to|is|are) ?not|\bdont|\bavoid|\bwithout|\binstead of"
    r"|\brather than|\b(?:nobody|no one) (?:may|should|can)|\bforbid\w{0,5}|\bprohibit\w{0,5}|\bprevent\w{0,3}"
    r"|\brefus\w{1,3})\s{1,3}"
    r"(?:(?!forget|hesitat|fail|neglect|omit|afraid|shy|worry|mind|only|just\b)[\w-]{1,15}\s{1,3}){0,2}\Z"
)
_NEGATION_WITHIN = 60

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]+"
)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def inspect_safety(text: str) -> tuple[Finding, ...]:
    """What is unsafe about a cleaned text, most severe first; empty when nothing is."""
    findings = [Finding("reject", INJECTION, rule) for rule in _find_injections(text)]
    for folded in _views(text):
        findings += _judge(folded)
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: _SEVERITY.index(finding.action)))


def _views(text: str) -> list[str]:
    """The folded text; where invisible characters are left, once without them and once with spaces instead."""
    if text.isascii() or not _INVISIBLE.search(text):
        return [fold(text)]
    return [fold(clean(text)[0]), fold(_INVISIBLE.sub(" ", text))]


def _judge(folded: str) -> list[Finding]:
    findings = []
    if command := find_dangerous_command(folded):
        findings.append(Finding("reject", DANGEROUS, command))
    if advice := _find_degrading_advice(folded):
        findings.append(Finding("reject", DEGRADING, advice))
    if override := find_override(folded):
        findings.append(Finding("quarantine", OVERRIDE, override))
    return findings + [Finding("warn", f"may hold a risky command: {rule}", rule) for rule in find_risky_words(folded)]


def _find_injections(text: str) -> list[str]:
    """Names of what is found in the text as it came, before any normalisation but lower case."""
    low = text.lower()
    found = [rule for needle, pattern, rule in _INJECTIONS if needle in low and _compiled(pattern).search(low)]
    if not text.isprintable() and _CONTROL.search(text):
        found.insert(0, "control character")
    return found


def _find_degrading_advice(folded: str) -> str:
    for objects, pattern, rule in _DEGRADING:
        if any(thing in folded for thing in objects) and _advises(_compiled(pattern), folded):
            return rule
    return ""


def _advises(pattern: re.Pattern[str], folded: str) -> bool:
    """Whether the phrase occurs at least once without a negation that governs it."""
    found = pattern.search(folded)
    while found:
        before = folded[max(0, found.start() - _NEGATION_WITHIN) : found.start()]
        if not _compiled(_NEGATED).search(before):
            return True
        found = pattern.search(folded, found.start() + 1)  # "never disable logs, disable TLS": the second counts
    return False
