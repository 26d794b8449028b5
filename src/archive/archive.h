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
#include <utility>
#include <vector>

#include "base/result.h"
#include "record/proposer.h"
#include "record/record.h"

namespace ptxlab::archive {

struct Cell;
struct Answer;
struct Unanswered;
struct Bench;

// One call of optimise or of bench: what its attempts have in common.
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
  // One that is there, for what only reads: it may be another's, or on a disk that cannot be written to. Of an older one that cannot
  // be migrated where it lies a copy in memory is.
  static base::Result<std::unique_ptr<Archive>> open_to_read(const std::filesystem::path& file);
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
  // `texts`: also its brief and what its model was asked and said, which are long.
  base::Result<record::Attempt> attempt(int64_t id, bool texts = true);
  // The run whose id this is, or begins with this; "last": the one that began last. Error: ARC0007 none or several.
  base::Result<Run> run(std::string_view id);

  // --- of bench (archive/bench.h) ---
  // A kill loses nothing of these, a power cut the last second's at most: waiting for the disk each time would cost more than all
  // else that a candidate costs beside its gates.
  base::Findings add_bench(Run& run, std::string_view lock, std::string_view rejudged = "");
  // That the run goes on under `lock`, from here on.
  base::Findings add_continued(const std::string& run, std::string_view lock);
  base::Findings add_question(const std::string& run, const Cell& cell);
  base::Findings add_answers(const std::string& run, std::vector<Answer>& answers);  // all or none; fills id and at
  base::Findings add_unanswered(const std::string& run, const Unanswered& unanswered);
  // The attempt that an answer led to; both rows or none. Where `answer` has one, this one counts from now on.
  base::Result<int64_t> add_judged(const Answer& answer, record::Attempt& attempt, double seconds);
  // Error: ARC0008, a run that is none of bench.
  base::Result<Bench> bench(const std::string& run);
  base::Result<std::vector<Bench>> benches();  // the newest first
  // In the order of their cells, without brief and candidate; answer() has one whole.
  base::Result<std::vector<Answer>> answers(const std::string& run);
  base::Result<Answer> answer(int64_t id);
  // The last for each cell that has no answer, by cell.
  base::Result<std::vector<Unanswered>> unanswered(const std::string& run);
  // What questions without an answer have used; all of them, those answered at a later try too.
  base::Result<std::vector<std::pair<Cell, record::Usage>>> unanswered_usage(const std::string& run);
  // How many questions were put and had neither answer nor trouble: what was on its way when a run was killed.
  base::Result<int64_t> interrupted(const std::string& run);

 private:
  struct Impl;
  explicit Archive(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  std::mutex mutex_;
};

}  // namespace ptxlab::archive
