"""What rules and configs say of themselves, written into the repository for whoever only reads."""

from __future__ import annotations

import json
from typing import Any

from steadyrl.core.registry import ALGORITHMS, config_class
from steadyrl.stability.explain import texts_of_rules
from steadyrl.stability.rule_texts import page_of

PACKAGE = "src/steadyrl/written"  # core/package_files.py reads it


def from_classes() -> dict[str, str]:
    """Each by its path, as it is to be."""
    rules = texts_of_rules()
    schemas = {name: config_class(name).model_json_schema() for name in ALGORITHMS}
    return {
        "docs/rules.md": page_of(rules),
        f"{PACKAGE}/rules.json": _json([rule._asdict() for rule in rules]),
        f"{PACKAGE}/schemas.json": _json(schemas),
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
