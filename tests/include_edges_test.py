"""The include-edge test on the project itself, and on small trees with one planted fault each."""
import tempfile
import unittest
from pathlib import Path

import include_edges

TABLE = """| folder | what | may include |
|---|---|---|
| `base/` | a, b | |
| `isa/` | c | base |
| `ptx/` | d | isa |
| `stats/` | e | base |
| `cli/` | f | anything |
"""


class IncludeEdges(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.put("docs/architecture.md", TABLE)
        self.put("src/base/a.h", "#include <string>\n")
        self.put("src/isa/b.h", '#include "base/a.h"\n')
        self.put("src/ptx/c.cc", '#include "base/a.h"\n#include "isa/b.h"\n')
        self.put("src/stats/d.h", '#include "base/a.h"\n')
        self.put("src/cli/e.cc", '#include "ptx/f.h"\n#include "stats/d.h"\n')
        self.put("src/ptx/f.h", "")

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def found(self):
        return include_edges.check(self.root)

    def test_a_header_that_a_room_makes(self):
        self.put("src/isa/g.cc", '#include "isa/made.h"\n')
        self.assertEqual(len(self.found()), 1)
        self.put("src/isa/CMakeLists.txt", "file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/isa/made.h @ONLY CONTENT x)\n")
        self.assertEqual(self.found(), [])
        # It stays the room's: another that may not include it still may not.
        self.put("src/base/h.cc", '#include "isa/made.h"\n')
        self.assertEqual(len(self.found()), 1)

    def test_the_project_itself(self):
        self.assertEqual(include_edges.check(Path(__file__).resolve().parent.parent), [])

    def test_honest_tree(self):
        self.assertEqual(self.found(), [])

    def test_edge_upwards(self):
        self.put("src/base/a.h", '#include "isa/b.h"\n')
        self.assertEqual(len(self.found()), 1)
        self.assertIn('src/base/a.h: includes "isa/b.h"', self.found()[0])

    def test_edge_sideways(self):
        self.put("src/stats/d.h", '  #  include "ptx/f.h"\n')
        self.assertEqual(len(self.found()), 1)

    def test_tests_files_are_apart(self):
        self.put("src/base/a_test.cc", '#include "ptx/f.h"\n')
        self.assertEqual(self.found(), [])

    def test_room_without_a_line(self):
        self.put("src/extra/a.h", "")
        self.assertEqual(self.found(), ["src/extra: has no line in docs/architecture.md"])

    def test_include_that_is_not_from_src(self):
        self.put("src/ptx/c.cc", '#include "f.h"\n')
        self.assertEqual(len(self.found()), 1)

    def test_circle_and_unknown_name_in_the_table(self):
        self.put("docs/architecture.md", TABLE.replace("| a, b | |", "| a, b | ptx |").replace("| e | base |", "| e | bsae |"))
        said = "\n".join(self.found())
        self.assertIn("'base' is in a circle", said)
        self.assertIn("'stats' names 'bsae'", said)


if __name__ == "__main__":
    unittest.main()
