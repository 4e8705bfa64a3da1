"""Our own regular expressions take time in proportion to the text: long blanks stop no build."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from annot_pipeline.errors import InputError
from annot_pipeline.exports import READERS, Opening
from annot_pipeline.stages.gold.read_rewards import read_rewards

N = 400_000


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    """Stop what would take hours; all tests here end in less than a second."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("reward", [" " * N + "x", "1" + " " * N + "x", "$" + " " * N + "x"])
def test_a_reward_of_blanks_is_no_amount(reward):
    table, unread = read_rewards([reward])
    assert (table.num_rows, len(unread)) == (0, 1)


@pytest.mark.parametrize(
    ("reward", "amount", "currency"),
    [
        (" 0.05 ", "0.050000", None),
        ("$ 0.05", "0.050000", "$"),
        ("0.05  USD ", "0.050000", "USD"),
        ("€1,20", "1.200000", "€"),
        ("US$ .5", "0.500000", "US$"),
        ("3€", "3.000000", "€"),
    ],
)
def test_amounts_are_read_as_before(reward, amount, currency):
    (row,) = read_rewards([reward])[0].to_pylist()
    assert (str(row["amount"]), row["currency"]) == (amount, currency)


def test_a_file_of_blank_lines_is_no_file_of_hits(tmp_path):
    path = tmp_path / "hits.txt"
    path.write_text("x\n" + "\n" * N + "x")
    with pytest.raises(InputError):
        _ = [*READERS["hits"](Opening(path, path.name)).chunks]
