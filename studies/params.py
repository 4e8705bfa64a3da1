"""Settings of the studies: names, defaults, what they say, and what they may be.

Settings come as names and values, from ``--set`` or from Python; all that is wrong with them is
said at once. What does not belong here: what a study does with them.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from annot_pipeline.errors import ConfigError, Problem, shorten
from studies.coverage_designs import PAIR_DESIGNS, SCORE_DESIGNS

WHOLE, NUMBER, FLAG = "a whole number", "a number", "true or false"
CANNOT_BE = "a study that cannot be"

_InvalidSetting = tuple[str, str, str]
"""Setting, what is wrong, what is allowed."""


def setting(default: Any, description: str) -> Any:
    """Return a field with its default and a sentence for people."""
    return field(default=default, metadata={"description": description})


@dataclass(frozen=True)
class Repeated:
    """A study that is done many times. `setting` says what each field is."""

    repeats: int = setting(20, "independent repetitions")
    rounds: int = setting(100, "bootstrap rounds over items (or systems) in each repetition")
    seed: int = setting(17, "of all randomness")

    def __post_init__(self) -> None:
        problems = [Problem(*problem) for problem in self._problems()]
        if problems:
            raise ConfigError(CANNOT_BE, problems)

    def _problems(self) -> Iterator[_InvalidSetting]:
        yield from self._below(1, "repeats", "rounds")
        yield from self._below(0, "seed")

    def _below(self, least: int, *names: str) -> Iterator[_InvalidSetting]:
        """Yield settings that are no number from ``least`` on; None is not set."""
        for name in names:
            value = getattr(self, name)
            if value is not None and not least <= value < math.inf:
                yield name, f"is {value}", f"{least} or more"


@dataclass(frozen=True)
class Hits(Repeated):
    """How HITs are made."""

    hit_size: int = setting(5, "items (or systems) of a HIT: n")
    gamma: float = setting(0.1, "skill chain of the match quality")

    def _problems(self) -> Iterator[_InvalidSetting]:
        yield from super()._problems()
        yield from self._below(2, "hit_size")
        if not 0 < self.gamma < math.inf:
            yield "gamma", f"is {self.gamma}", "above 0"

    def _reach(self, reach: tuple[int, ...]) -> Iterator[_InvalidSetting]:
        if not reach or min(reach) < 1:
            allowed = "one or more numbers of judgments, each 1 or more"
            yield "reach", f"is {_comma_separated(reach) or 'empty'}", allowed


@dataclass(frozen=True)
class Rounds(Hits):
    """Items judged in rounds."""

    epsilon: float = setting(0.1, "tie margin of RA and TrueSkill")
    reach: tuple[int, ...] = setting(
        (3, 6), "judgments an item: how many does each method need for what DA has there?"
    )

    def _problems(self) -> Iterator[_InvalidSetting]:
        yield from super()._problems()
        yield from self._below(0, "epsilon")
        yield from self._reach(self.reach)


@dataclass(frozen=True)
class Judging(Hits):
    """Simulated judges; the unit is the whole scale, 0 to 1."""

    n_judges: int = setting(100, "judges")
    noise: float = setting(0.2, "standard deviation of how a judge sees one item twice")
    bias: float = setting(0.1, "standard deviation of the judges' shifts")
    stretch: float = setting(
        0.2, "standard deviation of the logarithm of the judges' stretch about the middle"
    )
    spam: float = setting(0.0, "share of judges who answer at random")
    context: float = setting(
        0.0, "share of a judge's shift and noise that vanishes where items are seen together"
    )
    whole_points: bool = setting(True, "whether answers are whole points of 0 to 100")

    def _problems(self) -> Iterator[_InvalidSetting]:
        yield from super()._problems()
        yield from self._below(1, "n_judges")
        yield from self._below(0, "noise", "bias", "stretch")
        for name in ("spam", "context"):
            if not 0 <= getattr(self, name) <= 1:
                yield name, f"is {getattr(self, name)}", "0 to 1"


@dataclass(frozen=True)
class ItemStudy(Rounds, Judging):
    """Simulated judges score items in rounds."""

    n_items: int | None = setting(
        None, "items; null: 150, or all of the oracle; fewer are drawn from it"
    )
    iterations: int = setting(10, "rounds; in each one DA asks about every item once")
    scale: tuple[float, float] = setting((0.0, 1.0), "ends of the oracle's scale: lowest,highest")

    def _problems(self) -> Iterator[_InvalidSetting]:
        yield from super()._problems()
        yield from self._below(1, "iterations")
        if self.n_items is not None and (allowed := too_few(self.n_items, self.hit_size)):
            yield "n_items", f"is {self.n_items}", allowed
        if 1 <= self.n_judges < self.iterations:
            what = f"is {self.n_judges}, fewer than the iterations"
            yield "n_judges", what, f"{self.iterations} or more: DA asks another judge each time"
        if not -math.inf < self.scale[0] < self.scale[1] < math.inf:
            yield "scale", f"is {_comma_separated(self.scale)}", "lowest,highest, as -2,2"


@dataclass(frozen=True)
class ItemReplay(Rounds):
    """Recorded judgments of items are drawn in rounds."""

    repeats: int = setting(20, "independent repetitions")
    iterations: int | None = setting(
        None, "rounds; null: 10, or the judgments that an item has in the mean, if fewer"
    )
    scale: tuple[float, float] | None = setting(
        None, "ends of the truth's scale; null: the task's. It moves histograms and examples only"
    )

    def _problems(self) -> Iterator[_InvalidSetting]:
        yield from super()._problems()
        yield from self._below(1, "iterations")
        if self.scale and not -math.inf < self.scale[0] < self.scale[1] < math.inf:
            yield "scale", f"is {_comma_separated(self.scale)}", "lowest,highest, as -2,2"


@dataclass(frozen=True)
class Points(Hits):
    """Systems judged up to a number of judgments."""

    points: int = setting(50, "points of a curve, evenly spread")
    reach: tuple[int, ...] = setting(
        (100, 300), "judgments a system: how many does each method need for what DA has there?"
    )

    def _problems(self) -> Iterator[_InvalidSetting]:
        yield from super()._problems()
        yield from self._below(2, "points")
        yield from self._reach(self.reach)


@dataclass(frozen=True)
class SystemStudy(Points, Judging):
    """Simulated judges score outputs of systems."""

    noise: float = setting(0.15, "standard deviation of how a judge sees one output twice")
    n_systems: int = setting(10, "systems")
    n_segments: int = setting(500, "segments; every system has an output for each")
    per_system: int = setting(1000, "judgments a system at the end of the curves")
    quality_range: float = setting(
        0.15, "between the best and the worst system; others evenly between"
    )
    item_sd: float = setting(0.22, "standard deviation of the worth of a system's outputs")
    segment_sd: float = setting(0.12, "the part of it that is common to all systems of a segment")

    def _problems(self) -> Iterator[_InvalidSetting]:
        yield from super()._problems()
        if allowed := too_few(self.n_systems, self.hit_size):
            yield "n_systems", f"is {self.n_systems}", allowed
        yield from self._below(1, "n_segments")
        yield from self._below(self.hit_size, "per_system")
        yield from self._below(0, "item_sd", "segment_sd")
        if not 0 < self.quality_range <= 1:
            yield "quality_range", f"is {self.quality_range}", "above 0, up to 1"
        if self.segment_sd > self.item_sd:
            what = "is more than item_sd, of which it is a part"
            yield "segment_sd", what, f"up to {self.item_sd}"


@dataclass(frozen=True)
class SystemReplay(Points):
    """Recorded judgments of systems' outputs are drawn."""

    repeats: int = setting(10, "independent repetitions")
    per_system: int = setting(
        1000, "judgments a system at the end of the curves, or what there is; 0: all there are"
    )
    scores: Literal["raw", "z"] = setting(
        "z", "z: standardised by judge, put on 0 to 1 by the least and the largest; raw: as judged"
    )

    def _problems(self) -> Iterator[_InvalidSetting]:
        yield from super()._problems()
        yield from self._below(0, "per_system")


