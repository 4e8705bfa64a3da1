import numpy as np

from annot_pipeline.methods.scores.zscores import longest_constant_runs


def test_runs_follow_the_order_of_work_not_of_rows():
    judges = np.array([0, 0, 0, 0, 1, 1])
    position = np.array([3, 0, 2, 1, 0, 1])
    scores = np.array([5.0, 7.0, 5.0, 5.0, 1.0, 2.0])  # judge 0 gave 7, 5, 5, 5
    assert longest_constant_runs(judges, judges, [position], scores, n_judges=3).tolist() == [
        3,
        1,
        0,
    ]
    order = np.array([2, 5, 0, 4, 1, 3])
    shuffled = longest_constant_runs(
        judges[order], judges[order], [position[order]], scores[order], n_judges=3
    )
    assert shuffled.tolist() == [3, 1, 0]


def test_a_run_does_not_go_over_to_the_next_judge():
    judges = np.array([0, 0, 1, 1])
    order = [np.array([0, 1, 0, 1])]
    assert longest_constant_runs(judges, judges, order, np.full(4, 9.0), n_judges=2).tolist() == [
        2,
        2,
    ]


def test_an_order_that_is_not_known_has_no_run():
    judges, when = np.array([0, 0, 1]), np.array([4, 4, 4])
    assert longest_constant_runs(judges, judges, [when], np.zeros(3), n_judges=2).tolist() == [
        -1,
        1,
    ]


def test_a_run_does_not_go_over_between_sittings_of_unknown_order():
    judges, sittings, position = np.zeros(6, int), np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
    same = np.full(6, 5.0)
    assert longest_constant_runs(judges, sittings, [position], same, n_judges=1).tolist() == [3]
