"""What the documents show is what the program says: their examples are golden cases, and every link leads somewhere.
`readme_test.py --bless` copies the examples from their cases into the documents; ./test --bless calls it."""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


EXAMPLE = re.compile(r"(<!-- (tests/cases/\S+\.case);.*?-->\n```\n)(\$ .*?\n)(.*?)```", re.S)


def command_and_output(name):
    case = (ROOT / name).read_text()
    command = re.search(r"^\$ .*\n", case, re.M).group()
    return command, case.split("--- stdout\n", 1)[1]


def bless():
    for document in DOCUMENTS:
        text = document.read_text()
        shown = EXAMPLE.sub(lambda m: m.group(1) + "".join(command_and_output(m.group(2))) + "```", text)
        if shown != text:
            document.write_text(shown)


class Documents(unittest.TestCase):
    def test_shown_output_is_that_of_its_golden_case(self):
        for document in DOCUMENTS:
            shown = EXAMPLE.findall(document.read_text())
            if document.name in ("README.md", "briefs.md"):
                self.assertTrue(shown, f"{document.name} shows no example of a golden case")
            for _, name, command, output in shown:
                self.assertEqual((command, output), command_and_output(name), name)

    def test_links_lead_somewhere(self):
        for document in DOCUMENTS:
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text()):
                if "://" not in target:
                    self.assertTrue((document.parent / target).exists(), f"{document.name}: {target}")

    def test_commands_in_the_table_are_those_of_help(self):
        helped = (ROOT / "tests/cases/cli/help.case").read_text().split("Commands:\n", 1)[1].split("\n\n", 1)[0]
        commands = {line.split()[0] for line in helped.splitlines()}
        shown = set(re.findall(r"^\| `ptxlab ([a-z]+)", (ROOT / "README.md").read_text(), re.M))
        self.assertEqual(shown, commands)


if __name__ == "__main__":
    if sys.argv[1:] == ["--bless"]:
        bless()
    else:
        unittest.main()