@dataclass(frozen=True)
class SurprisalCurves:
    """Figures 2 and 3 of the paper."""

    epsilon: float = setting(0.5, "tie margin")
    limit: float = setting(4.0, "t runs from -limit to limit")
    points: int = setting(81, "points of a curve, evenly spread")

    def __post_init__(self) -> None:
        problems = []
        if not 0 <= self.epsilon < math.inf:
            problems.append(Problem("epsilon", f"is {self.epsilon}", "0 or more"))
        if not 0 < self.limit <= 30:
            problems.append(Problem("limit", f"is {self.limit}", "above 0, up to 30"))
        if not 2 <= self.points <= 1000:
            problems.append(Problem("points", f"is {self.points}", "2 to 1000"))
        if problems:
            raise ConfigError(CANNOT_BE, problems)


@dataclass(frozen=True)
class Topology(Repeated):
    """Full rankings rebuilt from the comparisons of tournaments."""

    repeats: int = setting(10, "tournaments of every ranking")
    rounds: int = setting(1000, "bootstrap rounds over rankings")
    n_outputs: int = setting(
        5, "different outputs of a ranking; sizes.csv has the other numbers of outputs too"
    )

    def _problems(self) -> Iterator[_InvalidSetting]:
        yield from super()._problems()
        if self.n_outputs < 3:
            yield "n_outputs", f"is {self.n_outputs}", "3 or more: of two there is one relation"


