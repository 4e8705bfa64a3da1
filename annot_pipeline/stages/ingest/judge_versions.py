"""Names of models with version, prompt and temperature: each of them is a judge of its own."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config.judges import prompt_hash
from annot_pipeline.contracts import TEXT

PARTS: Final = (
    ("judge_version", "version"), ("judge_prompt", "prompt"), ("judge_temperature", "temperature")
)  # fmt: skip
"""Fields of records, and what each is called in a name; as `config.judges.versioned_name`."""


def name_versions(fields: dict[str, pa.Array]) -> None:
    """Add version, prompt and temperature to the names of judges; of a prompt its hash is kept."""
    if "judge_prompt" in fields:
        fields["judge_prompt"] = _hashed(fields["judge_prompt"])
    if "judge_version" in fields:  # parentheses end a name
        version = pc.replace_substring(fields["judge_version"], "(", "[")
        fields["judge_version"] = pc.replace_substring(version, ")", "]")
    mapped = [(field, word) for field, word in PARTS if field in fields]
    if not mapped:
        return
    parts = [
        pc.binary_join_element_wise(pa.scalar(f", {word} "), _shown(fields[field]), "").fill_null(
            ""
        )
        for field, word in mapped
    ]
    joined = pc.utf8_slice_codeunits(pc.binary_join_element_wise(*parts, ""), start=2)
    named = pc.binary_join_element_wise(
        fields["judge"], pa.scalar(" ("), joined, pa.scalar(")"), ""
    )
    fields["judge"] = pc.if_else(pc.equal(joined, ""), fields["judge"], named)


def _hashed(prompts: pa.Array) -> pa.Array:
    encoded = prompts.dictionary_encode()
    hashes = pa.array(map(prompt_hash, encoded.dictionary.to_pylist()), TEXT)
    return pc.take(hashes, encoded.indices)


def _shown(values: pa.Array) -> pa.Array:
    """Return values as text; a number as Python's ``:g`` has it."""
    if pa.types.is_string(values.type):
        return values
    encoded = values.dictionary_encode()
    texts = pa.array([f"{value:g}" for value in encoded.dictionary.to_pylist()], TEXT)
    return pc.take(texts, encoded.indices)
