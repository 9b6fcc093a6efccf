"""What a patch says about itself: the promise, the fault, where it was seen, what was checked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from investigator.model import Evidence, Finding
from investigator.patches.repairs import Repair

_WIDTH = 72
_MOST_PLACES = 6


@dataclass(frozen=True, kw_only=True)
class Letter:
    """The text of one patch's mail.

    ``engine``: ``vllm 0.20.1``. ``source``: the id of the engine's source, whose places are
    quoted. ``effect``: what a validation measured. ``order``: what has to be applied before.
    ``crlf``: whether a touched file ends its lines with ``\\r\\n``.
    """

    repair: Repair
    findings: Sequence[Finding]
    engine: str
    source: str
    repaired: Sequence[str]
    effect: str = ""
    order: str = ""
    crlf: bool = False

    def __str__(self) -> str:
        return "\n\n".join(paragraph for paragraph in self._paragraphs() if paragraph) + "\n"

    def _paragraphs(self) -> Iterator[str]:
        yield "\n".join(self._fault())
        yield self.repair.change
        seen = (shown for finding in self.findings for shown in finding.evidence)
        places = list(dict.fromkeys(shown for shown in seen if shown.source == self.source))
        if places:
            yield f"Seen in {self.engine}:\n\n" + "\n".join(map(_place, places[:_MOST_PLACES]))
        if self.effect:
            yield _filled(f"Measured: {self.effect}")
        verb = "are" if len(self.repaired) > 1 else "is"
        yield _filled(
            "Checked: applies and can be taken back byte for byte, parses, and asked again "
            f"{' and '.join(self.repaired)} {verb} honoured with no other verdict worse."
        )
        yield self.order
        if self.crlf:
            yield _filled("A touched file has CRLF line ends: take this with git am --keep-cr.")

    def _fault(self) -> Iterator[str]:
        if not self.findings:
            return
        first = self.findings[0]
        for label, said in (
            ("Promise", first.promised),
            ("So far", first.happens),
            ("Consequence", first.consequence),
        ):
            if said:
                yield _filled(f"{label}: {said}")


def _place(shown: Evidence) -> str:
    return f"    {shown.path}:{shown.line}\n        {shown.quote.strip().partition(chr(10))[0]}"


def _filled(text: str) -> str:
    return "\n".join(wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False))
