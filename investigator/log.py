"""``log.jsonl``: every event, one JSON object a line, written as it happens."""

import json
import threading
from contextlib import suppress
from typing import TextIO

from investigator.events import Event, EventSink
from investigator.model import Json


def as_json(event: Event) -> dict[str, Json]:
    """The event as it stands in the log. ``time`` is ISO 8601 in UTC, to the millisecond."""
    head: dict[str, Json] = {
        "time": event.time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "agent": event.agent,
        "event": event.kind.value,
    }
    return head | {key: value for key, value in event.details.items() if key not in head}


class EventLog:
    """An event sink: writes each event to ``stream``, then passes it on to its followers."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._followers: list[EventSink] = []
        self._lock = threading.Lock()

    def follow(self, sink: EventSink) -> None:
        """Pass on to ``sink`` what happens from now on."""
        self._followers.append(sink)

    def __call__(self, event: Event) -> None:
        """Write one line; safe from any thread; a full disk does not end the run."""
        line = json.dumps(as_json(event), ensure_ascii=True, default=str)
        with self._lock, suppress(OSError, ValueError):
            self._stream.write(line + "\n")
            self._stream.flush()
        for sink in self._followers:
            sink(event)
