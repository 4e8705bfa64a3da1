"""The reference of the command line is what argparse has, and leaves nothing unexplained."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from annot_pipeline.cli import COMMANDS, main
from tests.assets_defs.campaigns import write_campaign
from tests.recorded_pages import check_page
from tests.reference.cli_page import JSON, PAGES, actions, cli_page, subcommands

DOCS = Path(__file__).parents[2] / "docs"
COMMAND_NAMES = [command.name for command in COMMANDS]


def test_the_page_is_up_to_date():
    check_page(DOCS / "reference" / "cli.md", cli_page())


@pytest.mark.parametrize("name", COMMAND_NAMES)
def test_every_argument_has_a_help_text(name):
    blank = [a.dest for a in actions(subcommands()[name]) if not (a.help or "").strip()]
    assert blank == []


@pytest.mark.parametrize("name", COMMAND_NAMES)
def test_help_texts_read_alike(name):
    """A help text begins in lower case and ends without a full stop, as those of argparse do."""
    texts = [str(action.help) for action in actions(subcommands()[name])]
    odd = [
        t for t in texts if re.search(r"[^.]\.$", t) or (t[:1].isupper() and not t[:2].isupper())
    ]
    assert odd == []


@pytest.mark.parametrize("name", COMMAND_NAMES)
def test_help_says_what_the_exit_status_means(name, capsys):
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    assert end.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert re.search(r"Exit status: 0 done; 1 \S.*; 2 wrong usage or configuration\.$", shown)


def test_every_command_has_a_page():
    assert list(PAGES) == COMMAND_NAMES
    assert sorted(JSON) == sorted(COMMAND_NAMES)
    for page in PAGES.values():
        file, _, anchor = page.partition("#")
        headings = re.findall(r"^#+ (.*)$", (DOCS / file).read_text(), re.MULTILINE)
        slugs = [re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")
                 for heading in headings]  # fmt: skip
        assert not anchor or anchor in slugs, page


@pytest.mark.slow
def test_json_documents_have_the_keys_that_are_named(tmp_path, capsys):
    folder = write_campaign(tmp_path / "small")
    for name in ("build", "validate", "status", "releases"):
        assert main([name, str(folder), "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert set(re.findall(r"`(\w+)`", JSON[name])) == set(document), name
