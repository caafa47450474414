"""Databases as Nsight Systems exports them, made up: small ones row by row with a planted truth, large ones inside SQLite.

`python3 nsys_database.py FILE KERNELS` writes a large one: per kernel a launch, an op's range whose text no other has, a layer's range,
and now and then a copy; about 400 bytes a kernel."""
import sqlite3
import sys

KERNEL = ("start", "end", "deviceId", "contextId", "greenContextId", "streamId", "correlationId", "globalPid", "demangledName",
          "shortName", "mangledName", "launchType", "cacheConfig", "registersPerThread", "gridX", "gridY", "gridZ", "blockX",
          "blockY", "blockZ", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread", "localMemoryTotal", "gridId",
          "sharedMemoryExecuted", "graphNodeId", "sharedMemoryLimitConfig", "graphId")
RUNTIME = ("start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue", "callchainId")
MEMCPY = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes", "copyKind", "srcKind",
          "dstKind", "srcDeviceId", "dstDeviceId", "graphNodeId")
MEMSET = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "value", "bytes", "graphNodeId", "memKind")
SYNC = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "syncType", "eventId")
NVTX = ("start", "end", "eventType", "rangeId", "category", "color", "text", "globalTid", "endGlobalTid", "textId", "domainId",
        "uint64Value", "int64Value", "doubleValue", "uint32Value", "int32Value", "floatValue", "jsonTextId", "jsonText", "binaryData")
GRAPH = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphId", "graphExecId")
NODE = ("start", "end", "eventClass", "globalTid", "nameId", "graphNodeId", "originalGraphNodeId")
TABLES = {"CUPTI_ACTIVITY_KIND_KERNEL": KERNEL, "CUPTI_ACTIVITY_KIND_RUNTIME": RUNTIME, "CUPTI_ACTIVITY_KIND_MEMCPY": MEMCPY,
          "CUPTI_ACTIVITY_KIND_MEMSET": MEMSET, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": SYNC, "NVTX_EVENTS": NVTX,
          "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": GRAPH, "CUDA_GRAPH_NODE_EVENTS": NODE,
          "CUPTI_ACTIVITY_KIND_CUDA_EVENT": ("timestamp", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "eventId"),
          "OSRT_API": ("start", "end", "eventClass", "globalTid", "nameId", "returnValue"),
          "PROCESSES": ("globalPid", "pid", "name"), "ThreadNames": ("nameId", "priority", "globalTid"),
          "GPU_METRICS": ("timestamp", "typeId", "metricId", "value"),
          "TARGET_INFO_GPU_METRICS": ("typeId", "sourceId", "typeName", "metricId", "metricName"),
          "TARGET_INFO_CUDA_DEVICE": ("gpuId", "cudaId", "pid"),
          "TARGET_INFO_GPU": ("vmId", "id", "name", "totalMemory", "memoryBandwidth", "clockRate", "smCount", "threadsPerWarp",
                              "maxWarpsPerSm", "computeMajor", "computeMinor"),
          "TARGET_INFO_SESSION_START_TIME": ("utcEpochNs",), "META_DATA_CAPTURE": ("name", "value"),
          "TARGET_INFO_SYSTEM_ENV": ("name", "value"),
          "NVTX_PAYLOAD_SCHEMA_ENTRIES": ("domainId", "schemaId", "idx", "flags", "type", "name", "description", "offset"),
          "META_DATA_EXPORT": ("name", "value")}


def global_tid(pid, tid=0):
    return 1 << 48 | pid << 24 | tid


