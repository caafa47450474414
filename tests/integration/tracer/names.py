"""Names: files, lines, C functions, and what is left out on demand."""
import math
import pathlib
import sys

from .recording import query, record

HERE = "tracer/names.py"


def leaf():
    return 1


def decorated(function):
    return function


@decorated
def below_a_decorator():
    return leaf()


def counting(n):
    for i in range(n):
        yield i


def lines_of(calls):
    return [e["name"] for e in calls]


def functions(report):
    calls = record(below_a_decorator)
    [outer], [inner] = calls.named("below_a_decorator"), calls.named("leaf")
    report.equal("name of a function", inner["name"], f"{HERE}({leaf.__code__.co_firstlineno}): leaf")
    report.equal("line of a decorated one", outer["name"],
                 f"{HERE}({below_a_decorator.__code__.co_firstlineno}): below_a_decorator")
    report.equal("its caller", calls.parent(inner), outer)
    report.equal("no module", [e for e in calls.all if "Python module id" in e["args"]], [])
    main = sys.modules["__main__"].__file__
    report.equal("the outermost call", calls.all[0]["name"].split("(")[0], pathlib.Path(main).name)
    report.equal("which nobody calls", calls.all[0]["args"]["Python parent id"], None)


def generators(report):
    calls = record(lambda: list(counting(2)))
    first = counting.__code__.co_firstlineno
    report.equal("a generator is named by the line it goes on from", lines_of(calls.named("counting")),
                 [f"{HERE}({first}): counting"] + [f"{HERE}({first + 2}): counting"] * 2)


def c_functions(report):
    values = [3, 1, 2]

    def work():
        math.sqrt(2.0)
        values.append(4)
        "-".join(["a", "b"])
        sorted(values, key=lambda v: -v)
        len(values)

    calls = record(work)
    report.equal("a function of a module", lines_of(calls.named("sqrt")), ["<built-in function sqrt>"])
    report.equal("a method", lines_of(calls.named("append")), [f"<built-in method append of list object at {id(values):#x}>"])
    report.equal("a method of a constant", [n.split(" object")[0] for n in lines_of(calls.named("join"))],
                 ["<built-in method join of str"])
    [sort] = calls.named("sorted")
    report.equal("Python below C", [e["name"].split(": ")[1] for e in calls.children(sort)], ["<lambda>"] * len(values))
    report.equal("they nest", calls.faults(), [])
    report.equal("C functions left out", [e for e in record(work, c_calls=False).all if "built-in" in e["name"]], [])


def strange_files(report):
    scope = {}
    exec(compile("def odd():\n    return 1\n", "/a \"quoted\"\nfile\udcff.py", "exec"), scope)  # noqa: S102
    [odd] = record(scope["odd"]).named("odd")
    report.equal("a file name that is no text", odd["name"], "/a \"quoted\"\nfile\\udcff.py(1): odd")


def through_the_engine(report):
    record(lambda: [leaf() for _ in range(10)])
    report.equal("kino query counts them", query("SELECT count(*) FROM python WHERE name LIKE '%: leaf'"), [[10]])
    report.equal("the engine finds the same callers by time",
                 query("SELECT c.name, p.name FROM python c JOIN python p ON p.id = c.parent WHERE p.python_id <> c.python_parent_id"), [])
    report.equal("and no others", query("SELECT count(*) FROM python WHERE parent IS NULL AND python_parent_id IS NOT NULL"), [[0]])


def run(report):
    functions(report)
    generators(report)
    c_functions(report)
    strange_files(report)
    through_the_engine(report)
