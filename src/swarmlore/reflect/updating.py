"""What a draft says that a note does not say yet: only that is proposed as more text for the note. Pure."""

from __future__ import annotations

from swarmlore.domain.extraction.user_words import split_sentences
from swarmlore.domain.language.similarity import normalize
from swarmlore.domain.pages.drafting import NOT_SAID
from swarmlore.domain.pages.rule_conflicts import says_already

_CONTEXT = "context"  # where a lesson comes from is no news by itself


def news_for(body: str, note: str) -> str:
    """The parts of a body that a note lacks, with headings of a level that fits below another; '' where it has all."""
    said, known = normalize(note), note
    parts: list[str] = []
    heading, fresh = "", False
    for block in _blocks(body):
        if block.startswith("#"):
            heading = block
            continue
        title = heading.lstrip("#").strip().lower()
        left = _left(block, said, known)
        if not left:
            continue
        parts += [f"### {heading.lstrip('#').strip()}"] if heading else []
        parts.append(left)
        fresh = fresh or (title != _CONTEXT and not left.endswith(":"))
        heading = ""
    return "\n\n".join(_without_lonely(parts)) if fresh else ""


def _left(block: str, said: str, note: str) -> str:
    """A paragraph without the sentences that are known; code and quotations go or stay whole."""
    bare = block.lstrip("> ")
    if block in NOT_SAID or (words := normalize(bare)) == "" or words in said:
        return ""
    if block.startswith(("```", "~~~", ">", "|", "-", "*", "1.")) or "\n" in block:
        return block
    kept = [sentence for sentence in split_sentences(block) if not says_already(sentence, note)]
    return " ".join(kept)


def _without_lonely(parts: list[str]) -> list[str]:
    """Without a line that announces what is known already."""
    after = [*parts[1:], "###"]
    return [part for part, following in zip(parts, after, strict=True) if not _is_lonely(part, following)]


def _is_lonely(part: str, following: str) -> bool:
    return part.endswith(":") and not following.startswith(("```", "~~~", ">"))


def _blocks(body: str) -> list[str]:
    """Headings and paragraphs; a block of code is one, whatever lines it holds."""
    blocks: list[list[str]] = [[]]
    fence = ""
    for line in body.strip().splitlines():
        mark = line[: len(line) - len(line.lstrip("`~"))]
        if not fence and (not line.strip() or line.startswith("#")):
            blocks += [[line], []] if line.strip() else [[]]
            continue
        blocks[-1].append(line)
        if len(mark) >= 3:
            fence = "" if fence and mark.startswith(fence) else fence or mark
    return ["\n".join(block).strip() for block in blocks if block]
