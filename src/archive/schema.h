// The schema's history: migration i takes an archive from version i to i + 1. Old entries are never edited.
#pragma once
#include <array>

namespace ptxlab::archive {

inline constexpr std::array kMigrations = {
    R"sql(
CREATE TABLE text (
  hash TEXT PRIMARY KEY,          -- SHA-256 of the uncompressed bytes
  size INTEGER NOT NULL,
  zstd BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE run (
  id TEXT PRIMARY KEY,
  started_ms INTEGER NOT NULL,    -- since the epoch, UTC
  command TEXT NOT NULL,
  task TEXT NOT NULL,
  target TEXT NOT NULL,
  proposers TEXT NOT NULL,
  seed TEXT NOT NULL              -- decimal: a 64-bit unsigned number does not fit SQLite's integers
) WITHOUT ROWID;
CREATE TABLE attempt (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES run(id),
  at_ms INTEGER NOT NULL,
  task TEXT NOT NULL,
  proposer TEXT NOT NULL,
  name TEXT NOT NULL,
  idea TEXT NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL,
  estimated_speedup REAL,
  code_digest TEXT NOT NULL,
  ptx TEXT NOT NULL REFERENCES text(hash),
  plan TEXT REFERENCES text(hash),
  brief TEXT NOT NULL REFERENCES text(hash),
  verdict TEXT NOT NULL REFERENCES text(hash)
);
CREATE INDEX attempt_by_run ON attempt(run);
CREATE INDEX attempt_by_task ON attempt(task, outcome);
CREATE TRIGGER text_kept BEFORE DELETE ON text BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER text_fixed BEFORE UPDATE ON text BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER run_kept BEFORE DELETE ON run BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER run_fixed BEFORE UPDATE ON run BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER attempt_kept BEFORE DELETE ON attempt BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER attempt_fixed BEFORE UPDATE ON attempt BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
)sql",
    // What a model was asked and what it said: NULL where no model was.
    R"sql(
ALTER TABLE attempt ADD COLUMN prompt TEXT REFERENCES text(hash);
ALTER TABLE attempt ADD COLUMN answer TEXT REFERENCES text(hash);
)sql",
    // Runs of bench: locked, and resumed after any end. A question is entered before it is asked, its answer when it is there, and
    // the attempt that it led to when that is judged, so that nothing is asked or judged twice.
    R"sql(
ALTER TABLE attempt ADD COLUMN cuda TEXT REFERENCES text(hash);  -- NULL: its proposer wrote PTX
CREATE TABLE bench (
  run TEXT PRIMARY KEY REFERENCES run(id),
  lock TEXT NOT NULL REFERENCES text(hash),  -- ptxlab.lock/1
  rejudged TEXT REFERENCES run(id)           -- whose candidates are judged again; NULL: none's
) WITHOUT ROWID;
CREATE TABLE question (                      -- one without an answer may have cost something
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES bench(run),
  arm TEXT NOT NULL,
  task TEXT NOT NULL,
  sample INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  at_ms INTEGER NOT NULL
);
CREATE TABLE answer (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES bench(run),
  arm TEXT NOT NULL,
  task TEXT NOT NULL,
  sample INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  seconds REAL NOT NULL,
  usage TEXT NOT NULL,                       -- JSON; "" of proposers that use no model
  note TEXT NOT NULL,
  findings TEXT NOT NULL,                    -- JSON, of the call and not of the candidate
  brief TEXT NOT NULL REFERENCES text(hash),
  candidate TEXT REFERENCES text(hash),      -- ptxlab.candidate/1; NULL: none came
  UNIQUE (run, arm, task, sample, turn)
);
CREATE TABLE unanswered (                    -- trouble, not an answer: it is asked again when the run is resumed
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES bench(run),
  arm TEXT NOT NULL,
  task TEXT NOT NULL,
  sample INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  usage TEXT NOT NULL,
  findings TEXT NOT NULL
);
CREATE TABLE judged (
  answer INTEGER PRIMARY KEY REFERENCES answer(id),
  attempt INTEGER NOT NULL REFERENCES attempt(id),
  seconds REAL NOT NULL
);
CREATE INDEX question_by_cell ON question(run, arm, task, sample, turn);
CREATE INDEX unanswered_by_cell ON unanswered(run, arm, task, sample, turn);
CREATE UNIQUE INDEX judged_once ON judged(attempt);
CREATE TRIGGER bench_kept BEFORE DELETE ON bench BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER bench_fixed BEFORE UPDATE ON bench BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER question_kept BEFORE DELETE ON question BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER question_fixed BEFORE UPDATE ON question BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER answer_kept BEFORE DELETE ON answer BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER answer_fixed BEFORE UPDATE ON answer BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER unanswered_kept BEFORE DELETE ON unanswered BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER unanswered_fixed BEFORE UPDATE ON unanswered BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER judged_kept BEFORE DELETE ON judged BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER judged_fixed BEFORE UPDATE ON judged BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
)sql",
    // A run that goes on under another lock that is as good: by another build of the program, with a larger budget. Answers judged
    // once more, since the machine had trouble the first time. And the order of runs, which a clock that is set back does not change.
    R"sql(
CREATE TABLE began (                         -- of older runs only their times are known
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL UNIQUE REFERENCES run(id)
);
CREATE TABLE continued (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL REFERENCES bench(run),
  at_ms INTEGER NOT NULL,
  after INTEGER NOT NULL,                    -- the last attempt of the archive at that time; 0: there was none
  lock TEXT NOT NULL REFERENCES text(hash)
);
CREATE TABLE judged_again (                  -- the newest attempt of an answer counts
  attempt INTEGER PRIMARY KEY REFERENCES attempt(id),
  answer INTEGER NOT NULL REFERENCES judged(answer),
  seconds REAL NOT NULL
);
CREATE INDEX continued_by_run ON continued(run);
CREATE INDEX judged_again_by_answer ON judged_again(answer, attempt);
CREATE TRIGGER began_kept BEFORE DELETE ON began BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER began_fixed BEFORE UPDATE ON began BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER continued_kept BEFORE DELETE ON continued BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER continued_fixed BEFORE UPDATE ON continued BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER judged_again_kept BEFORE DELETE ON judged_again BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
CREATE TRIGGER judged_again_fixed BEFORE UPDATE ON judged_again BEGIN SELECT RAISE(ABORT, 'the archive only grows'); END;
)sql",
};

}  // namespace ptxlab::archive