class Database:
    """Rows are given by name; tables appear when they are used, as in an export."""

    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.execute("CREATE TABLE StringIds (\n    -- All texts.\n    id INTEGER NOT NULL PRIMARY KEY, -- number\n    value TEXT NOT NULL\n)")
        self.strings = {}
        self.made = set()

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.db.execute("INSERT INTO StringIds VALUES (?, ?)", (self.strings[text], text))
        return self.strings[text]

    def table(self, name):
        if name not in self.made:
            self.made.add(name)
            columns = ",\n".join(f"    {column} {'TEXT' if column in ('text', 'name', 'value') else 'INTEGER'} -- about {column}, in short"[:200]
                                 if column == TABLES[name][-1] else f"    {column} INTEGER" for column in TABLES[name])
            self.db.execute(f"CREATE TABLE {name} (\n{columns}\n)")

    def add(self, table, /, **values):
        self.table(table)
        self.db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})", tuple(values.values()))

    def call(self, thread, start, end, correlation, name="cudaLaunchKernel_v7000"):
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=0, globalTid=thread, correlationId=correlation,
                 nameId=self.string(name), returnValue=0)

    def kernel(self, thread, start, end, correlation, name, device=0, stream=7, node=None):
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=device, contextId=1, streamId=stream,
                 correlationId=correlation, globalPid=thread >> 24 << 24, demangledName=self.string(name), shortName=self.string(name.split("<")[0]),
                 registersPerThread=32, gridX=80, gridY=2, gridZ=1, blockX=128, blockY=1, blockZ=1, staticSharedMemory=1024,
                 dynamicSharedMemory=512, graphNodeId=node)

    def range(self, thread, start, end, text, **more):
        values = {"eventType": 59, "domainId": 0, **more}
        self.add("NVTX_EVENTS", start=start, end=end, textId=self.string(text), globalTid=thread, **values)

    def close(self, complete=True):
        if complete:
            self.add("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.25.0")
        self.db.commit()
        self.db.close()


def write_large(path, kernels):
    """One process, four streams, a hundred kernels with a dozen shapes each; rows are made by SQLite itself."""
    base = Database(path)
    db = base.db
    db.execute("PRAGMA journal_mode=OFF")
    db.execute("PRAGMA synchronous=OFF")
    thread = global_tid(4242, 4243)
    process = global_tid(4242)
    for number in range(100):
        base.string(f"void at::native::kernel_{number:03}<float, {number % 7}>(int, at::detail::Array<char*, 3>)")
    launch = base.string("cudaLaunchKernel_v7000")
    first_text = 1000
    for name in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_MEMCPY", "NVTX_EVENTS"):
        base.table(name)
    counter = f"WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM n WHERE i < {kernels - 1}) "
    db.execute(counter + f"INSERT INTO StringIds SELECT i + {first_text}, 'aten::op_' || (i % 50) || ', seq = ' || i || ', op_id = ' || (i * 3) || ', sizes = [[' || (i % 9 + 1) || ', 64, 56, 56], [64, 64, 3, 3], []]' FROM n")
    db.execute(counter + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i * 10000 + 5000, i * 10000 + 12000 + i % 100, 0, 1, NULL, 7 + i % 4, i + 1, "
               f"{process}, i % 100 + 1, i % 100 + 1, NULL, 0, 0, 32 + i % 3, 80 * (i % 4 + 1), 1, 1, 128, 1, 1, 0, 1024 * (i % 3), 0, 0, i, 0, NULL, 0, NULL FROM n")
    db.execute(counter + f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT i * 10000 + 1000, i * 10000 + 4000, 0, {thread}, i + 1, {launch}, 0, NULL FROM n")
    db.execute(counter + f"INSERT INTO NVTX_EVENTS SELECT i * 10000, i * 10000 + 5000, 59, NULL, NULL, NULL, NULL, {thread}, NULL, i + {first_text}, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM n")
    db.execute(counter + f"INSERT INTO NVTX_EVENTS SELECT i * 10000 + 100, i * 10000 + 4900, 59, NULL, NULL, NULL, 'layer:block' || (i % 40) || '.conv' || (i % 3) || ' of the network that is trained here', {thread}, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM n")
    db.execute(counter + f"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY SELECT i * 10000 + 13000, i * 10000 + 14000, 0, 1, 7, i + 1, {process}, 4096, 1, 1, 2, NULL, NULL, NULL FROM n WHERE i % 50 = 0")
    base.add("TARGET_INFO_GPU", vmId=1, id=0, name="NVIDIA A100-SXM4-80GB", totalMemory=85095874560, memoryBandwidth=2039040000000,
             clockRate=1410000000, smCount=108, threadsPerWarp=32, maxWarpsPerSm=64, computeMajor=8, computeMinor=0)
    base.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1700000000000000000)
    base.close()


if __name__ == "__main__":
    write_large(sys.argv[1], int(sys.argv[2]))