@dataclass(frozen=True)
class Crowds:
    """Crowds who label items of known class."""

    repeats: int = setting(3, "crowds of each kind")
    n_items: int = setting(1000, "items of a crowd")
    per_item: int = setting(8, "labels an item")
    n_judges: int = setting(60, "judges of a crowd; of the sparse kind as many as give four labels")
    seed: int = setting(17, "of all randomness")

    def __post_init__(self) -> None:
        _check_least(self, repeats=1, n_items=20, per_item=1, n_judges=self.per_item, seed=0)


@dataclass(frozen=True)
class Audits:
    """Samples of labels whose truth is known."""

    folder: str = setting("", "folder of public sets; empty: $ANNOT_REAL_DATA")
    repeats: int = setting(200, "samples of each size")
    certain_at: float = setting(0.95, "share of certified labels that must be right")
    seed: int = setting(17, "of all randomness")

    def __post_init__(self) -> None:
        share = Problem("certain_at", f"is {self.certain_at:g}", "above 0.5 and below 1")
        _check_least(self, *[share] * (not 0.5 < self.certain_at < 1), repeats=1, seed=0)


@dataclass(frozen=True)
class LabelReplay:
    """Recorded labels, asked for by gain."""

    folder: str = setting("", "folder of public sets; empty: $ANNOT_REAL_DATA")
    sets: str = setting("RTE", "sets to replay, as RTE,TEMP")
    start: int = setting(2, "labels that each item has at first")
    levels: tuple[float, ...] = setting((0.8, 0.85, 0.9), "probabilities from which none is asked")
    repeats: int = setting(5, "orders of the recorded labels")
    seed: int = setting(17, "of all randomness")

    def __post_init__(self) -> None:
        _check_least(self, start=1, repeats=1, seed=0)


@dataclass(frozen=True)
class Floods:
    """Careless people who flood a crowd."""

    repeats: int = setting(5, "floods of each kind, share and design")
    seed: int = setting(17, "of all randomness")

    def __post_init__(self) -> None:
        _check_least(self, repeats=1, seed=0)


@dataclass(frozen=True)
class RankingCoverage:
    """Evaluations whose systems are ranked."""

    repeats: int = setting(40, "replications of each design, with differences and without")
    design: str = setting("", "one design alone, by its name in coverage.csv; empty: all")
    seed: int = setting(17, "of all randomness")

    def __post_init__(self) -> None:
        names = (*SCORE_DESIGNS, *PAIR_DESIGNS)
        is_design = not self.design or self.design in names
        unknown = [Problem("design", f"is {self.design}", "; ".join(names))] * (not is_design)
        _check_least(self, *unknown, repeats=2, seed=0)


@dataclass(frozen=True)
class AgreementIntervals:
    """Labels and scores whose agreement is measured."""

    repeats: int = setting(40, "replications of each design")
    rounds: int = setting(200, "bootstrap rounds over items")
    seed: int = setting(17, "of all randomness")

    def __post_init__(self) -> None:
        _check_least(self, repeats=2, rounds=1, seed=0)


