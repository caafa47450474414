# Made by tools/make-python-stubs from the definitions of the analyses: change them there.
from collections.abc import Iterable
from typing import Any, Literal

from ._table import Result, Table
from ._definitions import Analysis
from ._values import Size, Time

RESULTS: dict[str, type[Result]]

def doc_of(analysis: Analysis) -> str: ...
def result_class_name(analysis: Analysis) -> str: ...

class CompletenessResult(Result):
    findings: Table
    checks: Table
    recorder_losses: Table

class OverviewResult(Result):
    configuration: Table
    gpu_summary: Table
    execution_summary: Table
    step_breakdown: Table
    utilization_series: Table
    sm_efficiency_series: Table

class OperatorsResult(Result):
    operators: Table
    call_stacks: Table

class TensorCoresResult(Result):
    devices: Table
    ratios: Table
    operators: Table
    kernels: Table

class MemoryResult(Result):
    memory_statistics: Table
    memory_events: Table
    memory_curve: Table
    memory_peaks: Table

class MemoryTimelineResult(Result):
    memory_timeline: Table
    memory_peak: Table
    memory_categories: Table

class LightningResult(Result):
    lightning: Table
    lightning_actions: Table

class DistributedResult(Result):
    computation_overview: Table
    communication_overview: Table
    communication_ops: Table
    workers: Table

class IdleTimeResult(Result):
    idle: Table
    interval_stats: Table

class KernelBreakdownResult(Result):
    kernel_type: Table
    kernel: Table

class AnnotatedKernelsResult(Result):
    annotated_kernels: Table
    by_annotation: Table

class QueueLengthResult(Result):
    queue_length_summary: Table
    queue_length_series: Table

class LaunchStatsResult(Result):
    launch_stats: Table
    launch_summary: Table

class MemoryBandwidthResult(Result):
    memory_bw_summary: Table
    memory_bw_series: Table

class CallGraphResult(Result):
    stacks: Table
    nodes: Table

class KernelSequencesResult(Result):
    kernel_sequences: Table
    kernel_sequence_calls: Table

class CuptiCountersResult(Result):
    counters_by_kernel: Table
    counter_values: Table

class OpsDiffResult(Result):
    ops_diff: Table
    sides: Table

class StragglersResult(Result):
    stragglers: Table
    metric: Table
    ranks: Table

class GapsResult(Result):
    gaps: Table
    activity: Table
    blame: Table

class CriticalPathResult(Result):
    summary: Table
    path: Table
    edges_by_type: Table
    breakdown: Table
    graph: Table
    nodes: Table
    edges: Table

class CollectivesResult(Result):
    collectives: Table
    sizes: Table
    ranks: Table

class FunctionsResult(Result):
    functions: Table
    lines: Table
    waits: Table

