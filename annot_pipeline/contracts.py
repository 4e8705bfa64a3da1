"""Every table, declared once: columns, types, units, key, allowed values.

The Parquet schema, the Dagster column schema, the contract gates and the documentation
all come from here. A new gold table is one entry in `GOLD`, and an output of the stage that
makes it (annot_pipeline.pipeline). What does not belong here: how a table is made (steps, sql)
and where it lies (storage).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

SCHEMA_VERSION = 1
"""Raised, with a line in CHANGELOG.md, whenever a released table changes its columns."""

FATES = ("rejected", "duplicate", "superseded", "judge_failed", "control", "used")
"""What can become of a record; the first that applies."""

CONTROLS = ("none", "ask_again", "bad_reference", "good_reference", "known_answer")
VERDICTS = ("passed", "failed", "undetermined", "untested")
LEFT_OUT_OF = ("judge_control", "z_scores", "comparisons", "system_rankings")
PREFERENCES = ("a", "b", "tie")
ADEQUACY_SOURCES = ("asked", "reference", "spread", "unknown")

TEXT, INT, REAL, FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
TIME = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class Column:
    """One column: its Arrow type, what it says (with its unit), and what it may hold."""

    name: str
    type: pa.DataType
    description: str
    nullable: bool = False
    allowed: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True)
class Table:
    """One table: what a row is, the columns, and the key that it is sorted by."""

    name: str
    row: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    unique: bool = True
    schema: pa.Schema = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        fields = [
            pa.field(c.name, c.type, c.nullable, {"description": c.description})
            for c in self.columns
        ]
        schema = pa.schema(fields, {"table": self.name, "row": self.row, "key": ",".join(self.key)})
        object.__setattr__(self, "schema", schema)

    def empty(self) -> pa.Table:
        """The table without rows."""
        return self.schema.empty_table()

    def of(self, columns: dict[str, pa.Array | Iterable[object]]) -> pa.Table:
        """The table from its columns, cast to the declared types and sorted by the key.

        A declared column that is nullable and not given is null throughout.
        """
        n_rows = len(next(iter(columns.values())))  # type: ignore[arg-type]
        arrays = []
        for c in self.columns:
            if c.name not in columns and c.nullable:
                arrays.append(pa.nulls(n_rows, c.type))
                continue
            values = columns[c.name]
            if not isinstance(values, pa.Array | pa.ChunkedArray):
                values = pa.array(values, c.type)
            arrays.append(values.cast(c.type))
        unknown = columns.keys() - {c.name for c in self.columns}
        if unknown:
            raise ValueError(f"{self.name} has no columns {sorted(unknown)}")
        table = pa.Table.from_arrays(arrays, schema=self.schema)
        return table.sort_by([(name, "ascending") for name in self.key]) if n_rows else table


def _share(name: str, description: str, *, nullable: bool = False) -> Column:
    return Column(name, REAL, description, nullable, minimum=0, maximum=1)


def _count(name: str, description: str, *, nullable: bool = False) -> Column:
    return Column(name, INT, description, nullable, minimum=0)


def _text(name: str, description: str, *, nullable: bool = False) -> Column:
    return Column(name, TEXT, description, nullable)


def _real(name: str, description: str, *, nullable: bool = True) -> Column:
    return Column(name, REAL, description, nullable)


_TASK = _text("task", "What was asked; a campaign has one or more tasks")
_ITEM = _text("item", "What was judged; without an item field: segment/system")
_JUDGE = _text("judge", "Who judged; a pseudonym (HMAC-SHA256) unless privacy.pseudonymize is off")
_SEGMENT = _text("segment", "Input that several systems worked on", nullable=True)
_SYSTEM = _text("system", "System whose output the item is", nullable=True)

LABELS = Table(
    "labels",
    "one task, item",
    ("task", "item"),
    (
        _TASK,
        _ITEM,
        _text("label", "Most probable class; ties broken by class order"),
        _share("probability", "Posterior probability of the label under Dawid-Skene"),
        Column("certain", FLAG, "Whether probability >= 0.99"),
        Column("entropy", REAL, "Entropy of the posterior distribution, nats", minimum=0),
        _count("n_judgments", "Judgments used"),
        _count("n_judges", "Distinct judges of the judgments used"),
        _text("majority_label", "Label with most votes; ties broken by class order"),
        _share("majority_share", "Share of the judgments that gave majority_label"),
        _share("support", "Share of the judgments that gave label"),
        Column("adjudicated", FLAG, "Whether an expert's decision overrides the model"),
    ),
)

LABEL_DISTRIBUTIONS = Table(
    "label_distributions",
    "one task, item, label",
    ("task", "item", "label"),
    (
        _TASK,
        _ITEM,
        _text("label", "A class of the task"),
        _share("probability", "Posterior probability of the class under Dawid-Skene"),
        _count("votes", "Judgments used that gave this label"),
    ),
)

PREVALENCE = Table(
    "prevalence",
    "one task, label",
    ("task", "label"),
    (
        _TASK,
        _text("label", "A class of the task"),
        _count("label_order", "Place of the class in the task's class order, from 0"),
        _share("prevalence", "Share of items with this class, estimated by the model"),
        _share("vote_share", "Share of raw labels"),
        _share("plurality_frequency", "Share of items whose majority_label it is"),
        _share("majority_frequency", "Share of items where more than half the labels are it"),
        _share(
            "support",
            "Mean share of the votes that the inferred label got, over items inferred as this "
            "class; null without items",
            nullable=True,
        ),
        _share(
            "plurality_support",
            "Mean share of the votes that the most frequent label got, over the same items",
            nullable=True,
        ),
        _share(
            "plurality_agreement",
            "Share of the same items whose most frequent label (ties count) is this class",
            nullable=True,
        ),
        Column(
            "named",
            FLAG,
            "Whether judges who see this class most often answer its own name; null without mass",
            True,
        ),
        Column(
            "names_truth",
            FLAG,
            "Whether this class is the most likely truth behind its name; null if never answered",
            True,
        ),
        _count("n_items", "Items whose inferred label it is"),
        _count("n_certain", "Of these, items with probability >= 0.99"),
    ),
)

JUDGE_CONFUSION = Table(
    "judge_confusion",
    "one task, judge, true label, observed label",
    ("task", "judge", "true_label", "observed_label"),
    (
        _TASK,
        _JUDGE,
        _text("true_label", "Class of the item"),
        _text("observed_label", "Label that the judge gave"),
        _share("probability", "Probability that the judge answers observed_label to true_label"),
    ),
)

JUDGES = Table(
    "judges",
    "one task, judge",
    ("task", "judge"),
    (
        _TASK,
        _JUDGE,
        _count("n_judgments", "Judgments used, set aside as controls, or of a judge who failed"),
        Column("verdict", TEXT, "Outcome of judge control", allowed=VERDICTS),
        _text("verdict_reason", "Why there is no test, or how it was decided", nullable=True),
        Column("dropped", FLAG, "Whether the judge's judgments have the fate judge_failed"),
        _text("test", "Test of judge control", nullable=True),
        _text("contrast", "What the test compares", nullable=True),
        _real("statistic", "t, or standard normal z, or number of right answers"),
        _real(
            "effect",
            "Difference that the test is about, points of the scale; for known "
            "answers accuracy minus chance",
        ),
        _share("p_value", "One-sided p", nullable=True),
        _share(
            "p_adjusted",
            "The same, corrected over judges as quality.correction says",
            nullable=True,
        ),
        _count("n_pairs", "Pairs, scores of the smaller sample, or known answers in the test"),
        _count("n_ask_again", "Judgments of repeated items"),
        _count("n_bad_reference", "Judgments of degraded copies"),
        _count("n_good_reference", "Judgments of references"),
        _count("n_known_answers", "Questions with a known answer"),
        _share("known_answer_accuracy", "Share of them answered right", nullable=True),
        _share("known_answer_low", "Lower end of its 95% interval (Wilson)", nullable=True),
        _share("known_answer_high", "Upper end of its 95% interval (Wilson)", nullable=True),
        _real("mean", "Mean score, points of the scale, as z-scores take it"),
        _real("sd", "Standard deviation of the scores (ddof 1), as z-scores take it"),
        _real("mean_ordinary", "Mean score of ordinary outputs and repeats"),
        _real("mean_good_reference", "Mean score of references"),
        _real("mean_bad_reference", "Mean score of degraded copies"),
        _text("no_z_reason", "Why the judge has no z-scores", nullable=True),
        _count("n_graphs", "Segments whose outputs the judge compared", nullable=True),
        _count(
            "n_graphs_in_contradiction",
            "Of these, segments where the judge's comparisons contradict each other",
            nullable=True,
        ),
        _share(
            "consistency",
            "Share of the outputs compared that are outside of the judge's contradictions",
            nullable=True,
        ),
        _real(
            "seconds_per_judgment",
            "Mean seconds a judgment; from the seconds of HITs where judgments have none",
        ),
        _count(
            "longest_constant_run",
            "Longest run of equal scores; null if nothing tells the order of work",
            nullable=True,
        ),
        _share(
            "share_at_ends",
            "Share of scores at the lowest or highest point of the declared scale",
            nullable=True,
        ),
        _share("accuracy", "Confusion diagonal weighted by prevalence", nullable=True),
        _share("mean_class_accuracy", "Unweighted mean of the confusion diagonal", nullable=True),
        _share(
            "mean_met_class_accuracy",
            "The same mean without classes that no item was inferred to have",
            nullable=True,
        ),
        _share(
            "chance_accuracy",
            "Accuracy of a judge who gives labels as often but without looking",
            nullable=True,
        ),
        Column("below_chance", FLAG, "Whether accuracy < chance_accuracy", True),
        _text("bias_label", "Label that the judge overuses most", nullable=True),
        _real("bias", "Share of bias_label among expected answers minus its prevalence"),
    ),
)

SCORES = Table(
    "scores",
    "one task, item",
    ("task", "item"),
    (
        _TASK,
        _ITEM,
        _SEGMENT,
        _SYSTEM,
        _count("n_judgments", "Judgments used, of judges kept"),
        _real(
            "raw_mean",
            "Mean score of the judges kept, points of the scale; as filtered_mean in "
            "system_rankings",
        ),
        _real("z_mean", "Mean z-score of the judges kept"),
        _count("n_unfiltered", "Judgments of all judges, kept or not"),
        _real(
            "unfiltered_mean",
            "Mean score of all judges, points of the scale; as raw_mean in system_rankings",
        ),
        _share(
            "easl_score",
            "Mode of the item's Beta distribution, 0 to 1 of the scale: the mean of its scores",
            nullable=True,
        ),
        _real("easl_alpha", "First parameter of the Beta distribution: 1 + sum of the scores"),
        _real("easl_beta", "Second parameter: 1 + sum of what the scores leave to the top"),
        _real("easl_variance", "Variance of the Beta distribution"),
        _share("easl_low", "Lower end of its central 95% interval", nullable=True),
        _share("easl_high", "Upper end of its central 95% interval", nullable=True),
        _count("n_comparisons", "Comparisons with items of the same judge, HIT and segment"),
        _share("ra_score", "Bounded ranking aggregation of the comparisons, 0 to 1", nullable=True),
        _real("trueskill_mean", "TrueSkill of the comparisons: mean, no bounds"),
        _real("trueskill_sd", "TrueSkill of the comparisons: standard deviation"),
        _text("reason", "Why something is missing", nullable=True),
    ),
)

SEGMENT_RANKS = Table(
    "segment_ranks",
    "one task, segment, item",
    ("task", "segment", "item"),
    (
        _TASK,
        _text("segment", "Input that several systems worked on; the task where none is mapped"),
        _ITEM,
        _SYSTEM,
        _count("n_comparisons", "Comparisons of the output by judges kept; 0: settled by its text"),
        Column(
            "dominance",
            INT,
            "Outputs dominated minus outputs that dominate; added up over judges where "
            "ranking.segment_graphs is judge",
        ),
        _count("n_dominates", "Outputs that this one dominates"),
        _count("n_dominated_by", "Outputs that dominate this one"),
        _count("rank", "Dense rank by dominance, 1 is best, within the part"),
        _count("part", "Part of the segment's graph: no comparison connects it with another"),
        _count("component", "Outputs of one number are one vertex: ties, or a contradiction"),
        Column("in_contradiction", FLAG, "Whether a cycle with a strict preference holds it"),
        Column("adequate", FLAG, "Whether the output is good enough", True),
        Column("adequacy_source", TEXT, "Where adequate comes from", allowed=ADEQUACY_SOURCES),
        _count(
            "harmonized_rank",
            "Dense rank after adequacy, 1 is best; null if any of the part is of unknown adequacy",
            nullable=True,
        ),
    ),
)

SYSTEM_RANKINGS = Table(
    "system_rankings",
    "one task, method, system",
    ("task", "method", "system"),
    (
        _TASK,
        _text(
            "method",
            "How the score is made; raw_mean: all judges, filtered_mean and z_mean: judges kept",
        ),
        _text("system", "System"),
        _count(
            "rank",
            "Rank, 1 is best, ties 1 2 2 4; null without judgments that count",
            nullable=True,
        ),
        _real("score", "Score of the method"),
        _real("ci_low", "Lower end of the 95% bootstrap interval"),
        _real("ci_high", "Upper end of the 95% bootstrap interval"),
        _count("rank_low", "Best rank in the 95% interval", nullable=True),
        _count("rank_high", "Worst rank in the 95% interval", nullable=True),
        _count("wins", "Systems beaten significantly", nullable=True),
        _count("cluster", "Cluster, 1 is best", nullable=True),
        _count(
            "component",
            "Part of the comparison graph within which the rank holds; null where there is one",
            nullable=True,
        ),
        _count("n_segments", "Segments judged"),
        _count("n_judgments", "Judgments used"),
        _text("reason", "Why something is missing", nullable=True),
    ),
)

SYSTEM_COMPARISONS = Table(
    "system_comparisons",
    "one task, method, ordered system pair",
    ("task", "method", "system_a", "system_b"),
    (
        _TASK,
        _text("method", "How the scores are made"),
        _text("system_a", "System that may be better"),
        _text("system_b", "System that may be worse"),
        _real("difference", "Score of a minus score of b"),
        _share("p_value", "One-sided p that a is better", nullable=True),
        _share("p_adjusted", "The same, Holm-adjusted", nullable=True),
        Column(
            "a_beats_b",
            FLAG,
            "Whether p_value, or p_adjusted if ranking.correction is holm, is below ranking.alpha",
        ),
    ),
)

AGREEMENT = Table(
    "agreement",
    "one task, statistic",
    ("task", "statistic"),
    (
        _TASK,
        _text("statistic", "Name of the statistic"),
        _real("value", "Value; null where undefined"),
        _real("ci_low", "Lower end of the 95% bootstrap interval"),
        _real("ci_high", "Upper end of the 95% bootstrap interval"),
        _count("n_items", "Items that the statistic rests on: with two or more judgments"),
        _count("n_judges", "Judges of these items"),
    ),
)

ITEMS = Table(
    "items",
    "one item",
    ("item",),
    (
        _ITEM,
        _SEGMENT,
        _SYSTEM,
        _text("text", "What the judges saw", nullable=True),
        _text("source", "Input of the system", nullable=True),
        _text("reference", "Reference output", nullable=True),
        _text("truth", "Known answer, for evaluation only; null if tasks differ", nullable=True),
    ),
)

SET_ASIDE = Table(
    "set_aside",
    "one judgment and what it was left out of",
    ("task", "item", "judge", "judgment_id", "left_out_of"),
    (
        _TASK,
        _ITEM,
        _JUDGE,
        _text("judgment_id", "Id of the judgment, as in lineage"),
        Column("left_out_of", TEXT, "Calculation that could not take it", allowed=LEFT_OUT_OF),
        _text("reason", "Why"),
    ),
)

LINEAGE = Table(
    "lineage",
    "one record: a judgment cell of a raw row",
    ("task", "item", "judge", "judgment_id", "source_sha256", "source_row", "cell"),
    (
        _text("judgment_id", "Id of the judgment; null if rejected", nullable=True),
        _text("task", "What was asked; null if the row does not tell", nullable=True),
        _text("item", "What was judged; null if the row does not tell", nullable=True),
        _text("judge", "Who judged; null if the row does not tell", nullable=True),
        Column("fate", TEXT, "What became of the record", allowed=FATES),
        _text("reason", "Why, unless the judgment is used", nullable=True),
        _text("source_sha256", "SHA-256 of the export's bytes, as archived"),
        _text("source_file", "Path of the export relative to campaign.yaml"),
        Column("source_row", INT, "Row in the export, from 1, header not counted", minimum=1),
        _text("cell", "Cell of the row, where a row holds several", nullable=True),
    ),
    unique=False,  # one file under two names or two sources gives equal keys
)


def fates_text(fates: Mapping[str, int]) -> str:
    """Counts by fate for people: those that matter first, those that did not occur left out."""
    found = [f"{fates[fate]:,} {fate}" for fate in reversed(FATES) if fates.get(fate)]
    return ", ".join(found) or "none"


GOLD: dict[str, Table] = {
    table.name: table
    for table in (
        LABELS,
        LABEL_DISTRIBUTIONS,
        PREVALENCE,
        JUDGE_CONFUSION,
        JUDGES,
        SCORES,
        SEGMENT_RANKS,
        SYSTEM_RANKINGS,
        SYSTEM_COMPARISONS,
        AGREEMENT,
        ITEMS,
        SET_ASIDE,
        LINEAGE,
    )
}
"""The tables of a release; each is always there, possibly empty."""
