#!/usr/bin/env python3
"""Compares every #include "room/..." under src/ (tests' files apart) with the table in docs/architecture.md, its only copy:
a room may include itself, what its line names, and what those include. Also: every room has a line, every line a room."""
import re
import sys
from pathlib import Path

ROW = re.compile(r"^\| `([a-z]+)/` \|.*\|([^|]*)\|\s*$")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def read_table(text):
    """Room to the set of rooms that its line names; None where it says 'anything'."""
    table = {}
    for line in text.splitlines():
        match = ROW.match(line)
        if match:
            names = match.group(2).strip()
            table[match.group(1)] = None if names == "anything" else {n.strip() for n in names.split(",") if n.strip()}
    return table


def reachable(table, room):
    if table.get(room, set()) is None:
        return set(table)
    seen, todo = {room}, [room]
    while todo:
        for other in table.get(todo.pop()) or set():
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def circles(table):
    return [room for room in table
            if table[room] is not None and any(room in reachable(table, other) for other in table[room])]


def generated(root):
    """Headers that a room's CMakeLists.txt writes below its own generated/, under the names by which they are included."""
    return {name for file in (root / "src").glob("*/CMakeLists.txt")
            for name in re.findall(r"/generated/(\S+\.h)\b", file.read_text(encoding="utf-8"))}


def check(root):
    """What is wrong, one line each."""
    table = read_table((root / "docs" / "architecture.md").read_text(encoding="utf-8"))
    wrong = []
    made = generated(root)
    if not table:
        return ["docs/architecture.md: no table of rooms"]
    for room, names in table.items():
        wrong += [f"docs/architecture.md: '{room}' names '{n}', which has no line" for n in names or () if n not in table]
    wrong += [f"docs/architecture.md: '{room}' is in a circle" for room in circles(table)]
    for folder in sorted(p for p in (root / "src").iterdir() if p.is_dir()):
        if folder.name not in table:
            wrong.append(f"src/{folder.name}: has no line in docs/architecture.md")
            continue
        allowed = reachable(table, folder.name)
        for path in sorted(folder.rglob("*")):
            if path.suffix not in (".h", ".cc", ".inc") or path.name.endswith("_test.cc"):
                continue
            for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
                room, slash, _ = name.partition("/")
                place = f"{path.relative_to(root)}: includes \"{name}\""
                if not (root / "src" / name).exists() and name not in made:
                    wrong.append(f"{place}, which is not under src/ (include from there: \"room/file.h\")")
                elif slash and room not in allowed:
                    wrong.append(f"{place}, but docs/architecture.md lets {folder.name} include only "
                                 f"{', '.join(sorted(allowed - {folder.name})) or 'itself'}")
                elif name.endswith(".cc"):
                    wrong.append(f"{place}, a source file")
    return wrong


if __name__ == "__main__":
    found = check(Path(__file__).resolve().parent.parent)
    print("\n".join(found) or "every include is as docs/architecture.md says")
    sys.exit(1 if found else 0)
