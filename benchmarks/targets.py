"""What the figures are held against: each target, its figure beside its limit, and whether it is met."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Figures = Mapping[str, Any]

HINTED, SEARCHED = 2.0, 4.0
"""Percent of a wheel's bytes, at most: where path hints hold, and where a full search was needed."""
KINDS = (("path hints hold", HINTED, False), ("a full search was needed", SEARCHED, True))
SMALL = 3e6
"""Bytes that a release of SGLang may cost in any case: its wheels are small."""


@dataclass(frozen=True)
class Target:
    """One target. ``figure`` and ``limit`` in the unit that ``what`` names; at most the limit is met."""

    what: str
    figure: float
    limit: float
    form: str = "{:.2f}"

    @property
    def met(self) -> bool:
        """Whether the figure is within the limit."""
        return self.figure <= self.limit

    def __str__(self) -> str:
        return f"{self.form.format(self.figure)} (at most {self.form.format(self.limit)})"


def targets(results: Figures) -> Iterator[Target]:
    """All of them."""
    yield from _startup(results["startup"]["figures"])
    for version, one in results["one-release"]["figures"].items():
        yield from _one(f"vllm {version}", one)
    for engine in ("vllm", "sglang"):
        yield from _timeline(engine, results[engine]["figures"])


def _startup(figures: Figures) -> Iterator[Target]:
    yield Target("`--help`: wall, in imports of click", figures["--help"]["wall_ratio"], 3)


def _one(name: str, one: Figures) -> Iterator[Target]:
    cold, warm = one["cold"], one["warm"]
    yield Target(f"{name} cold: bytes for the engine", cold["engine_bytes"], 1.5e6, "{:,.0f}")
    yield Target(f"{name} cold: requests for the engine", cold["engine_requests"], 25, "{:.0f}")
    yield Target(f"{name} warm: requests", warm["requests"], 0, "{:.0f}")
    yield Target(f"{name}: peak memory, MB", max(cold["peak"], warm["peak"]) / 1e6, 300, "{:.0f}")
    yield Target(f"{name} cold: wall, in plain parses of its tree", cold["wall_ratio"], 3)
    yield Target(f"{name} warm: wall, in plain parses of its tree", warm["wall_ratio"], 0.4)
    off = max(
        abs(run["own"][0] - run["requests"]) + abs(run["own"][1] - run["bytes"]) for run in (cold, warm)
    )
    yield Target(f"{name}: own counts beside the wire's, difference", off, 0, "{:.0f}")


def _timeline(engine: str, figures: Figures) -> Iterator[Target]:
    name = f"{engine} timeline"
    rows, sent = releases(figures["cold_rows"]), figures["cold_sent"]
    if engine == "sglang":
        most = max(on_wire(row, sent)[1] / allowance(row["wheel_bytes"]) for row in rows.values())
        yield Target(f"{name} cold: most of 2 % of a wheel's bytes, or of 3 MB where that is more", most, 1)
    else:
        yield from _shares(name, rows.values(), sent)
    yield Target(
        f"{name} cold: requests of the dearest release",
        max(on_wire(row, sent)[0] for row in rows.values()),
        60,
        "{:.0f}",
    )
    yield Target(f"{name} warm: requests", sum(n for n, _ in figures["warm_sent"].values()), 0, "{:.0f}")
    for version, warm in figures["warm"].items():
        what = f"{name} warm, {len(rows)} releases: wall, in plain parses of {version} alone"
        yield Target(what, warm["wall_ratio"], 0.5)
    yield Target(f"{name}: peak memory, MB", figures["cold"]["peak"] / 1e6, 600, "{:.0f}")
    yield Target(f"{name}: own counts beside the wire's, difference", difference(figures), 0, "{:.0f}")


def _shares(name: str, rows: Iterable[Figures], sent: Figures) -> Iterator[Target]:
    for kind, limit, asked in KINDS:
        found = [share(row, sent) for row in rows if bool(row["searches"]) is asked]
        if found:
            what = f"{name} cold, {len(found)} releases where {kind}: most of a wheel's bytes, percent"
            yield Target(what, max(found), limit)


def releases(rows: Figures) -> dict[str, Any]:
    """The rows about releases, by version."""
    return {name: row for name, row in rows.items() if name[:1].isdigit()}


def on_wire(row: Figures, sent: Figures) -> tuple[int, int]:
    """Requests and bytes that one release's wheel took, as the relay counted them."""
    requests, size = sent.get(row["wheel"], (0, 0))
    return requests, size


def share(row: Figures, sent: Figures) -> float:
    """Percent of a wheel's bytes that came over the wire."""
    return 100 * on_wire(row, sent)[1] / max(1, row["wheel_bytes"] or 0)


def allowance(wheel_bytes: int | None) -> float:
    """Bytes that reading a release may cost: a share of its wheel, or a few megabytes of a small one."""
    return max(HINTED / 100 * (wheel_bytes or 0), SMALL)


def difference(figures: Figures) -> int:
    """Requests and bytes by which the program's own counters and the relay's differ, release by release,
    cold and warm."""
    return sum(
        abs(own - wire)
        for kind in ("cold", "warm")
        for row in releases(figures[f"{kind}_rows"]).values()
        for own, wire in zip(
            (row["requests"], row["bytes"]), on_wire(row, figures[f"{kind}_sent"]), strict=True
        )
    )
