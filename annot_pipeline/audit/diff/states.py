"""The states between two releases: what would have been published, had only some things changed.

From the older release on, changes are made one kind after the other: the code at hand, judgments
and item tables while verdicts of known judges are held, verdicts, settings, and the code of the
newer release. A state whose inputs, settings and code are those of another is not built: builds
are deterministic, so it is the same. What does not belong here: how cells are compared (cells).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.audit.diff import cells
from annot_pipeline.audit.diff.sides import (
    Side,
    changed_judgments,
    counts_of,
    entries_merged,
    is_of_code_at_hand,
    same_settings,
)
from annot_pipeline.audit.recompute import recomputed_tables, temporary_build
from annot_pipeline.config import Campaign, LoadedCampaign
from annot_pipeline.contracts import FLAG, GOLD, TEXT
from annot_pipeline.contracts.task_table import TASKS
from annot_pipeline.errors import ConfigError, InputError
from annot_pipeline.runtime.context import StageContext, StageOutput
from annot_pipeline.runtime.indexing import is_in
from annot_pipeline.runtime.partitions import input_slices
from annot_pipeline.stages.build import MAKER, Build, Progress, Work
from annot_pipeline.stages.ingest.item_versions import TEXTS
from annot_pipeline.stages.ingest.metrics import JudgmentMetrics
from annot_pipeline.stages.ingest.raw_names import NAMES
from annot_pipeline.stages.ingest.resolve_tasks import JUDGE_KINDS
from annot_pipeline.stages.judges.metrics import ControlMetrics
from annot_pipeline.stages.judges.stage import control_judges_of_campaign, with_verdicts
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.releases import Release
from annot_pipeline.storage.tables import StoredTable, read_verified


@dataclass(frozen=True)
class SettledJudgments:
    """What the stage ``settle_judgments`` made of the exports of a release."""

    judgments: StoredTable
    tasks: pa.Table
    kinds: pa.Table
    item_texts: pa.Table
    metrics: JudgmentMetrics


def settle_between(old: SettledJudgments, new: SettledJudgments, applied: Collection[str]) -> Work:
    """Return work for ``settle_judgments`` that produces a state between two others.

    Records that do not count (rejected, duplicate, superseded) are left out: no calculation looks
    at them. Tasks are those of the new state: their kinds and scales change with the first of the
    changes. Tasks that only the old state has stay until judgments are withdrawn.

    Parameters
    ----------
    old, new
        The states between which it is.
    applied
        Which of `JUDGMENT_CHANGES` are applied.
    """
    changes = {change.replace(" ", "_"): change in applied for change in cells.JUDGMENT_CHANGES}
    tasks = new.tasks
    if cells.WITHDRAWN not in applied:
        names = pa.array(tasks["task"].to_pylist(), TEXT)
        gone = pc.invert(pc.is_in(old.tasks["task"].cast(TEXT), names))
        tasks = pa.concat_tables([tasks, old.tasks.filter(gone)]).sort_by("task")

    is_gone = pc.invert(is_in(old.kinds["judge"], new.kinds["judge"].to_pylist()))
    kinds = pa.concat_tables([new.kinds, old.kinds.filter(is_gone)]).sort_by("judge")

    def work(context: StageContext) -> StageOutput[JudgmentMetrics]:
        inputs = {"old": old.judgments, "new": new.judgments}
        run = context.queries.run
        return StageOutput(
            {
                "settled": lambda: run("diff/settled", inputs, changes),
                "tasks": tasks,
                "names": NAMES.empty_table(),
                "judge_kinds": kinds,
                "item_texts": new.item_texts,
            },
            new.metrics,
        )

    return work


@dataclass(frozen=True)
class HeldVerdicts:
    """Whether judges were dropped in an earlier state: those known then stay so.

    ``of_judge`` is empty where judges are tested task by task; else a judge who is known keeps
    the verdict in tasks that are new to them.
    """

    of_task_and_judge: Mapping[tuple[str, str], bool]
    of_judge: Mapping[str, bool]

    def dropped(self, tests: pa.Table) -> list[bool]:
        """Return whether each judge of ``judge_tests`` is dropped: as held, else as tested."""
        names = (tests[name].to_pylist() for name in ("task", "judge", "dropped"))
        return [
            self.of_task_and_judge.get((task, judge), self.of_judge.get(judge, tested))
            for task, judge, tested in zip(*names, strict=True)
        ]

    def differ(self, tests: pa.Table) -> bool:
        """Return whether holding these verdicts makes any difference."""
        tested: list[bool] = tests["dropped"].to_pylist()
        return self.dropped(tests) != tested


def held_verdicts(tests: pa.Table, *, scope: str) -> HeldVerdicts:
    """Return the verdicts of ``judge_tests``, to be held; ``scope`` as quality.scope says."""
    names = (tests[name].to_pylist() for name in ("task", "judge", "dropped"))
    rows = list(zip(*names, strict=True))
    of_judge = {judge: dropped for _, judge, dropped in rows} if scope == "campaign" else {}
    return HeldVerdicts({(task, judge): dropped for task, judge, dropped in rows}, of_judge)


def control_with(verdicts: HeldVerdicts) -> Work:
    """Return work for ``control_judges`` that holds verdicts fixed; ``judge_tests`` is computed."""

    def work(context: StageContext) -> StageOutput[ControlMetrics]:
        output = control_judges_of_campaign(context)
        tests: Any = output.tables["judge_tests"]
        at = tests.schema.get_field_index("dropped")
        applied = tests.set_column(at, "dropped", pa.array(verdicts.dropped(tests), FLAG))
        parts = input_slices(context, "settled")
        controlled, by_part = with_verdicts(context, parts, applied)
        return replace(output, tables={**output.tables, **controlled}, partitions=by_part)

    return work


OF_ITEMS = ("item_rows", "item_probabilities")
OF_JUDGMENTS = ("settled", "tasks", "judge_kinds", *OF_ITEMS, "judge_tests")
"""What tells how judgments, item tables and verdicts differ."""


@dataclass(frozen=True)
class Published:
    """A state that is a release."""

    release: Release

    def table(self, name: str) -> pa.Table:
        """Return a table of the release; what tests find of judges stands in its judges."""
        return table_of(self.release, "judges" if name == "judge_tests" else name)


def table_of(release: Release, name: str) -> pa.Table:
    """Return a gold table of a release; empty if it is older than the table."""
    return release.table(name) if name in release.tables else GOLD[name].empty()


@dataclass
class Recomputed:
    """A state that is built; its tables are there as long as the builds are open."""

    name: str
    build: Build
    progress: Progress
    files: dict[str, StoredTable] = field(default_factory=dict)
    requests: dict[str, None] = field(default_factory=dict)

    def make(self, names: Sequence[str]) -> Mapping[str, StoredTable]:
        """Return tables, and all that they are made of."""
        if not set(names) <= self.files.keys():
            self.progress(f"recomputing {self.name}")
            self.files |= recomputed_tables(self.build, names)
            of_judgments = set(names) == set(OF_JUDGMENTS)
            self.requests |= dict.fromkeys(("judgments", "verdicts") if of_judgments else names)
        return self.files

    def table(self, name: str) -> pa.Table:
        """Return a table."""
        return read_verified(self.make([name])[name])

    def resolved_judgments(self) -> SettledJudgments:
        """Return its judgments, with fates so far."""
        files = self.make(OF_JUDGMENTS)
        metrics = self.build.recorded(MAKER["settled"]).metrics(JudgmentMetrics)
        schemas = {"tasks": TASKS, "judge_kinds": JUDGE_KINDS, "item_texts": TEXTS}
        tasks, kinds, texts = (read_verified(files[n]).cast(s) for n, s in schemas.items())
        return SettledJudgments(files["settled"], tasks, kinds, texts, metrics)


State = Published | Recomputed


class Between:
    """Two releases, and builds of what lies between.

    Parameters
    ----------
    campaign
        As it is now: its archive, its key.
    old, new
        The releases, and what they were made of.
    builds
        Keeps what is built open.
    queries, progress
        SQL; and who is told what is going on.

    Attributes
    ----------
    judgments
        Those that differ, as `judgments.JUDGMENTS` says; None where exports and mappings are the
        same.
    kinds
        The kinds of changes to sources that there are, in order.
    verdicts_differ
        Whether judges known in the old state get another verdict with the new sources.
    notes
        What is worth knowing of how causes were told apart.
    recomputed
        What had to be built.
    """

    def __init__(
        self,
        campaign: LoadedCampaign,
        old: Side,
        new: Side,
        *,
        builds: ExitStack,
        queries: Queries,
        progress: Progress,
    ) -> None:
        self.campaign, self.old, self.new = campaign, old, new
        self.builds, self.queries, self.progress = builds, queries, progress
        self.judgments: pa.Table | None = None
        self.kinds: tuple[str, ...] = ()
        self.verdicts_differ = False
        self.notes: list[str] = []
        self.recomputed: list[Recomputed] = []
        self.settings, self.exports = entries_merged(old, new)  # for the new exports
        if not (old.exports.equals(self.exports) and same_settings(old.settings, self.settings)):
            self._compare_sources()

    def steps(self, tables: Sequence[str]) -> list[tuple[str, State]]:
        """Return the steps from the old release to the new one: what changes, and the state then.

        Parameters
        ----------
        tables
            What will be asked of the states.
        """
        of_code_at_hand = partial(is_of_code_at_hand, tables=[*tables, "judge_tests"])
        merged_is_new = same_settings(self.settings, self.new.settings)
        start, end = Published(self.old.release), Published(self.new.release)
        of_kinds: list[tuple[str, bool, Callable[[], State]]] = [
            (kind, False, partial(self._with_changes, self.kinds[: position + 1]))
            for position, kind in enumerate(self.kinds)
        ]
        # a cause, whether the state after it is proven to be that before it, and how to build it
        way: list[tuple[str, bool, Callable[[], State]]] = [
            (cells.CODE, of_code_at_hand(self.old.release), lambda: self._old),
            *of_kinds,
            (cells.VERDICTS, not self.verdicts_differ, lambda: self._merged),
            (cells.SETTINGS, merged_is_new, lambda: self._new),
            (cells.CODE, of_code_at_hand(self.new.release), lambda: end),
        ]
        if all(is_same for _, is_same, _ in way) and not self.kinds:
            self.notes.append(
                "nothing that could move a cell differs: a method changed, but not the version of "
                "its code, or it does not give the same again"
            )
        states: list[State] = [start]
        for position, (_, is_same, _) in enumerate(way):
            if is_same and position < len(way) - 1:
                states.append(states[-1])
                continue
            last = position  # the last state that is the same as this one
            while last + 1 < len(way) and way[last + 1][1]:
                last += 1
            state = way[last][2]()
            if isinstance(state, Recomputed):
                state.make(tables)
            states.append(state)
        return [(cause, state) for (cause, _, _), state in zip(way, states[1:], strict=True)]

    @cached_property
    def _old(self) -> Recomputed:
        name = f"{self.old.release.version} with the present code"
        return self._built(name, self.old.settings, self.old.exports)

    @cached_property
    def _new(self) -> Recomputed:
        name = f"{self.new.release.version} with the present code"
        return self._built(name, self.new.settings, self.new.exports)

    @cached_property
    def _merged(self) -> Recomputed:
        privacy = (self.settings.privacy, self.new.settings.privacy)
        if same_settings(self.settings, self.new.settings) and privacy[0] == privacy[1]:
            return self._new
        name = f"the sources of {self.new.release.version} with the settings of "
        return self._built(name + self.old.release.version, self.settings, self.exports)

    def _with_changes(self, applied: Sequence[str]) -> Recomputed:
        """Build the old state with some kinds of changes to its sources; verdicts are held."""
        overrides: dict[str, Work] = {"control_judges": control_with(self._held)}
        settings, exports = self.settings, self.exports
        if cells.ITEM_TABLES in self.kinds and cells.ITEM_TABLES not in applied:
            settings = settings.model_copy(update={"items": self.old.settings.items})
            exports = pa.concat_tables(
                [_of_kind(exports, "judgments"), _of_kind(self.old.exports, "items")]
            )
        of_judgments = [kind for kind in self.kinds if kind in cells.JUDGMENT_CHANGES]
        if not set(of_judgments) <= set(applied):
            work = settle_between(
                self._old.resolved_judgments(), self._merged.resolved_judgments(), applied
            )
            overrides["settle_judgments"] = work
        name = f"{self.old.release.version} with {', '.join(applied)} of {self.new.release.version}"
        return self._built(f"{name}, verdicts held", settings, exports, overrides)

    @cached_property
    def _held(self) -> HeldVerdicts:
        scope = self.old.settings.quality.scope
        return held_verdicts(self._old.table("judge_tests"), scope=scope)

    def _compare_sources(self) -> None:
        """Find what differs in judgments and item tables, and whether verdicts follow."""
        old = self._old.resolved_judgments()
        new = self._settled_with_old_settings()
        self.judgments = changed_judgments(
            self.queries, (self.old.release, self.new.release), (old.judgments, new.judgments)
        )
        counts = counts_of(self.judgments)
        has_changes = {
            cells.NEW: counts["new"] > 0,
            cells.CORRECTED: counts["corrected"] + counts["restated"] > 0,
            cells.WITHDRAWN: counts["withdrawn"] > 0,
            cells.ADJUDICATIONS: any(
                n for name, n in counts.items() if name.endswith("adjudications")
            ),
        }
        files = (self._old.files, self._merged.files)
        differ = {name: files[0][name].sha256 != files[1][name].sha256 for name in OF_JUDGMENTS}
        # records that do not count can still move the scale that a task is taken to have
        has_changes[cells.OTHER_RECORDS] = differ["tasks"] and not any(has_changes.values())
        has_changes[cells.ITEM_TABLES] = any(differ[name] for name in OF_ITEMS)
        self.kinds = tuple(kind for kind, is_found in has_changes.items() if is_found)
        self.verdicts_differ = self._held.differ(self._merged.table("judge_tests"))

    def _settled_with_old_settings(self) -> SettledJudgments:
        """Return judgments of the new exports under the old settings, or as few new as needed."""
        wider = {"sources": self.new.settings.sources, "items": self.new.settings.items}
        named = {"privacy": self.old.settings.privacy}  # judges are matched by name
        for settings, what in (
            (self.settings.model_copy(update=wider), "mappings of sources"),
            (self.new.settings.model_copy(update=named), "settings"),
        ):
            try:
                return self._merged.resolved_judgments()
            except (ConfigError, InputError) as error:
                self.notes.append(
                    f"{what} changed together with the exports, and count as sources: with those "
                    f"of {self.old.release.version}, {error.title}"
                )
                self.settings, self.exports = settings, self.new.exports
                self.__dict__.pop("_merged", None)
        return self._merged.resolved_judgments()

    def _built(
        self,
        name: str,
        settings: Campaign,
        exports: pa.Table,
        overrides: Mapping[str, Work] | None = None,
    ) -> Recomputed:
        def on_progress(message: str) -> None:
            if not message.startswith(("warn: ", "error: ")):  # gates of what is not published
                self.progress(type(message)(f"  {message}"))

        build = self.builds.enter_context(
            temporary_build(
                self.campaign, settings, exports, progress=on_progress, overrides=overrides
            )
        )
        self.recomputed.append(Recomputed(name, build, self.progress))
        return self.recomputed[-1]


def _of_kind(exports: pa.Table, kind: str) -> pa.Table:
    return exports.filter(pc.equal(exports["kind"], kind))