@dataclass(frozen=True)
class ModelJudgeCoverage:
    """Quantities estimated from few human and many model judgments."""

    file: str = setting("", "csv of human and model judgments; empty: judges are simulated")
    n_human: int | None = setting(
        None, "items that people judge in a draw; null: 200 of labels, 1000 comparisons"
    )
    repeats: int = setting(500, "draws of these items")
    seed: int = setting(17, "of all randomness")

    def __post_init__(self) -> None:
        least = {} if self.n_human is None else {"n_human": 2}
        _check_least(self, **least, repeats=1, seed=0)


@dataclass(frozen=True)
class Certainty:
    """Labels of a campaign that knows the truth; the campaign's own settings decide."""


def _check_least(params: Any, *problems: Problem, **least: int) -> None:
    """Raise ConfigError for settings below the least that they may be, and for other problems."""
    small = [
        Problem(name, f"is {value}", f"{low} or more")
        for name, low in least.items()
        if (value := getattr(params, name)) < low
    ]
    if small or problems:
        raise ConfigError(CANNOT_BE, [*small, *problems])


def too_few(n: int, hit_size: int) -> str:
    """Return how many items there should be, where n cannot be ranked or do not fill a HIT.

    Empty where nothing is wrong.
    """
    if n < 2:
        return "2 or more: one alone has no order"
    return f"{hit_size} or more, as a HIT has" if n < hit_size else ""


# --- from names and values -----------------------------------------------------------------

Params = TypeVar("Params")


def with_settings(defaults: Params, settings: Mapping[str, Any]) -> Params:
    """Return params with some settings changed; texts are read as the setting's type.

    Raises
    ------
    ConfigError
        All settings that do not exist or cannot be read, or else all that do not fit.
    """
    types = get_type_hints(type(defaults))
    changes, problems = {}, []
    for name, value in settings.items():
        if name not in types:
            likely = difflib.get_close_matches(str(name), types, 1, cutoff=0.5)
            do = f"did you mean {likely[0]}?" if likely else ""
            problems.append(Problem(str(name), "unknown setting", ", ".join(types), do))
            continue
        try:
            changes[name] = _read(value, types[name])
        except ValueError as error:
            problems.append(Problem(name, f"{shorten(value)} is not {error}"))
    if problems:
        raise ConfigError(CANNOT_BE, problems)
    return dataclasses.replace(defaults, **changes)  # type: ignore[type-var]


def _read(value: Any, kind: Any) -> Any:
    """Return a value as its type; ValueError says what it should have been."""
    options = get_args(kind)
    if type(None) in options:
        if value is None or (isinstance(value, str) and value.strip().lower() in ("", "null")):
            return None
        return _read(value, next(option for option in options if option is not type(None)))
    if get_origin(kind) is Literal:
        if value not in options:
            raise ValueError("one of " + ", ".join(options))
        return value
    if get_origin(kind) is tuple:
        parts = value.strip("[]() ").split(",") if isinstance(value, str) else value
        parts = list(parts) if isinstance(parts, list | tuple) else [parts]
        if options[-1] is not Ellipsis and len(parts) != len(options):
            raise ValueError(f"{len(options)} numbers, as -2,2")
        return tuple(_read(part, options[0]) for part in parts)
    if kind is str:
        return str(value)
    if kind is bool:
        text = str(value).strip().lower()
        if text not in ("true", "false"):
            raise ValueError(FLAG)
        return text == "true"
    return _number(value, kind)


def _number(value: Any, kind: type) -> int | float:
    message = WHOLE if kind is int else NUMBER
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(message)
    try:
        number = float(value)
        if kind is float:
            return number
        return value if isinstance(value, int) else _whole_number(number)
    except (ValueError, OverflowError):
        raise ValueError(message) from None


def _whole_number(number: float) -> int:
    if number != int(number):
        raise ValueError(WHOLE)
    return int(number)


def _comma_separated(values: tuple[Any, ...]) -> str:
    return ",".join(f"{value:g}" for value in values)
