"""What was seen of a run's patches together, and how to do without them, as blocks of a report.

The details are in ``investigation.json`` under ``extra``: ``patch_series`` and ``detours``.
"""

from collections.abc import Iterator, Mapping, Sequence

from investigator.model import Investigation, Json, Runner
from investigator.reports.advice import listed
from investigator.reports.blocks import Block, Bullets, Verbatim
from investigator.reports.summary import runner_name

SERIES = "patch_series"
DETOURS = "detours"
COMMANDS = "investigate apply . --to installed\ninvestigate overlay . --out patched"


def series_blocks(investigation: Investigation) -> list[Block]:
    """What holds beyond each patch alone, and how to put them on an engine; nothing without patches."""
    if not investigation.patches:
        return []
    series = _mapping(investigation.extra.get(SERIES))
    points = (*_order(series), *_covered(series), *_pairs(series), *_together(series), *_refused(series))
    seen: list[Block] = [Bullets("As a series:", points)] if points else []
    return [
        *seen,
        Verbatim("In this folder, to patch an engine, or to put a patched one beside it:", COMMANDS),
    ]


def detour_blocks(investigation: Investigation) -> list[Block]:
    """Each command that serves around faults, with what it avoids and what it leaves."""
    return [
        Verbatim(_about(detour, investigation.default_runner), str(detour.get("command", "")))
        for detour in map(_mapping, _items(investigation.extra.get(DETOURS)))
    ]


def _about(detour: Mapping[str, Json], in_use: Runner | None) -> str:
    ran = detour.get("runner")
    runner = Runner(str(ran)) if ran in {each.value for each in Runner} else None
    avoids, leaves, undecided = (_texts(detour.get(key)) for key in ("avoids", "leaves", "undecided"))
    where = f"On model runner {runner_name(runner)}, " if runner is not None and runner is not in_use else ""
    said = f"{where}avoids {listed(avoids)}; "
    said += f"{listed(leaves)} stay{'s' * (len(leaves) == 1)} at fault" if leaves else "no fault is left"
    said += f"; not known there: {listed(undecided)}" if undecided else ""
    return f"{said[0].upper()}{said[1:]}:"


def _order(series: Mapping[str, Json]) -> Iterator[str]:
    for patch, below in _mapping(series.get("order")).items():
        yield f"{patch} is written on top of {listed(_texts(below))}"


def _covered(series: Mapping[str, Json]) -> Iterator[str]:
    for contract, by in _mapping(series.get("covered")).items():
        yield f"{contract} needs no patch of its own: the one for {by} repairs it too"


def _pairs(series: Mapping[str, Json]) -> Iterator[str]:
    pairs = [_mapping(pair) for pair in _items(series.get("pairs"))]
    if not pairs:
        return
    fixed = [listed(_texts(pair.get("patches"))) for pair in pairs if not pair.get("commute")]
    order = f"; the order matters for {'; '.join(fixed)}" if fixed else ", in either order"
    yield f"{_count(len(pairs), 'pair')} tried: each keeps what its patches repair alone{order}"


def _together(series: Mapping[str, Json]) -> Iterator[str]:
    every = _mapping(series.get("together"))
    if every:
        number = len(_texts(every.get("patches")))
        order = "in any order" if every.get("commute") else "in this order"
        worse = listed(_texts(every.get("worse"))) or "nothing"
        eased = _texts(every.get("eased"))
        partly = f", leave {listed(eased)} partial," if eased else ""
        yield (
            f"all {number} together, {order}, repair {listed(_texts(every.get('repaired')))}"
            f"{partly} and make {worse} worse"
        )


def _refused(series: Mapping[str, Json]) -> Iterator[str]:
    contracts = [str(_mapping(refusal).get("contract")) for refusal in _items(series.get("refused"))]
    if contracts:
        yield f"no patch for {listed(contracts)}: the reason is among what was not checked"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _items(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else ()


def _texts(value: Json) -> list[str]:
    return [str(item) for item in _items(value)]
