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
};

}  // namespace ptxlab::archive
