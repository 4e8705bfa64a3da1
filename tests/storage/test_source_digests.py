"""The store tells which archived bytes a published digest stands for, without the key too."""

from __future__ import annotations

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.storage.source_digests import SourceDigests
from annot_pipeline.storage.store import Store

ROWS = "item,judge,label\n" + "".join(f"i{n},w{judge},a\n" for n in range(4) for judge in range(3))


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("n_exports", [1, 2, 5])
def test_recorded_digests_need_no_key(build_campaign, tmp_path, monkeypatch, n_exports):
    built = build_campaign({f"{n}.csv": ROWS.replace("\ni", f"\ne{n}i") for n in range(n_exports)})
    monkeypatch.setenv("ANNOT_KEY", "another key, as long as a key has to be")
    campaign = load_campaign(tmp_path / "campaign")
    digests = SourceDigests(Store(campaign.store), campaign.settings)
    sources = built.publication.release.manifest["sources"]
    assert len(sources) == n_exports
    for source in sources:
        sha256 = digests.sha256(source["source_digest"])
        assert sha256 is not None
        assert (campaign.store / "archive" / sha256[:2] / sha256).is_file()


def test_what_is_recorded_is_read_in_any_order_and_damage_is_not(tmp_path):
    store, settings = Store(tmp_path), None
    SourceDigests(store, settings).record({"b" * 64: "2" * 64, "a" * 64: "1" * 64})
    digests = SourceDigests(store, settings)
    assert digests.sha256("a" * 64) == "1" * 64
    [file] = (tmp_path / "digests").iterdir()
    digests.record({"a" * 64: "1" * 64})
    assert [*(tmp_path / "digests").iterdir()] == [file]
    file.write_text(file.read_text().replace("1" * 64, "3" * 64))
    assert SourceDigests(store, settings)._recorded == {}
