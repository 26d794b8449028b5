// The archive's insides, shared by its source files.
#pragma once
#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "archive/archive.h"
#include "base/finding.h"

namespace ptxlab::archive {

inline int64_t to_ms(std::chrono::system_clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count();
}
inline std::chrono::system_clock::time_point from_ms(int64_t ms) {
  return std::chrono::system_clock::time_point(std::chrono::milliseconds(ms));
}

// Of runs joined with `began`.
inline constexpr const char* kNewestFirst = "ORDER BY began.id DESC, started_ms DESC, run.id DESC ";

base::Finding finding(std::string code, std::string message, std::string hint = "");
base::Finding not_written(const SQLite::Exception& error);  // ARC0003
base::Finding not_read(const std::exception& error);        // ARC0004

struct Archive::Impl {
  SQLite::Database db;
  explicit Impl(const std::string& file);  // to write, made where it is not there
  Impl(const std::string& file, int flags);

  void migrate();
  // Of a file that is only read: from here on a copy of it.
  void migrate_in_memory();
  // A commit always survives a kill. It survives a power cut too where it waits for the disk; `soon`: it waits only if none has for
  // a second, so that a power cut takes a second of work at most. To be called before a transaction.
  enum class Wait { always, soon };
  void wait_for_the_disk(Wait wait);
  bool waits = true;
  std::chrono::steady_clock::time_point waited{};
  // Keeps a text and returns its hash. fetch() throws where it is missing or damaged.
  std::string store(std::string_view text);
  std::string fetch(const std::string& hash);
  // The rows, without a transaction of their own; they throw.
  void insert_run(Run& run);
  int64_t insert_attempt(record::Attempt& attempt);
};

}  // namespace ptxlab::archive
