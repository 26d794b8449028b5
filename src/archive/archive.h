// The archive keeps every attempt for ever: SQLite in WAL mode, one writer at a time, a transaction for each attempt,
// texts content-addressed and compressed. Rows are only ever added: triggers in the schema refuse UPDATE and DELETE.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/record.h"

namespace ptxlab::archive {

// One call of optimise (later: of bench): what its attempts have in common.
struct Run {
  std::string id;       // "20261129T171500-3f2a9c01": time of start and a random part
  std::string command;  // as typed
  std::string task;
  std::string target;
  std::string proposers;
  uint64_t seed = 0;
  std::chrono::system_clock::time_point started{};
  int64_t attempts = 0;  // filled by the queries
};

// An attempt as a list shows it: without its texts.
struct AttemptRow {
  int64_t id = 0;
  std::string run, task, proposer, name, idea, outcome, reason;
  std::optional<double> estimated_speedup;
  std::chrono::system_clock::time_point at{};
};

struct AttemptFilter {
  std::optional<std::string> run, task, outcome;
  int64_t limit = 100;  // newest first
};

class Archive {
 public:
  // Opens or creates; migrates an older schema inside a transaction. Errors: ARC0001 cannot be opened or is no archive,
  // ARC0002 made by a newer version.
  static base::Result<std::unique_ptr<Archive>> open(const std::filesystem::path& file);
  // $XDG_DATA_HOME/ptxlab/archive.db
  static std::filesystem::path default_file();

  ~Archive();
  // Writers: each returns when the row is on disk. Error: ARC0003 with SQLite's reason (a full disk, a locked file);
  // the archive then holds what it held before. Thread-safe.
  base::Findings add_run(Run& run);                     // fills run.id and run.started
  base::Result<int64_t> add(record::Attempt& attempt);  // fills attempt.id and attempt.at

  // Readers. Errors: ARC0004 unreadable, ARC0005 no such attempt (show only).
  base::Result<std::vector<Run>> runs(int64_t limit = 100);
  base::Result<std::vector<AttemptRow>> attempts(const AttemptFilter& filter);
  base::Result<record::Attempt> attempt(int64_t id);

 private:
  struct Impl;
  explicit Archive(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  std::mutex mutex_;
};

}  // namespace ptxlab::archive
