"""The arguments of events that HTA knows. HTA keeps them in YAML; here they are a table, so that nothing is needed to read it."""
from __future__ import annotations

import os  # noqa: F401 (HTA looks for a file here; code written for it may replace os.path of this module)
from functools import lru_cache, partial
from typing import Any

from .default_values import AttributeSpec, EventArgs, ValueType, YamlVersion

v1_0_0: YamlVersion = YamlVersion(1, 0, 0)

# key | column | key in the file | type | default | since
_ARGUMENTS = """
index::ev_idx | ev_idx | Ev Idx | Int | -1
index::external_id | external_id | External id | Int | -1
index::python_id | python_id | Python id | Int | -1
index::python_parent_id | python_parent_id | Python parent id | Int | -1
cpu_op::concrete_inputs | concrete_inputs | Concrete Inputs | Object | []
cpu_op::fwd_thread | fwd_thread_id | Fwd thread id | Int | -1
cpu_op::input_dims | input_dims | Input Dims | Object | -1
cpu_op::input_type | input_type | Input type | Object | -1
cpu_op::input_strides | input_strides | Input Strides | Object | -1
cpu_op::sequence_number | sequence | Sequence number | Int | -1
cpu_op::kernel_backend | kernel_backend | kernel_backend | String |
cpu_op::kernel_hash | kernel_hash | kernel_hash | String | | 1.1.0
correlation::cbid | cbid | cbid | Int | -1
correlation::cpu_gpu | correlation | correlation | Int | -1
sm::blocks | blocks_per_sm | blocks per SM | Object | []
sm::occupancy | est_occupancy | est. achieved occupancy % | Int | -1
sm::warps | warps_per_sm | warps per SM | Float | 0.0
data::bytes | bytes | bytes | Int | -1
data::bandwidth | memory_bw_gbps | memory bandwidth (GB/s) | Float | 0.0
cuda::context | context | context | Int | -1
cuda::device | device | device | Int | -1
cuda::stream | stream | stream | Int | -1
kernel::queued | queued | queued | Int | -1
kernel::shared_memory | shared_memory | shared memory | Int | -1
threads::block | block | block | Object | []
threads::grid | grid | grid | Object | []
threads::registers | registers_per_thread | registers per thread | Int | -1
cuda_sync::stream | wait_on_stream | wait_on_stream | Int | -1
cuda_sync::event | wait_on_cuda_event_record_corr_id | wait_on_cuda_event_record_corr_id | Int | -1
info::finished | finished | finished | String |
info::labels | labels | labels | String |
info::name | name | name | Int | -1
info::op_count | op_count | Op count | Int | -1
info::sort_index | sort_index | sort_index | Int | -1
nccl::collective_name | collective_name | Collective name | String |
nccl::in_msg_nelems | in_msg_nelems | In msg nelems | Int | 0
nccl::out_msg_nelems | out_msg_nelems | Out msg nelems | Int | 0
nccl::in_msg_size | in_msg_size | In msg size | Int | 0
nccl::out_msg_size | out_msg_size | Out msg size | Int | 0
nccl::group_size | group_size | Group size | Int | 0
nccl::dtype | msg_dtype | dtype | String |
nccl::in_split_size | in_split_size | In split size | Object | []
nccl::out_split_size | out_split_size | Out split size | Object | []
nccl::input_tensors_start | input_tensors_start | Input Tensors start | Object | [] | 1.2.0
nccl::output_tensors_start | output_tensors_start | Output Tensors start | Object | [] | 1.2.0
nccl::process_group_name | process_group_name | Process Group Name | String |
nccl::process_group_desc | process_group_desc | Process Group Description | String |
nccl::process_group_ranks | process_group_ranks | Process Group Ranks | Object | []
nccl::rank | process_rank | Rank | Int | -1
nccl::seq | seq_num | Seq | Int | -1
inference::batch_size | batch_size | batchSize | Int | -1
inference::batch_id | batch_id | batchId | String |
"""

_Arguments = dict[str, AttributeSpec]


def _chosen(keys: list[str], available_args: _Arguments) -> list[AttributeSpec]:
    return [available_args[key] for key in keys if key in available_args]