class AnalysisMethods:
    def analyze(self, name: str, /, **params: Any) -> Any: ...
    def completeness(self, *, kinds: str | int | Iterable[str | int] | None = None) -> CompletenessResult:
        """Is the trace complete and valid: what was dropped, repaired, unmatched, out of order.

        Looks for everything that makes the other answers less certain: damage seen
        while reading, events that the profiler says it dropped, launches without
        device activity and the reverse, ids and flows that lead nowhere, spans that
        cross their neighbours or the recording window, durations that cannot be, clocks
        that disagree, ranks that are missing or double, and metadata that is not there.

        A check with nothing to look at (device activity in a trace of the CPU) is not
        available; a note and the table 'checks' say why. 'kino check' shows the same
        with a verdict.

        Parameters:
            kinds: only these: kinds or severities, separated by commas; any: all but notes

        Tables:
            findings: what is not as it should be, by severity, kind and trace
            checks: every check, also those that found nothing, and why some could not be made
            recorder_losses: what kino's recorder could not keep, by reason and thread

        >>> [table.name for table in run.completeness()]
        ['findings', 'checks', 'recorder_losses']
        """

    def overview(self, *, sm_series: bool | str | None = False, compat: Literal['tensorboard'] | None = None) -> OverviewResult:
        """What ran on what, how busy it was, and where the time of a step went.

        A moment of a step belongs to the first of these that is at work: kernel,
        communication, copy, set, runtime call, data loader, operator of the host. What
        is left is Other. Without kernels, data loader and operators come before
        communication. Annotations are ranges around work, not work. So the parts of a
        step add up to it. A step lasts from its start
        on the host, or the end of the step before, to the end of the device work that
        it launched; a trace without steps is one step. All steps count. The extent of a
        step on the host and on the device is shown beside it. docs/analyses/profile.md
        has the whole definition.

        Parameters:
            sm_series: fill sm_efficiency_series: two rows a kernel at most (default: no)
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            configuration: one row a trace
            gpu_summary: one row a device, over the steps from first to last
            execution_summary: the average step and its parts
            step_breakdown: one row a step; the parts add up to it
            utilization_series: one row a device and bucket of time
            sm_efficiency_series: one row a device and piece of time; see sm_series

        >>> [table.name for table in run.overview()]
        ['configuration', 'gpu_summary', 'execution_summary', 'step_breakdown', 'utilization_series', 'sm_efficiency_series']
        """

    def operators(self, *, group: Literal['name', 'name-shape'] | None = 'name', stacks: bool | str | None = False, compat: Literal['tensorboard'] | None = None) -> OperatorsResult:
        """Which operators take the time, on the host and on the device.

        Adds up all calls of each operator over the whole trace: its time on the host,
        the device work it launched, and how much of that used tensor cores. 'self'
        leaves out operators inside it, 'total' has them; an operator inside one of its
        own name counts at both levels.

        With --stacks the table call_stacks has the same numbers for each call stack:
        the argument 'Call stack' of older traces, else the Python calls around the
        operator (with_stack of the profiler).

        Parameters:
            group: one row a name, or a name with shapes; name, name-shape (default: name)
            stacks: fill the table call_stacks (default: no)
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            operators: one row an operator, most device time first (host time without a device)
            call_stacks: one row an operator and call stack, in the same order

        >>> [table.name for table in run.operators()]
        ['operators', 'call_stacks']
        """

    def kernels(self, *, group: Literal['name', 'name-op'] | None = 'name', compat: Literal['tensorboard'] | None = None) -> Table:
        """Which kernels take the time of the device, and who launched them.

        Adds up all calls of each kernel over the whole trace; copies and sets of
        memory are no kernels. Kernels that run at the same time count each. With
        --group name-op a row is a kernel with one operator, grid, block, registers and
        shared memory; the operator is the one that the launch belongs to.

        Parameters:
            group: one row a name, or a name with its operator and launch properties; name, name-op (default: name)
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            kernels: one row a kernel, most time first

        >>> run.kernels().name
        'kernels'
        """

    def tensor_cores(self, *, compat: Literal['tensorboard'] | None = None) -> TensorCoresResult:
        """How much kernel time uses tensor cores, and which operators could use them.

        Kernels are told by their names, of NVIDIA and AMD (tensor cores, matrix
        cores); operators by a list of matrix products, convolutions and attention, or
        because a kernel below them was seen to use tensor cores. Device time of an
        operator includes copies and sets. The plugin's list ends before Hopper.

        Parameters:
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            devices: one row a device
            ratios: one row a trace: what is used, and what could be
            operators: operators with device work, and eligible ones; most first
            kernels: one row a kernel, most time first

        >>> [table.name for table in run.tensor_cores()]
        ['devices', 'ratios', 'operators', 'kernels']
        """

    def memory(self, *, device: str | int | Iterable[str | int] | None = None, from_: Time | None = None, to: Time | None = None, points: int | str | None = 10240, min_size: Size | None = '0', compat: Literal['tensorboard'] | None = None) -> MemoryResult:
        """Memory by operator, lives of blocks, memory over time, and its peak.

        From the allocator's records (profile_memory=True). A record belongs to the
        innermost operator of its thread that contains it; a release is matched with
        the allocation of the same address on the same device and has its operator.
        Memory in use and reserved is what the allocator reported with each record.

        Records outside operators are in memory_events, curve and peaks, but in no row
        of memory_statistics. A name nested in itself counts at each level of the
        columns that include what is below.

        Parameters:
            device: only this one: GPU0, CPU, ...
            from_: only records from this time on, since the start of the run
            to: only records up to this time
            points: most points of the curve of a device; 0: all (default: 10240)
            min_size: leave out smaller blocks of memory_events (default: 0)
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            memory_statistics: one row a device and operator, the largest own increase first
            memory_events: one row a block: first those that were released, by release time
            memory_curve: memory of each device over time
            memory_peaks: one row a device

        >>> [table.name for table in run.memory()]
        ['memory_statistics', 'memory_events', 'memory_curve', 'memory_peaks']
        """

    def memory_timeline(self, *, compat: Literal['hta', 'hta-ns'] | None = None) -> MemoryTimelineResult:
        """How much memory is allocated over time, and what for.

        Reads PyTorch's raw memory timeline (export_memory_timeline to a file
        *.raw.json.gz): sizes by category at every time at which memory changed, the
        peak and what it consisted of. What was allocated before the profiler began is
        the first point. For other traces the totals that [memory] events give.

        Parameters:
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            memory_timeline: one row a time at which memory changed
            memory_peak: one row a rank and device
            memory_categories: one row a category: its share of the peak

        >>> [table.name for table in run.memory_timeline()]
        ['memory_timeline', 'memory_peak', 'memory_categories']
        """

    def modules(self, *, compat: Literal['tensorboard'] | None = None) -> Table:
        """Time of the modules of the model, as a tree.

        A row is a place in the tree of modules: a path of modules from the top, with
        the calls made there. Calls nest by time on their thread. Host time is that of
        the calls, device time that of the work launched below them; the backward pass
        counts in neither.

        With 'compat' every place has the sums of all calls of its module, wherever
        they were made, and a module that is called twice has two rows.

        Parameters:
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            modules: one row a place in the tree of modules, each behind the one above it

        >>> run.modules().name
        'modules'
        """

    def lightning(self, *, compat: Literal['tensorboard'] | None = None) -> LightningResult:
        """PyTorch Lightning: time of the modules, and the actions of the trainer.

        Modules form a tree by their names: 'model' is above 'model.fc' when both are
        there. Their numbers are those of 'modules'. The second table has the actions
        that Lightning's profiler marked (run_training_batch, ...) as they nest by time
        on their thread.

        Parameters:
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            lightning: one row a module, each behind the one above it
            lightning_actions: one row a call of the trainer's actions, as they nest

        >>> [table.name for table in run.lightning()]
        ['lightning', 'lightning_actions']
        """

    def distributed(self, *, compat: Literal['tensorboard'] | None = None) -> DistributedResult:
        """Computation, communication and waiting of the workers of a run.

        Compares the workers of a run: how much of each step is computation,
        communication, both at once, or neither; how long the collectives took, and
        which part of that was transfer of data and which waiting for the others; each
        collective with its calls, bytes and times; and the devices.

        The calls of a collective on different workers are matched by name, process
        group, step and order. The shortest of the matched times is the transfer; what a
        worker took longer it has waited. A call that no other trace has counts wholly
        as transfer, and a note says how many there are.

        Parameters:
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            computation_overview: one row a worker and step: where the time went; averages first
            communication_overview: one row a worker and step: transfer and waiting; averages first
            communication_ops: one row a worker and collective, in order of first call
            workers: one row a device of a worker

        >>> [table.name for table in run.distributed()]
        ['computation_overview', 'communication_overview', 'communication_ops', 'workers']
        """

    def temporal_breakdown(self, *, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> Table:
        """How much of its time each device computes, does something else, or nothing.

        The time from a rank's first device activity to its last, divided: idle (nothing
        runs), compute (computation runs) and non-compute (only copies, sets of memory
        or communication run). Work that runs at the same time counts once;
        communication that computation hides is compute time.

        Parameters:
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            temporal_breakdown: one row a rank

        >>> run.temporal_breakdown().name
        'temporal_breakdown'
        """

    def idle_time(self, *, streams: str | int | Iterable[str | int] | None = None, delay: Time | None = '30us', stats: bool | str | None = False, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> IdleTimeResult:
        """How long each stream has nothing to do, and what it waits for.

        Adds up the gaps between the kernels, copies and sets of each stream. A gap is
        host_wait when the work behind it was launched after the work before it had
        ended (the host is too slow); else kernel_wait when it is shorter than delay
        (the device's own overhead); else other (mostly waiting for another stream).

        Parameters:
            streams: only these, separated by commas
            delay: a shorter gap with work queued is the device's own (kernel_wait) (default: 30us)
            stats: the distribution of the gaps too (default: no)
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            idle: one row a rank, stream and cause
            interval_stats: the gaps of each of them; with stats only

        >>> [table.name for table in run.idle_time()]
        ['idle', 'interval_stats']
        """

    def comm_overlap(self, *, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> Table:
        """How much of the communication is hidden under computation.

        The time during which communication kernels of a rank run, and the percentage of
        it during which computation runs as well. 100 %: communication costs nothing.
        Without work on a device: collectives on the host (Gloo, MPI) and operators.

        Parameters:
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            comm_comp_overlap: one row a rank that communicates

        >>> run.comm_overlap().name
        'comm_comp_overlap'
        """

    def kernel_breakdown(self, *, duration_ratio: float | str | None = 0.8, num_kernels: int | str | None = 10, include_memory: bool | str | None = True, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> KernelBreakdownResult:
        """What kind of work takes the time of the devices, and which kernels.

        By type: how long computation, communication and copies run, alone and at the
        same time; each instant of a rank counts in one row. By kernel: durations added
        up by name for each rank and type; where a type has more than num_kernels names,
        small ones are folded into 'others'. Kernels that overlap count each there.

        Parameters:
            duration_ratio: fold kernels behind this percentile of the running sums, 0 to 1 (default: 0.8)
            num_kernels: kernels of a rank and type that keep their name (default: 10)
            include_memory: copies and sets of memory too (default: yes)
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            kernel_type: one row a combination of types, most time first; ranks together
            kernel: one row a rank and kernel, by type, name and rank

        >>> [table.name for table in run.kernel_breakdown()]
        ['kernel_type', 'kernel']
        """

    def annotation_breakdown(self, *, use_gpu: bool | str | None = True, duration_ratio: float | str | None = 0.8, num: int | str | None = 1000, allow: str | int | Iterable[str | int] | None = None, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> Table:
        """How long annotated parts of the program take, on the devices or on the host.

        Adds up the durations of annotations by name for each rank. On a device an
        annotation lasts from the first kernel launched inside it to the end of the last
        one, gaps included. Where a rank has more than num names, small ones are folded
        into 'others'. Annotations within annotations count each.

        Parameters:
            use_gpu: as they show on the devices; no: on the host (default: yes)
            duration_ratio: fold annotations behind this percentile of the running sums, 0 to 1 (default: 0.8)
            num: annotations of a rank that keep their name (default: 1000)
            allow: never fold names with one of these texts, separated by commas
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            annotations: one row a rank and annotation, by rank and name

        >>> run.annotation_breakdown().name
        'annotations'
        """

    def annotated_kernels(self, *, expand_names: bool | str | None = True, shortest: bool | str | None = False, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> AnnotatedKernelsResult:
        """To which annotated part of the program each kernel belongs.

        Gives each kernel, copy and set the shortest annotation on its device lane that
        overlaps it. Annotations show on devices where the profiler recorded them
        (category gpu_user_annotation).

        Parameters:
            expand_names: names and categories; no: only the numbers of events (default: yes)
            shortest: kernel names without templates and arguments (default: no)
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            annotated_kernels: one row a kernel, copy or set, by rank, as in the file
            by_annotation: one row a rank and annotation, by name

        >>> [table.name for table in run.annotated_kernels()]
        ['annotated_kernels', 'by_annotation']
        """

    def kernel_types(self, *, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> Table:
        """How the names of device work are classified and shortened.

        Every name of a kernel, copy or set, with the type that the other analyses take
        it for. Copies and sets go by their category, kernels by their name.

        Parameters:
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            kernel_types: one row a name of device work, by name

        >>> run.kernel_types().name
        'kernel_types'
        """

    def steps(self, *, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> Table:
        """Which steps are in the trace, and when they ran on host and device.

        The steps that the training loop marked (ProfilerStep#N): their extent on the
        host, and their extent on the device, which is that of the work launched in them
        and may lie after the step's end on the host. Device work whose launch is not in
        the trace belongs to the step that it starts in; what starts before the first
        step's first kernel was launched before the recording, and belongs to none.

        Parameters:
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            steps: one row a rank and step

        >>> run.steps().name
        'steps'
        """

    def queue_length(self, *, series: bool | str | None = False, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> QueueLengthResult:
        """How much work waits on each stream.

        A launch whose work is in the trace makes the queue of its stream one longer,
        the start of the work one shorter. Statistics are over the changes, not weighted
        by time. Launches are all calls that put work on a device, graphs with all
        their kernels; with compat those that HTA knows.

        Parameters:
            series: also list every change of a queue (default: no)
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            queue_length_summary: one row a rank and stream
            queue_length_series: one row a change, by stream and time; with series

        >>> [table.name for table in run.queue_length()]
        ['queue_length_summary', 'queue_length_series']
        """

    def queue_blocked(self, *, max_queue_length: int | str | None = 1024, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> Table:
        """How long launches had to wait because a stream's queue was full.

        Time between the changes of a queue (see queue-length) during which it was at
        least max_queue_length long. CUDA lets about 1024 launches wait; at the limit
        the host blocks. With compat only one stream a rank is shown, as HTA does.

        Parameters:
            max_queue_length: a queue of this length is full (default: 1024)
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            time_blocked: one row a rank and stream whose queue was full

        >>> run.queue_blocked().name
        'time_blocked'
        """

    def launch_stats(self, *, runtime_cutoff: Time | None = '50us', launch_delay_cutoff: Time | None = '100us', include_memory: bool | str | None = False, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> LaunchStatsResult:
        """What launching costs: time in the call, on the device, and between.

        Each launch with its work: how long the call took, how long the work ran, and
        the time from the end of the call to the start of the work (0 when it started
        before). A kernel that runs shorter than its call is launch-bound. All launch
        calls count, graphs with all their kernels; with compat those that HTA knows.

        Parameters:
            runtime_cutoff: calls that take longer are outliers (default: 50us)
            launch_delay_cutoff: longer delays are outliers (default: 100us)
            include_memory: copies and sets as well (default: no)
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            launch_stats: one row a launch, by rank and correlation
            launch_summary: one row a rank

        >>> [table.name for table in run.launch_stats()]
        ['launch_stats', 'launch_summary']
        """

    def memory_bandwidth(self, *, series: bool | str | None = False, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> MemoryBandwidthResult:
        """Memory traffic of copies and sets over time, by kind.

        Adds the bandwidths that the trace gives for the copies of one kind that run at
        the same time. The summary is over the changes after which something runs, not
        weighted by time. A copy without duration counts for one nanosecond (with
        compat hta: one microsecond).

        Parameters:
            series: also list every change (default: no)
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            memory_bw_summary: one row a rank and kind
            memory_bw_series: one row a change, by kind and time; with series

        >>> [table.name for table in run.memory_bandwidth()]
        ['memory_bw_summary', 'memory_bw_series']
        """

    def op_kernels(self, *, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> Table:
        """Which kernels ATen operators launch, and with what delays.

        A launch belongs to the innermost ATen operator around it in its thread, with
        all of its kernels. Calls of an operator that launch the same kernels in the
        same order are one row; the delays are those of the first launch of each call.
        With compat operators of all threads are looked at, and only the first kernel of
        each launch, as HTA does.

        Parameters:
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            op_kernels: one row an operator and sequence of kernels, the most frequent first

        >>> run.op_kernels().name
        'op_kernels'
        """

    def call_graph(self, *, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> CallGraphResult:
        """Who called whom in each thread, with the device work below each call.

        Spans of a thread nest by time; device work is below the call that launched it.
        The thread of the backward pass is hung below the steps of the main thread, or
        below its annotations '## backward ##'. Each span has its depth, its height and
        the device work below it.

        Parameters:
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            stacks: one row a rank and thread
            nodes: one row a span, in the order of the file

        >>> [table.name for table in run.call_graph()]
        ['stacks', 'nodes']
        """

    def kernel_sequences(self, *, op: str | int | Iterable[str | int] | None = 'aten::', min_pattern_len: int | str | None = 3, top_k: int | str | None = 5, include_last_step: bool | str | None = True, calls: bool | str | None = False, compat: Literal['hta', 'hta-ns'] | None = None) -> KernelSequencesResult:
        """Which sequences of kernels an operator runs, and how often.

        Of the calls whose name holds a text, those nearest to the top of their call
        trees (see call-graph) and with enough kernels below. Calls that run the same
        kernels in the same order are one row.

        Parameters:
            op: operators whose name holds this text (default: aten::)
            min_pattern_len: only calls that run this many kernels (default: 3)
            top_k: so many sequences of a rank; 0: all (default: 5)
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            calls: also list the calls of these sequences (default: no)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            kernel_sequences: one row a rank and sequence, the most frequent first
            kernel_sequence_calls: one row a call; with calls

        >>> [table.name for table in run.kernel_sequences(op="aten::linear")]
        ['kernel_sequences', 'kernel_sequence_calls']
        """

    def cupti_counters(self, *, compat: Literal['hta', 'hta-ns'] | None = None) -> CuptiCountersResult:
        """Hardware counters of each kernel, with the operators that launched it.

        Ranges with counters (category cuda_profiler_range) and launches of kernels,
        both by start, are paired one to one; a rank with unequal numbers of them is
        left out. The operators are those around the launch. FLOP: 2 for each fused
        multiply-add instruction that was counted, 1 for each add or multiply.

        Parameters:
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            counters_by_kernel: one row a range, by start
            counter_values: one row a range and counter, as the trace has them

        >>> [table.name for table in run.cupti_counters()]
        ['counters_by_kernel', 'counter_values']
        """

    def ops_diff(self, *, control: str | int | Iterable[str | int] | None = None, test: str | int | Iterable[str | int] | None = None, control_steps: str | int | Iterable[str | int] | None = None, test_steps: str | int | Iterable[str | int] | None = None, device: Literal['all', 'cpu', 'gpu'] | None = 'all', short_names: bool | str | None = False, compat: Literal['hta', 'hta-ns'] | None = None) -> OpsDiffResult:
        """Operators and kernels of two traces or steps side by side, by name.

        Counts the spans of some steps of two traces by name and adds up their
        durations: kino analyze ops-diff old.json new.json --control old --test new.
        Traces are in the order of rank and path, not of the command line. With one
        trace two of its steps are compared (control_steps, test_steps). The last step
        is there, too. See kino diff for values of one step, thresholds and trees.

        Parameters:
            control: trace on the left: a rank, or a part of its path; none: the first
            test: trace on the right; none: the next, or the same where there is one
            control_steps: steps on the left, such as 5 or 3-7; none: the first
            test_steps: steps on the right; none: the first
            device: only what ran there; all, cpu, gpu (default: all)
            short_names: names without templates and arguments, which may join several (default: no)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            ops_diff: one row a name, by name
            sides: one row a side: what is compared

        >>> [table.name for table in run.ops_diff()]
        ['ops_diff', 'sides']
        """

    def stragglers(self, *, count: int | str | None = 2, profiler_steps: str | int | Iterable[str | int] | None = None, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> StragglersResult:
        """Which ranks keep the others waiting.

        A rank's own time in a step is the step without its exposed communication. A
        straggler is a rank whose own time is above the median of its peers by more than
        5 % of the step (2.5 % where the others are alike), in the median of the common
        steps, which shows in at least 80 % of them, and for which the others wait in
        communication at least half as long.
        Peers are all ranks; in a pipeline those of the same stage. Only durations are
        compared, so clocks do not matter. Collectives on the host (Gloo) count as well.

        HTA's method (its modes, and the table metric): of the communication kernels the
        one is looked at whose durations differ most between ranks (at least 1 % of
        a mean step); in each step the latest `count` ranks get a point.

        Parameters:
            count: HTA's method: how many ranks to name (default: 2)
            profiler_steps: step numbers, as in 15,17-20 (default: all)
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            stragglers: one row per rank that keeps the others waiting, by rank
            metric: one row per rank and step: the kernel that HTA's method looks at
            ranks: one row per rank: what the verdict is made of

        >>> [table.name for table in run.stragglers()]
        ['stragglers', 'metric', 'ranks']
        """

    def gaps(self, *, num: int | str | None = 10, min_gap: Time | None = '10us', steps: int | str | None = None) -> GapsResult:
        """Largest idle gaps of devices, what the host did meanwhile, who is to blame.

        A gap is time between two pieces of work of a device in which none of its
        streams works. The thread that launches the work behind the gap is looked at
        from the start of the gap: the activity with most of that time is to blame (the
        innermost span counts; the launch has the time from the call to the work). If
        the thread was waiting for the device as the gap began and did nothing unusual
        after, the wait is: without it the work would have been queued. "device": the
        work was launched before the gap, and waited for something else; "unknown": its
        launch is not in the trace.

        Parameters:
            num: gaps to show of each trace (default: 10)
            min_gap: shorter gaps do not count (default: 10us)
            steps: only these profiler steps: 5 or 3-7

        Tables:
            gaps: one row a gap: of each trace the longest, longest first
            activity: one row a gap, host thread and what it did
            blame: one row a rank, device and blame, over all gaps

        >>> [table.name for table in run.gaps()]
        ['gaps', 'activity', 'blame']
        """

    def critical_path(self, *, annotation: str | int | Iterable[str | int] | None = 'ProfilerStep', instance: str | int | Iterable[str | int] | None = '0', data_load_events: str | int | Iterable[str | int] | None = None, zero_weight_edges: bool | str | None = False, graph: bool | str | None = False, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> CriticalPathResult:
        """Which events decided how long a step took.

        The longest path through a graph of what waited for what: host events by their
        call stacks, device work by launches, streams and synchronisation. Time between
        operators at the top of a thread is nobody's and counts nothing. Time on the
        path is charged to an event and to what it was bound by: the host (cpu_bound,
        data_loading, or cpu_communication_bound for collectives of gloo, MPI and UCC),
        the device (gpu_compute_bound, gpu_communication_bound), the gap between kernels
        of a stream (gpu_kernel_kernel_overhead) or the delay from a launch to its work
        (gpu_kernel_launch_overhead).

        Parameters:
            annotation: the region: events whose name contains this; "": all (default: ProfilerStep)
            instance: which of these events, from 0; 1-3: from the second to the 4th (default: 0)
            data_load_events: names of data loading contain one of these (commas between)
            zero_weight_edges: an edge from every launch to its work (default: no)
            graph: also list all nodes and edges (default: no)
            include_last_step: count the last step too; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            summary: one row a rank and cause
            path: one row a node of the critical path, in its order
            edges_by_type: one row a rank and type of edge
            breakdown: one row an edge of the critical path, in its order
            graph: one row a rank: the size of the graph and of its path
            nodes: one row a node; with graph
            edges: one row an edge; with graph

        >>> [table.name for table in run.critical_path()]
        ['summary', 'path', 'edges_by_type', 'breakdown', 'graph', 'nodes', 'edges']
        """

    def collectives(self, *, steps: int | str | None = None) -> CollectivesResult:
        """Collectives by operation and process group: sizes, waiting, bandwidth.

        Kernels of communication libraries by operation and process group; for libraries
        that move data on the host (Gloo, MPI, UCC) their spans there. The same call
        on several ranks ends everywhere together: the shortest kernel is the transfer,
        what another rank has more is waiting for the last one to arrive. Algorithm
        bandwidth is the size of a message over the transfer; bus bandwidth is that
        times 2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter,
        all-to-all, gather and scatter, 1 for the others, as nccl-tests has it.

        Parameters:
            steps: only these profiler steps: 5 or 3-7

        Tables:
            collectives: one row an operation and process group, most time first
            sizes: one row an operation, process group and message size
            ranks: one row a rank, operation and process group

        >>> [table.name for table in run.collectives()]
        ['collectives', 'sizes', 'ranks']
        """

    def launch_bound(self, *, steps: int | str | None = None) -> Table:
        """Operator by operator: bound by the host or by the device.

        Work whose launch began after all earlier work of its stream had ended found
        the stream starved: the host is too slow there. Work that was launched earlier
        stood in a queue: the device is the limit. An operator is bound by the host when
        more of its kernels were starved than queued. The first work of a stream, and
        work without a launch in the trace, is neither.

        Parameters:
            steps: only these profiler steps: 5 or 3-7

        Tables:
            launch_bound: one row a rank and operator, most idle time first

        >>> run.launch_bound().name
        'launch_bound'
        """

    def python_stacks(self, *, stacks: Literal['combined', 'python', 'op'] | None = 'combined', where: Literal['host', 'device', 'all'] | None = 'host', threads: bool | str | None = False, steps_apart: bool | str | None = False, min_share: float | str | None = '0') -> Table:
        """Time by call stack: the tree behind a flame graph.

        Spans that lie inside another one on the same thread stand on it; spans with
        the same names from the bottom up are one stack, over all threads and ranks.
        total adds up the spans of a stack; self is what no span on it covers. Where two
        spans overlap and neither contains the other, the later one stands on its own.
        With --stacks python only the spans of PyTorch's Python tracer count, with op
        all others, so that what is between two ops in Python disappears.

        Parameters:
            stacks: python: spans of the Python tracer; op: all others; combined: both; combined, python, op (default: combined)
            where: stacks of threads, of device streams, or all; host, device, all (default: host)
            threads: stacks begin with their thread (default: no)
            steps_apart: ProfilerStep#1, ProfilerStep#2, ... are not one stack (default: no)
            min_share: leave out stacks with less than this part of all time (default: 0)

        Tables:
            flame: one row a distinct stack, all ranks together; a stack before those on it, the longest first

        >>> run.python_stacks().name
        'flame'
        """

    def functions(self) -> FunctionsResult:
        """Functions of the CPU by sampled time, and where threads wait.

        Functions by the CPU time that samples of their stacks found in them, itself
        and with what they call; the lines where it was; and the places where threads
        were not running, with the system call they waited in. The samples come from
        `kino record`. All ranks and threads are added up.

        Tables:
            functions: one row a function, all ranks together; the one with the most own time first
            lines: the same by line; lines without own time are left out
            waits: one row a place where threads were not running; the longest first

        >>> [table.name for table in run.functions()]
        ['functions', 'lines', 'waits']
        """

    def recommendations(self, *, set: str | int | Iterable[str | int] | None = None, compat: Literal['tensorboard'] | None = None) -> Table:
        """What to change, with the gain to expect.

        Runs all rules over the run. Each piece of advice says what was seen, why it
        matters, what to do, and how much of the step time it could save; the events
        that show it are listed. Gains are estimates; findings of one rank never count
        the same time twice. With compat tensorboard only the rules of the TensorBoard plugin
        speak, by its triggers.

        Rules: data-loading, data-parallel, nccl-backend, communication,
        gpu-utilization, mixed-precision, memory-limit, extra-copy, loop-indexing,
        fp32-matmul, single-tensor-optimizer, synchronous-loader, zeroed-gradients,
        conv-bias, matmul-alignment, casts-and-copies, pointwise-kernels, launch-bound,
        exposed-collective, straggler, host-sync, pageable-copy, allocator-churn,
        low-occupancy, idle-gaps, slow-steps, warm-up, start-up, missing-information.
        Their thresholds and how gains are estimated:
        docs/analyses/recommendations.md.

        Parameters:
            set: thresholds: rule.name=value, separated by commas
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            recommendations: one row per piece of advice, the largest gain first

        >>> run.recommendations().name
        'recommendations'
        """
