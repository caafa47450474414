"""A small simulator of training processes, written from what PyTorch's traces look like and not from `kino demo`: a host thread, autograd's
thread, a stream for computation and one for communication, a data loader, collectives that end when all members have come.

A program is a generator of one rank. It works on a Rank and yields its collectives; Run.simulate answers each with its end. Times are µs."""
import gzip
import json

MATMUL = ["sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16_kernel",
          "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn", "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNN"]
POINTWISE = [
    ("aten::add", "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)"),
    ("aten::mul", "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, "
                  "float, at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&)::{lambda(int)#1}>(int)"),
    ("aten::native_layer_norm", "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float, float const*)"),
    ("aten::copy_", "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16tofloat32_copy_kernel_cuda("
                    "at::TensorIteratorBase&)::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int)")]
OPTIMIZER = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4> >"
# collective: the call, the kernel, its name in the metadata
COLLECTIVES = {
    "all_reduce": ("c10d::allreduce_", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "allreduce"),
    "all_gather": ("c10d::_allgather_base_", "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "_allgather_base"),
    "reduce_scatter": ("c10d::_reduce_scatter_base_", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                       "_reduce_scatter_base"),
    "send": ("c10d::send", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send")}
COMPUTE_STREAM, COMMUNICATION_STREAM = 7, 20


class Rank:
    def __init__(self, run, rank):
        self.run, self.rank, self.device = run, rank, rank % 8
        self.pid = run.rng.randrange(1000, 60000)
        self.tid = self.pid
        self.now = run.rng.uniform(0, 2000)  # of the host
        self.device_free = self.communication_free = self.gloo_end = 0.0
        self.events, self.correlation, self.calls, self.gloo_thread = [], 1000, {}, 0

    def noise(self):
        return max(0.3, self.run.rng.gauss(1, self.run.noise))

    def add(self, cat, name, ts, dur, tid=None, pid=None, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": self.pid if pid is None else pid, "tid": tid or self.tid,
                            "ts": ts, "dur": max(dur, 0.001), "args": args})

    def add_work(self, cat, name, start, dur, stream, **args):
        self.add(cat, name, start, dur, tid=stream, pid=self.device, device=self.device, stream=stream, correlation=self.correlation, **args)

    def add_call(self, name, ts, dur):
        if self.run.has_launches:
            self.add("cuda_runtime", name, ts, dur, correlation=self.correlation)

    def step(self, number, start):
        self.add("user_annotation", f"ProfilerStep#{number}", start, self.now - start)
        self.now += self.run.rng.uniform(1, 6)

    def pause(self, dur):
        """Time of the host that no row explains."""
        self.now += dur * self.noise()

    def operator(self, name, dur, inner):
        """An operator that the host carries out."""
        dur *= self.noise()
        self.add("cpu_op", name, self.now, dur)
        self.add("cpu_op", inner, self.now + dur * .05, dur * .9)
        self.now += dur

    def launch(self, operator, kernel, dur, host, outer=None):
        """An operator that launches one kernel."""
        host, dur, start = host * self.noise(), dur * self.noise(), self.now
        self.correlation += 1
        if outer:
            self.add("cpu_op", outer, start, host)
        self.add("cpu_op", operator, start + host * .1, host * .8)
        self.add_call("cudaLaunchKernel", start + host * .5, host * .2)
        begun = max(start + host * .7 + 2, self.device_free)
        self.add_work("kernel", kernel, begun, dur, COMPUTE_STREAM, grid=[432, 1, 1], block=[256, 1, 1],
                      **{"est. achieved occupancy %": 60, "blocks per SM": 4.0, "warps per SM": 32.0})
        self.device_free, self.now = begun + dur, start + host

    def copy(self, dur, size=50_000_000):
        dur, start = dur * self.noise(), self.now
        self.correlation += 1
        self.add("cpu_op", "aten::to", start, 40)
        self.add("cpu_op", "aten::copy_", start + 8, 28)
        self.add_call("cudaMemcpyAsync", start + 14, 18)
        begun = max(start + 34, self.device_free)
        self.add_work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", begun, dur, COMPUTE_STREAM, bytes=size)
        self.device_free, self.now = begun + dur, start + 40

    def synchronize(self):
        """loss.item()"""
        self.correlation += 1
        start, end = self.now, max(self.device_free, self.now + 6) + 5
        self.add("cpu_op", "aten::item", start, end - start + 8)
        self.add("cpu_op", "aten::_local_scalar_dense", start + 1, end - start + 6)
        self.add_call("cudaStreamSynchronize", start + 3, end - start)
        self.now = end + 10

    def load(self, dur):
        dur *= self.noise()
        kind = "_MultiProcessingDataLoaderIter" if self.run.has_workers else "_SingleProcessDataLoaderIter"
        self.add("user_annotation", f"enumerate(DataLoader)#{kind}.__next__", self.now, dur)
        self.now += dur

    def metadata(self, kind, group):
        return {"Collective name": COLLECTIVES[kind][2], "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20, "Group size": len(group),
                "dtype": "BFloat16", "Process Group Name": self.run.group_name(group), "Process Group Ranks": str(list(group))}

    def next_call(self, key):
        self.calls[key] = self.calls.get(key, 0) + 1
        return (*key, self.calls[key])

    def collective(self, kind, group, transfer, is_waited=False):
        """NCCL's: a kernel on a stream of its own, behind what was launched before."""
        call, kernel, _ = COLLECTIVES[kind]
        host, start = 60 * self.noise(), self.now
        self.correlation += 1
        metadata = self.metadata(kind, group)
        self.add("cpu_op", call, start, host)
        self.add("cpu_op", "record_param_comms", start + 10, host - 14, **metadata)
        self.add("user_annotation", f"nccl:{kind}", start + 12, host - 20)
        self.add_call("cudaLaunchKernelExC", start + 20, 12)
        begun = max(start + 34, self.communication_free, self.device_free)
        correlation = self.correlation
        end = yield self.next_call((group, kind)), begun, transfer
        assert correlation == self.correlation
        self.add_work("kernel", kernel, begun, end - begun, COMMUNICATION_STREAM, grid=[24, 1, 1], block=[544, 1, 1], **metadata)
        self.communication_free, self.now = end, start + host
        if is_waited:
            self.wait_communication()

    def wait_communication(self):
        self.device_free = max(self.device_free, self.communication_free)

    def gloo(self, kind, group, transfer):
        """As torch 2.13 writes it: the call on the caller's thread, the span on a thread of gloo's."""
        host, start = 70 * self.noise(), self.now
        self.add("cpu_op", COLLECTIVES[kind][0], start, host)
        if self.run.has_metadata:
            self.add("cpu_op", "record_param_comms", start + 5, host - 10, **self.metadata(kind, group))
        begun = start + host * .8
        end = yield self.next_call((group, "gloo " + kind)), begun, transfer
        self.gloo_thread ^= 1
        self.add("user_annotation", f"gloo:{kind}", begun, end - begun, tid=self.pid + 300 + self.gloo_thread)
        self.gloo_end, self.now = max(self.gloo_end, end), start + host

    def wait_gloo(self):
        self.now = max(self.now, self.gloo_end + 5)


class Run:
    def __init__(self, rng, ranks, noise=0.02):
        self.rng, self.noise = rng, noise
        self.has_launches, self.has_workers, self.has_metadata = True, rng.random() < .5, rng.random() < .5
        self.base, self.backend, self.groups = rng.uniform(1e9, 5e9), "nccl", {}
        self.everybody = tuple(range(ranks))
        self.ranks = [Rank(self, rank) for rank in self.everybody]
        self.clocks = [0.0] * ranks  # how far each is off

    def group_name(self, group):
        return str(self.groups.setdefault(group, len(self.groups)))

    def simulate(self, program):
        """Ranks run on until they need the end of a collective: that of the last member's start and the transfer."""
        programs = [program(rank) for rank in self.ranks]
        ready, posted = [(i, None) for i in self.everybody], {}
        while ready:
            i, answer = ready.pop()
            try:
                key, start, transfer = programs[i].send(answer)
            except StopIteration:
                continue
            members = posted.setdefault(key, {})
            members[i] = start + transfer
            if len(members) == len(key[0]):
                end = max(members.values())
                ready += [(j, end + self.rng.uniform(0, 8)) for j in posted.pop(key)]
        assert not posted, posted

    def document(self, rank):
        base = self.base + self.clocks[rank.rank]
        events = [{**event, "ts": round(event["ts"] + base, 3), "dur": round(event["dur"], 3)} for event in rank.events]
        self.rng.shuffle(events)
        document = {"schemaVersion": 1, "traceEvents": events, "displayTimeUnit": "ms", "deviceProperties": []}
        if self.backend != "gloo":
            document["deviceProperties"] = [{"id": rank.device, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85050000000,
                                             "computeMajor": 8, "computeMinor": 0, "warpSize": 32, "numSms": 108}]
        if len(self.ranks) > 1:
            document["distributedInfo"] = {
                "backend": self.backend, "rank": rank.rank, "world_size": len(self.ranks),
                "pg_config": [{"pg_name": str(name), "pg_size": len(group), "ranks": list(group)} for group, name in self.groups.items()]}
        return document

    def write(self, folder, left_out=()):
        folder.mkdir(parents=True)
        is_packed = self.rng.random() < .5
        for rank in self.ranks:
            name = f"node{rank.rank // 8}_{rank.pid}.{1700000000000 + rank.rank}.pt.trace.json"
            data = json.dumps(self.document(rank)).encode()
            if rank.rank not in left_out:
                (folder / (name + ".gz" if is_packed else name)).write_bytes(gzip.compress(data, 1) if is_packed else data)

    def write_launcher(self, folder):
        """torchrun's own process: a few operators, no step."""
        pid = self.rng.randrange(60001, 65000)
        events = [{"ph": "X", "cat": "cpu_op", "name": self.rng.choice(["aten::empty", "aten::zeros", "aten::to"]), "pid": pid, "tid": pid,
                   "ts": round(self.base + 20000 * i, 3), "dur": 3.0, "args": {}} for i in range(30)]
        (folder / f"node0_{pid}.1700000000999.pt.trace.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
