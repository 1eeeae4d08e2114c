#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the layers: a folder includes only what stands below it; the core has no sockets, threads or clocks.

    kernels  <-  merge | clustering  <-  gossip  <-  runtime  <-  experiments, tests

Prints each violation as file:line and exits 1; silent otherwise. --self-test proves that each rule fires.
"""

import argparse
import pathlib
import re
import sys
import tempfile

ALLOWED = {
    "kernels": {"kernels"},
    "merge": {"kernels", "merge"},
    "clustering": {"kernels", "clustering"},
    "gossip": {"kernels", "merge", "clustering", "gossip"},
    "runtime": {"kernels", "merge", "clustering", "gossip", "runtime"},
    # Programs to compare with; nothing links them.
    "experiments": {"kernels", "clustering", "runtime", "experiments"},
}
CORE = ("kernels", "merge", "clustering", "gossip")
DETERMINISTIC = ("merge", "clustering", "gossip")
SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cc", ".cu", ".cuh"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
IO_HEADER = re.compile(
    r"^(boost/asio|asio(/|\.hpp)|boost/beast|sys/(socket|un|epoll|select|poll)\.h$|netinet/|arpa/inet\.h$"
    r"|netdb\.h$|poll\.h$|mpi\.h$)")
THREAD_HEADER = re.compile(r"^(thread|future|stop_token|pthread\.h)$")
CLOCK = re.compile(
    r"\b((?:steady|system|high_resolution|file|utc|tai|gps)_clock|clock_gettime|gettimeofday)\b")
BANNED = re.compile(r"\b(random_device|std::j?thread|std::async|unordered_(?:multi)?(?:map|set))\b")

# A comment, a string (raw or not) or a character; digit separators (65'536) are no characters.
NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^\s()\\]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL)


def code_lines(text):
    """Lines of the source with comments and literals blanked, includes kept, line numbers unchanged."""
    def blank(match):
        token = match.group(0)
        line_begin = text.rfind("\n", 0, match.start()) + 1
        is_include = text[line_begin:match.start()].lstrip().startswith("#")
        return token if token[0] == '"' and is_include else re.sub(r"[^\n]", " ", token)
    return NOT_CODE.sub(blank, text).split("\n")


def check_include(layer, is_test, is_bench, quote, target):
    """Yields what is wrong with including `target` from a file of `layer`."""
    top = target.split("/")[0]
    if top in ALLOWED or top == "tests":
        if top == "tests" and is_test:
            return
        if top not in ALLOWED[layer]:
            yield f"{layer} must not include {target}"
    elif quote == '"':
        yield f'include "{target}" is not a path from the root of the repository'
    if layer in CORE:
        if IO_HEADER.match(target):
            yield f"{layer} does no input or output, but includes <{target}>"
        if THREAD_HEADER.match(target) and not is_bench:
            yield f"{layer} starts no threads, but includes <{target}>"


def check_line(layer, is_bench, line):
    if layer in CORE and not is_bench:
        for match in CLOCK.finditer(line):
            yield f"{layer} reads no clock, but names {match.group(1)}; pass the time in"
    if layer in DETERMINISTIC:
        for match in BANNED.finditer(line):
            yield f"{layer} must repeat itself bit for bit, but names {match.group(1)}"


def check_file(root, path):
    name = path.relative_to(root).as_posix()
    layer = name.split("/")[0]
    is_test = bool(re.search(r"_test\.\w+$", name))
    is_bench = layer == "kernels" and bool(re.search(r"(_bench\.\w+$|/bench/)", name))
    for number, line in enumerate(code_lines(path.read_text(encoding="utf-8", errors="replace")), 1):
        include = INCLUDE.match(line)
        problems = (check_include(layer, is_test, is_bench, *include.groups()) if include
                    else check_line(layer, is_bench, line))
        for problem in problems:
            yield f"{name}:{number}: {problem}"


def check_tree(root):
    violations = []
    for layer in ALLOWED:
        for path in sorted((root / layer).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                violations += check_file(root, path)
    return violations


GOOD = {
    "kernels/a.hpp": '#include <vector>\n#include "kernels/b.hpp"\n',
    "kernels/a_test.cpp": '#include "kernels/a.hpp"\n#include "tests/catch.hpp"\n',
    "kernels/bench/timer.cpp": "#include <chrono>\nauto t = std::chrono::steady_clock::now();\n",
    "merge/a.hpp": '#include "kernels/a.hpp"\n// steady_clock, random_device: words in a comment\n',
    "clustering/a.hpp": 'const char* s = "std::thread \\" system_clock";  /* std::unordered_map\n*/\n'
                        "int n = 65'536;\n",
    "gossip/a.hpp": '#include <chrono>\n#include "merge/a.hpp"\n#include "clustering/a.hpp"\n'
                    "std::chrono::nanoseconds t;\n",
    "runtime/a.cpp": '#include <thread>\n#include <boost/asio.hpp>\n#include "gossip/a.hpp"\n'
                     "auto t = std::chrono::steady_clock::now(); std::thread x; std::random_device d;\n",
    "tests/sim/a.cpp": '#include "runtime/a.hpp"\n#include "gossip/a.hpp"\n',
}
# One violation each: file, text, line it is on, words of the message.
BAD = [
    ("kernels/a.cpp", '#include "merge/a.hpp"\n', 1, "kernels must not include merge/a.hpp"),
    ("kernels/b.cpp", "\n#include <runtime/a.hpp>\n", 2, "kernels must not include runtime/a.hpp"),
    ("kernels/c.cpp", '#include "tests/catch.hpp"\n', 1, "must not include tests/catch.hpp"),
    ("kernels/d.cpp", "#include <boost/asio/io_context.hpp>\n", 1, "no input or output"),
    ("kernels/e.cpp", "#include <thread>\n", 1, "starts no threads"),
    ("kernels/f.cpp", "/* two\nlines */ auto t = std::chrono::system_clock::now();\n", 2, "reads no clock"),
    ("kernels/g.cu", "#include <sys/socket.h>\n", 1, "no input or output"),
    ("merge/a.cpp", '#include "clustering/a.hpp"\n', 1, "merge must not include clustering"),
    ("merge/b.cpp", '#include "gossip/a.hpp"\n', 1, "merge must not include gossip"),
    ("merge/c.cpp", "int n = 1'000; std::random_device d;\n", 1, "random_device"),
    ("merge/d.cpp", '#include "b.hpp"\n', 1, "not a path from the root"),
    ("clustering/a.cpp", '#include "merge/a.hpp"\n', 1, "clustering must not include merge"),
    ("clustering/b.cpp", "std::unordered_map<int, int> m;\n", 1, "unordered_map"),
    ("gossip/a.cpp", '#include "runtime/a.hpp"\n', 1, "gossip must not include runtime"),
    ("gossip/b.cpp", "using C = std::chrono::steady_clock;\n", 1, "steady_clock"),
    ("gossip/c.cpp", "std::thread t;\n", 1, "std::thread"),
    ("gossip/d_test.cpp", '#include "runtime/sim/a.hpp"\n', 1, "gossip must not include runtime"),
    ("gossip/e.cpp", "#include <netinet/in.h>\n", 1, "no input or output"),
    ("runtime/b.cpp", '#include "experiments/a.hpp"\n', 1, "runtime must not include experiments"),
    ("runtime/c.cpp", '#include "tests/catch.hpp"\n', 1, "runtime must not include tests"),
    ("experiments/a.cpp", '#include "tests/catch.hpp"\n', 1, "experiments must not include tests"),
]


def write_tree(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def self_test():
    """Returns a list of what went wrong."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        write_tree(root, GOOD)
        wrong += [f"false alarm: {line}" for line in check_tree(root)]
        write_tree(root, {name: text for name, text, _, _ in BAD})
        found = check_tree(root)
        for name, _, number, words in BAD:
            hits = [line for line in found if line.startswith(f"{name}:{number}: ")]
            if len(hits) != 1 or words not in hits[0]:
                wrong.append(f"{name}:{number}: expected one violation with '{words}', got {hits}")
        if len(found) != len(BAD):
            wrong.append(f"expected {len(BAD)} violations, got {len(found)}")
    return wrong


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--root", type=pathlib.Path, default=root)
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if not arguments.self_test and not (arguments.root / "kernels").is_dir():
        parser.error(f"{arguments.root} has no folder kernels; nothing would be checked")
    problems = self_test() if arguments.self_test else check_tree(arguments.root)
    for line in problems:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
