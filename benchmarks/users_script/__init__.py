"""A release as it is made today: pandas, numpy, scipy, crowd-kit, krippendorff.

`python -m benchmarks.users_script EXPORTS OUT` reads ``labels-*.csv`` and ``scores-*.csv`` and
writes the tables that `annot build` makes of such a campaign by default, as Parquet: labels,
label_distributions, prevalence, judge_confusion, judges, scores, system_rankings,
system_comparisons, agreement, items, judgments, lineage; and a manifest with the hash of every
file. Written by somebody who knows the libraries: what a library has is the library's, the rest is
arithmetic on whole columns. `reading` has ids, fates and lineage, `judges` the tests and z-scores,
`labels` Dawid-Skene, `scores` items and systems, `agreement` the statistics.

By default every interval has as many bootstrap rounds as ours: 200 for agreement, 1,000 for
systems. For that all statistics but alpha of labels are written in numpy, for many rounds at a
time. ``--by-library --rounds 3`` is the script of somebody who takes alphas of scores from
krippendorff: they have no interval then, and other agreement has one of 3 rounds.

It trusts its input: no row is malformed, no file comes twice, no score lies outside of 0 to 100.
It leaves out gates and checks, the archive of raw bytes, the report, the data card, the catalog,
what a second build would use again, and in the tables: reasons for what is missing, class
identity (``named``, ``names_truth``), chance and bias of judges. evalica and trueskill have
nothing to do: labels and scores of this kind hold no comparisons, and `annot build` makes none.
"""
