"""Every public name of HTA is in kino.hta, in the same module, with the same parameters and defaults, members and values, so that code and
tests which were written for HTA run after changing the import. MISSING says what is not there, and why."""
import ast
import enum
import importlib
import inspect
import pathlib
import pkgutil

try:
    import hta as peer
except ImportError:
    peer = None

# Timing and messages of HTA's own code, and what only runs as a program.
MISSING = {
    "hta.analyzers.critical_path_analysis.PROFILE_TIMES": "times of HTA's own functions",
    "hta.analyzers.critical_path_analysis.timeit": "measures HTA's own functions",
    "hta.common.trace_parser.IJSON_INSTRS": "how to install a package that is not needed here",
    "hta.configs.event_args_yaml_parser.main": "a program",
    "hta.common.execution_trace.ExecutionTrace": "HTA's is the one of another package, or empty where that is not installed",
}
# Values that differ by design.
VALUES = {"hta.configs.default_event_args.DEFAULT_EVENT_ARGS_YAML": "the same content, compared below",
          "hta.common.execution_trace.IMPORT_EXECUTION_TRACE_SUCCESSFULLY": "HTA needs a package that is not needed here"}
PLAIN = (str, int, float, bool, tuple, list, set, frozenset, dict, type(None))


def modules():
    for found in pkgutil.walk_packages(peer.__path__, "hta."):
        yield importlib.import_module(found.name)


def is_own(module, name, value):
    """A public function or class that the module defines."""
    return not name.startswith("_") and (inspect.isroutine(value) or inspect.isclass(value)) and value.__module__ == module.__name__


def constants(module):
    """The public names that the module assigns."""
    tree = ast.parse(pathlib.Path(module.__file__).read_text(encoding="utf-8"))
    targets = [target for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))
               for target in (node.targets if isinstance(node, ast.Assign) else [node.target])]
    return {target.id for target in targets if isinstance(target, ast.Name) and not target.id.startswith("_")}


def parameters(function):
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def default_of(parameter):
    """Defaults that are objects are compared by their kind and name."""
    value = parameter.default
    if callable(value):
        return value.__name__
    return value if isinstance(value, PLAIN) else (type(value).__name__, getattr(value, "name", None))


def check_call(report, what, ours, theirs):
    mine, wanted = parameters(ours), parameters(theirs)
    if mine is None or wanted is None:
        return
    wanted = [one for one in wanted if one.kind is not inspect.Parameter.VAR_KEYWORD or one.name != "kwargs"]
    for place, want in enumerate(wanted):
        if not report.check(f"{what}: parameter {want.name}", place < len(mine) and mine[place].name == want.name,
                            str([one.name for one in mine])):
            return
        has_default = want.default is not inspect.Parameter.empty
        if has_default:
            report.equal(f"{what}: default of {want.name}", default_of(mine[place]), default_of(want))
    more = [one.name for one in mine[len(wanted):] if one.default is inspect.Parameter.empty and one.kind.name not in ("VAR_POSITIONAL", "VAR_KEYWORD")]
    report.equal(f"{what}: further parameters that are required", more, [])


def shown(value):
    """A value as text; the members of a set come in any order."""
    return f"{type(value).__name__} {sorted(map(repr, value))}" if isinstance(value, (set, frozenset)) else repr(value)


def check_class(report, what, ours, theirs):
    if issubclass(theirs, enum.Enum):
        mine = {one.name: one.value for one in ours}
        report.equal(f"{what}: members", {one.name: mine.get(one.name) for one in theirs}, {one.name: one.value for one in theirs})
    if not issubclass(theirs, enum.Enum) and theirs.__init__ is not object.__init__:
        check_call(report, what, ours, theirs)
    for name in vars(theirs):
        value = inspect.getattr_static(theirs, name)
        if name.startswith("_") or isinstance(value, enum.Enum):
            continue
        if not report.check(f"{what}.{name} is there", hasattr(ours, name) or name in getattr(ours, "__annotations__", {})):
            continue
        if isinstance(value, (staticmethod, classmethod)) or inspect.isfunction(value):
            check_call(report, f"{what}.{name}", getattr(ours, name), getattr(theirs, name))


def check_module(report, module):
    ours, assigned = importlib.import_module(f"kino.{module.__name__}"), constants(module)
    for name, value in list(vars(module).items()):
        what = f"{module.__name__}.{name}"
        if what in MISSING or not (is_own(module, name, value) or name in assigned):
            continue
        if not report.check(f"{what} is there", hasattr(ours, name)):
            continue
        mine = getattr(ours, name)
        if inspect.isclass(value):
            check_class(report, what, mine, value)
        elif inspect.isroutine(value):
            check_call(report, what, mine, value)
        elif isinstance(value, PLAIN) and what not in VALUES and "object at" not in repr(value):
            report.equal(f"{what}: value", shown(mine), shown(value))


def check_arguments(report):
    """The text of the arguments of events is another one; what it says is the same."""
    import yaml
    from hta.configs.default_event_args import DEFAULT_EVENT_ARGS_YAML as theirs
    from kino.hta.configs.default_event_args import DEFAULT_EVENT_ARGS_YAML as ours
    report.equal("the arguments of events", yaml.safe_load(ours)["AVAILABLE_ARGS"], yaml.safe_load(theirs)["AVAILABLE_ARGS"])


def run(report):
    if peer is None:
        print("NOT TESTED: HTA is not installed (tools/install-hta): its names are not compared")
        report.skipped += 1
        return
    before = report.passed
    for module in modules():
        check_module(report, module)
    check_arguments(report)
    report.check("names were compared", report.passed - before > 500, str(report.passed - before))
