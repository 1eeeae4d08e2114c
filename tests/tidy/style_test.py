#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""House rules that a machine can check. Prints each breach as file:line and exits 1; silent otherwise.

--self-test builds a small tree with one breach of each rule in a temporary folder; each must be found.
"""

import argparse
import os
import pathlib
import re
import sys
import tempfile

MAX_LINES = 450
MAX_COLUMNS = 110
MAX_README_LINES = 40

SKIPPED_FOLDERS = {"build", "runs", ".git", ".cache", "__pycache__"}
CPP = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh"}
COLUMN_CHECKED = CPP | {".py", ".sh"}
SOURCES = COLUMN_CHECKED | {".cmake"}
TEXTS = SOURCES | {".md", ".json", ".js", ".css", ".html"}

SPDX = "SPDX-License-Identifier: Apache-2.0"
SWITCH = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif|elifdef|elifndef)\b(?P<condition>.*)")
SWITCH_NAME = re.compile(r"\b(?:HS_|HEARSAY_)\w*|\b\w*CUDA\w*|(?<![A-Z])O?MPI(?![A-Z])")
DEVICE_CODE = re.compile(r"\b__CUDA_ARCH__\b")  # host and device halves of one .cu function
HOST_DEVICE = "kernels/core/host_device.hpp"  # the one header that asks for nvcc
LEFT_OVER = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME)\b")
MACHINE_PATH = re.compile(r"(?<![\w.)}])/(?:work|root|tmp|home)/")
LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")


def kind_of(path):
    """The suffix that decides which rules apply; a script without one shows it in its first line."""
    if path.name == "CMakeLists.txt":
        return ".cmake"
    if path.suffix:
        return path.suffix
    with path.open("rb") as file:
        first = file.readline(80)
    if first.startswith(b"#!"):
        return ".py" if b"python" in first else ".sh"
    return ""


def is_test(name):
    return name.startswith("tests/") or re.search(r"(_test\.\w+|/test_support\.hpp)$", name) is not None


def all_files(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED_FOLDERS)
        for file in sorted(files):
            path = pathlib.Path(folder) / file
            if path.is_file() and not path.is_symlink():
                yield path


def check_source(name, kind, lines):
    if not any(SPDX in line for line in lines[:3]):
        yield 1, f"has no line '{SPDX}' at the top"
    if len(lines) > MAX_LINES:
        yield MAX_LINES + 1, f"has {len(lines)} lines, more than {MAX_LINES}"
    for number, line in enumerate(lines, 1):
        if kind in COLUMN_CHECKED and len(line) > MAX_COLUMNS:
            yield number, f"has {len(line)} columns, more than {MAX_COLUMNS}"
        switch = SWITCH.match(line) if kind in CPP else None
        condition = switch.group("condition") if switch else ""
        if kind in {".cu", ".cuh"}:
            condition = DEVICE_CODE.sub("", condition)
        if SWITCH_NAME.search(condition) and name != HOST_DEVICE:
            yield number, "switches code by a macro; choose at link time or at run time"


def check_text(name, lines):
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            yield number, "has a tab"
        if LEFT_OVER.search(line):
            yield number, "leaves something to do; do it or say why not"
        if not is_test(name) and MACHINE_PATH.search(line):
            yield number, "names a path of one machine; take it from a flag or the environment"


def check_markdown(root, path, lines):
    is_fenced = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(("```", "~~~")):
            is_fenced = not is_fenced
        if is_fenced:
            continue
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            target = target.split("#")[0]
            if not target or re.match(r"^[a-z][a-z0-9+.-]*:", target):
                continue
            base = root if target.startswith("/") else path.parent
            if not (base / target.lstrip("/")).exists():
                yield number, f"links to {target}, which does not exist"
    if path.name == "README.md" and path.parent != root and len(lines) > MAX_README_LINES:
        yield MAX_README_LINES + 1, f"has {len(lines)} lines, more than {MAX_README_LINES}"


def check_tree(root):
    breaches = []
    top_folders = set()
    for path in all_files(root):
        name = path.relative_to(root).as_posix()
        kind = kind_of(path)
        if "/" in name and not name.startswith("."):
            top_folders.add(name.split("/")[0])
        if kind not in TEXTS:
            continue
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        found = list(check_text(name, lines))
        found += check_source(name, kind, lines) if kind in SOURCES else []
        found += check_markdown(root, path, lines) if kind == ".md" else []
        breaches += [f"{name}:{number}: {what}" for number, what in found]
    for folder in sorted(top_folders):
        if not (root / folder / "README.md").is_file():
            breaches.append(f"{folder}/README.md:1: is missing: what belongs in this folder, what does not")
    return breaches


HEAD = "// " + SPDX + "\n"
GOOD = {
    "README.md": "[a](kernels/a.hpp) [b](https://x.test/y) [c](#part) `[d](none)`\n\n```\n[e](none)\n```\n"
                 + "\n" * 60,
    "kernels/README.md": "[a](a.hpp) [root](/README.md#top)\n",
    "kernels/a.hpp": HEAD + "#pragma once\n#if defined(__COMPILER__)\n#endif\n// a/home/b, runs/tmp/c\n",
    "kernels/a.cu": HEAD + "#ifdef __CUDA_ARCH__\n#endif\n",
    "kernels/a_test.cpp": HEAD + 'const char* path = "/tmp/x";\n',
    "kernels/CMakeLists.txt": "# " + SPDX + "\n",
    "kernels/run": "#!/bin/sh\n# " + SPDX + "\n",
    "build/junk.cpp": "\t\n",
}
BAD = [
    ("merge/README.md", "x\n" * 41, 41, "41 lines"),
    ("merge/a.hpp", "#pragma once\n", 1, "SPDX"),
    ("merge/CMakeLists.txt", "\n", 1, "SPDX"),
    ("merge/tool", "#!/usr/bin/env python3\n", 1, "SPDX"),
    ("merge/b.hpp", HEAD + "\n" * 450, 451, "451 lines"),
    ("merge/c.hpp", HEAD + "x" * 111 + "\n", 2, "111 columns"),
    ("merge/d.hpp", HEAD + "#ifdef HS_FAST\n", 2, "macro"),
    ("merge/e.hpp", HEAD + "#if defined(HEARSAY_X) && 1\n", 2, "macro"),
    ("merge/f.hpp", HEAD + "#ifdef __CUDACC__\n", 2, "macro"),
    ("merge/g.hpp", HEAD + "# ifndef HAVE_MPI\n", 2, "macro"),
    ("merge/h.hpp", HEAD + "\tint x;\n", 2, "tab"),
    ("merge/i.hpp", HEAD + "// TO" + "DO later\n", 2, "leaves something"),
    ("merge/j.hpp", HEAD + 'const char* p = "/ro' + 'ot/x";\n', 2, "one machine"),
    ("merge/notes.md", "\n[x](absent.md)\n", 2, "does not exist"),
    ("gossip/a.hpp", HEAD, 1, "is missing"),
]


def self_test():
    """Returns a list of what went wrong."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)

        def write(name, text):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")

        for name, text in GOOD.items():
            write(name, text)
        wrong += [f"false alarm: {line}" for line in check_tree(root)]
        for name, text, _, _ in BAD:
            write(name, text)
        found = check_tree(root)
        for name, _, number, words in BAD:
            place = "gossip/README.md" if words == "is missing" else name
            hits = [line for line in found if line.startswith(f"{place}:{number}: ")]
            if len(hits) != 1 or words not in hits[0]:
                wrong.append(f"{place}:{number}: expected one breach with '{words}', got {hits}")
        if len(found) != len(BAD):
            wrong.append(f"expected {len(BAD)} breaches, got {len(found)}: {found}")
    return wrong


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--root", type=pathlib.Path, default=root)
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    problems = self_test() if arguments.self_test else check_tree(arguments.root)
    for line in problems:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
