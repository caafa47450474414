"""The arguments of events that HTA knows, in the form of HTA's file."""
from __future__ import annotations

import json

from .event_args_yaml_parser import parse_event_args_yaml, v1_0_0


def _entry(key: str) -> str:
    spec = parse_event_args_yaml(v1_0_0).AVAILABLE_ARGS[key]
    lines = [f"  {key}:", f"    name: {spec.name}", f"    raw_name: {json.dumps(spec.raw_name)}", f"    value_type: {spec.value_type.name}",
             f"    default_value: {json.dumps(spec.default_value)}"]
    if spec.min_supported_version != v1_0_0:
        lines.append(f"    min_supported_version: {spec.min_supported_version.get_version_str()}")
    return "\n".join(lines)


DEFAULT_EVENT_ARGS_YAML: str = "\n".join(["version: 1.0.0", "", "AVAILABLE_ARGS:", *map(_entry, parse_event_args_yaml(v1_0_0).AVAILABLE_ARGS), ""])
