"""From bytes to a :class:`Symptom`: every recogniser sees every line, once, in bounded memory."""

from typing import BinaryIO

from investigator.checkpoint import MTP_METHOD
from investigator.triage.bench import Bench
from investigator.triage.command import Commands
from investigator.triage.config_file import ConfigFiles
from investigator.triage.manifest import Manifests
from investigator.triage.metrics_text import MetricsText
from investigator.triage.reader import Piece, Progress, pieces, printable
from investigator.triage.sglang_log import SglangLog
from investigator.triage.startup import Startup
from investigator.triage.symptom import InputKind, Measurement, PrefixCache, Setting, Symptom, UsedLine
from investigator.triage.vllm_log import VllmLog

SHOWN_LINES = 40
SHOWN_OF_A_KIND = 8
_ORDER = list(InputKind)


def read_symptom(stream: BinaryIO) -> Symptom:
    """Read what a deployment printed, in any mixture of the known formats.

    ``stream`` yields bytes; whatever is not understood is passed over. Memory stays bounded by
    the longest line that is kept (64 Ki characters), not by the length of the input.
    A log packed with gzip is unpacked on the way.
    Raises UsageError when the stream cannot be read or is packed in another way.
    """
    progress = Progress()
    room = _Room()
    for piece in pieces(stream, progress):
        room.feed(piece)
    return room.symptom(progress)


class _Room:
    """All recognisers side by side."""

    def __init__(self) -> None:
        self.vllm = VllmLog()
        self.sglang = SglangLog()
        self.metrics = MetricsText()
        self.bench = Bench()
        self.commands = Commands()
        self.manifests = Manifests(self.commands)
        self.config_files = ConfigFiles()
        self.startup = Startup()
        self.lines: list[UsedLine] = []
        self.shown: dict[InputKind, int] = {}
        self.used = 0
        self._last_used = 0

    def feed(self, piece: Piece) -> None:
        """Show one piece to everybody; note it when somebody could use it."""
        if self.vllm.feed(piece):
            self._use(piece, InputKind.VLLM_LOG)
        if self.sglang.feed(piece):
            self._use(piece, InputKind.SGLANG_LOG)
        if self.metrics.feed(piece):
            self._use(piece, InputKind.VLLM_METRICS if "vllm" in piece.text else InputKind.SGLANG_METRICS)
        if kind := self.bench.feed(piece):
            self._use(piece, kind)
        if self._deployment(piece):
            self._use(piece, InputKind.COMMAND)
        if self.startup.feed(piece):
            self._use(piece, InputKind.STARTUP)

    def _deployment(self, piece: Piece) -> bool:
        """Whoever takes a line first has it: a manifest's line may be a command, but only once."""
        if self.commands.open:
            return self.commands.feed(piece)
        return self.manifests.feed(piece) or self.commands.feed(piece) or self.config_files.feed(piece)

    def symptom(self, progress: Progress) -> Symptom:
        """Everything together, the most exact measurement first."""
        for part in (self.manifests, self.commands, self.config_files):
            part.finish()
        self.startup.finish()
        settings = sorted(
            (*self.startup.settings, *self.commands.settings, *self.config_files.settings),
            key=lambda s: s.line,
        )
        known = Symptom(settings=tuple(settings))
        tokens = draft_tokens(known)
        measurements = [
            *self.bench.measurements(tokens),
            *self.metrics.measurements(),
            *self.vllm.measurements(tokens),
            *self.sglang.measurements(tokens, whole(known.setting("log-interval"))),
        ]
        parts = (self.vllm, self.sglang, self.metrics, self.bench, self.commands)
        return Symptom(
            measurements=tuple(sorted(measurements, key=_rank)),
            prefix_cache=self._prefix_cache(),
            by_context=self.bench.by_context() or self.vllm.by_context() or self.sglang.by_context(),
            settings=tuple(settings),
            lines=tuple(self.lines),
            lines_used=self.used,
            lines_read=progress.lines_read,
            bytes_read=progress.bytes_read,
            notes=tuple(printable(note) for part in parts for note in part.notes),
        )

    def _prefix_cache(self) -> PrefixCache | None:
        for part in (self.metrics, self.sglang, self.vllm):
            if (found := part.prefix_cache()) is not None:
                return found
        return None

    def _use(self, piece: Piece, kind: InputKind) -> None:
        if piece.line != self._last_used:
            self.used += 1
            self._last_used = piece.line
        if len(self.lines) < SHOWN_LINES and self.shown.get(kind, 0) < SHOWN_OF_A_KIND:
            self.shown[kind] = self.shown.get(kind, 0) + 1
            self.lines.append(UsedLine(number=piece.line, kind=kind, text=printable(piece.text)))


def draft_tokens(symptom: Symptom) -> int | None:
    """Tokens a draft, as configured: ``num_speculative_tokens``, or SGLang's block minus its anchor."""
    if (count := whole(symptom.setting("draft-tokens"))) is not None:
        return count
    block = whole(symptom.setting("block-size"))
    return block - 1 if block is not None and block > 1 else None


def whole(text: str | None) -> int | None:
    """A small positive integer, or None."""
    return (
        int(text) if text and text.isascii() and text.isdigit() and 0 < len(text) < 7 and int(text) else None
    )


def _rank(measurement: Measurement) -> int:
    return _ORDER.index(measurement.kind)


def settings_of(symptom: Symptom, prefix: str) -> tuple[Setting, ...]:
    """The last value of each setting whose name starts with ``prefix``, in order of first sight."""
    last = {s.name: s for s in symptom.settings if s.name.startswith(prefix)}
    return tuple(last.values())


def drafts_with_mtp(symptom: Symptom) -> bool:
    """Whether the deployment drafts with MTP layers: by the name of its method, or of an algorithm that
    needs a head where none is given."""
    said = (symptom.setting("method") or "").lower()
    own = said == "eagle" and symptom.setting("engine") == "sglang" and symptom.setting("draft") is None
    return said in (MTP_METHOD, "nextn") or said.endswith(f"_{MTP_METHOD}") or own
