"""Records in memory, in place of the store's."""

from investigator.model import Json


class Shelf:
    """Records in a dict, with a count of what was read and written."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Json] = {}
        self.read = 0
        self.written = 0

    def record(self, kind: str, key: str) -> Json | None:
        self.read += 1
        return self.kept.get((kind, key))

    def keep(self, kind: str, key: str, record: Json) -> None:
        self.written += 1
        self.kept[kind, key] = record