# Groups of arguments, as functions of what is available.
ARGS_INDEX_FUNC = partial(_chosen, ["index::external_id", "index::python_id", "index::python_parent_id"])
ARGS_INPUT_SHAPE_FUNC = partial(_chosen, ["cpu_op::input_dims", "cpu_op::input_type", "cpu_op::input_strides"])
ARGS_BANDWIDTH_FUNC = partial(_chosen, ["data::bytes", "data::bandwidth"])
ARGS_SYNC_FUNC = partial(_chosen, ["cuda_sync::stream", "cuda_sync::event"])
ARGS_MINIMUM_FUNC = partial(_chosen, ["cuda::stream", "correlation::cpu_gpu"])
ARGS_INFO_FUNC = partial(_chosen, ["info::labels", "info::name", "info::sort_index"])
ARGS_COMMUNICATION_FUNC = partial(_chosen, ["nccl::collective_name", "nccl::in_msg_nelems", "nccl::out_msg_nelems", "nccl::dtype",
                                            "nccl::group_size", "nccl::rank", "nccl::in_split_size", "nccl::out_split_size"])
ARGS_TRITON_KERNELS_FUNC = partial(_chosen, ["cpu_op::kernel_backend", "cpu_op::kernel_hash"])


def ARGS_COMPLETE_FUNC(available_args: _Arguments) -> list[AttributeSpec]:  # noqa: N802 (HTA's name)
    """All but those of metadata.

    >>> from kino.hta.configs.event_args_yaml_parser import ARGS_COMPLETE_FUNC, parse_event_args_yaml, v1_0_0
    >>> "labels" in {spec.name for spec in ARGS_COMPLETE_FUNC(parse_event_args_yaml(v1_0_0).AVAILABLE_ARGS)}
    False
    """
    return [spec for key, spec in available_args.items() if not key.startswith("info")]


def ARGS_DEFAULT_FUNC(available_args: _Arguments) -> list[AttributeSpec]:  # noqa: N802 (HTA's name)
    """What frames have unless asked for more or less.

    >>> from kino.hta.configs.event_args_yaml_parser import ARGS_DEFAULT_FUNC, parse_event_args_yaml, v1_0_0
    >>> ARGS_DEFAULT_FUNC(parse_event_args_yaml(v1_0_0).AVAILABLE_ARGS)[0].name
    'stream'
    """
    groups = (ARGS_MINIMUM_FUNC, ARGS_BANDWIDTH_FUNC, ARGS_SYNC_FUNC, ARGS_INPUT_SHAPE_FUNC, ARGS_INDEX_FUNC, ARGS_COMMUNICATION_FUNC)
    return [spec for group in groups for spec in group(available_args)]


def _default(kind: ValueType, text: str) -> Any:
    return int(text) if kind is ValueType.Int else float(text) if kind is ValueType.Float else text


def _argument(line: str, version: YamlVersion) -> tuple[str, AttributeSpec]:
    key, column, raw_name, kind_name, text, *since = [word.strip() for word in line.split("|")]
    kind = ValueType[kind_name]
    since_version = YamlVersion.from_string(since[0]) if since else version
    return key, AttributeSpec(column, raw_name, kind, _default(kind, text), since_version)


@lru_cache(maxsize=None)
def parse_event_args_yaml(version: YamlVersion) -> EventArgs:
    """The arguments of a version; there is one list for all.

    >>> from kino.hta.configs.event_args_yaml_parser import parse_event_args_yaml, v1_0_0
    >>> parse_event_args_yaml(v1_0_0).AVAILABLE_ARGS["nccl::dtype"].name
    'msg_dtype'
    """
    known = dict(_argument(line, version) for line in _ARGUMENTS.strip().splitlines())
    return EventArgs(AVAILABLE_ARGS=known, ARGS_INPUT_SHAPE=ARGS_INPUT_SHAPE_FUNC(known), ARGS_BANDWIDTH=ARGS_BANDWIDTH_FUNC(known),
                     ARGS_SYNC=ARGS_SYNC_FUNC(known), ARGS_MINIMUM=ARGS_MINIMUM_FUNC(known), ARGS_COMPLETE=ARGS_COMPLETE_FUNC(known),
                     ARGS_INFO=ARGS_INFO_FUNC(known), ARGS_COMMUNICATION=ARGS_COMMUNICATION_FUNC(known),
                     ARGS_TRITON_KERNELS=ARGS_TRITON_KERNELS_FUNC(known), ARGS_DEFAULT=ARGS_DEFAULT_FUNC(known))
