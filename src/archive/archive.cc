#include "archive/archive.h"

#include <SQLiteCpp/Backup.h>
#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <nlohmann/json.hpp>
#include <random>

#include "archive/impl.h"
#include "archive/schema.h"
#include "archive/text_store.h"
#include "base/file.h"
#include "base/finding_json.h"
#include "base/hash.h"
#include "record/json.h"

namespace ptxlab::archive {
namespace {

using base::Finding;
using base::Severity;
using std::chrono::system_clock;

// "ptxl" in ASCII: tells our files from other SQLite databases.
constexpr int kApplicationId = 0x7074786c;

}  // namespace

Finding finding(std::string code, std::string message, std::string hint) {
  return {std::move(code), Severity::error, {}, std::move(message), std::move(hint), {}};
}

Finding not_written(const SQLite::Exception& error) {
  return finding("ARC0003", fmt::format("the archive could not be written: {}", error.what()),
                 "free space on its disk, or name another file with --archive FILE; nothing of this attempt was kept");
}
Finding not_read(const std::exception& error) {
  return finding("ARC0004", fmt::format("the archive could not be read: {}", error.what()));
}

Archive::Impl::Impl(const std::string& file) : Impl(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) {}
Archive::Impl::Impl(const std::string& file, int flags) : db(file, flags, /*busy ms=*/10'000) {}

void Archive::Impl::migrate() {
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  int version = db.execAndGet("PRAGMA user_version").getInt();
  for (size_t i = static_cast<size_t>(version); i < kMigrations.size(); ++i) db.exec(kMigrations[i]);
  db.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  db.exec(fmt::format("PRAGMA user_version = {}", kMigrations.size()));
  transaction.commit();
}

void Archive::Impl::migrate_in_memory() {
  SQLite::Database copy(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  SQLite::Backup(copy, db).executeStep(-1);
  db = std::move(copy);
  migrate();
  // What would be lost with the process is not taken.
  db.exec("PRAGMA query_only = ON");
}

void Archive::Impl::wait_for_the_disk(Wait wait) {
  constexpr std::chrono::seconds kSoon{1};
  auto now = std::chrono::steady_clock::now();
  bool wanted = wait == Wait::always || now - waited >= kSoon;
  if (wanted) waited = now;
  if (wanted == waits) return;
  db.exec(wanted ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  waits = wanted;
}

std::string Archive::Impl::store(std::string_view text) {
  std::string hash = base::sha256(text);
  SQLite::Statement known(db, "SELECT 1 FROM text WHERE hash = ?");
  known.bind(1, hash);
  if (known.executeStep()) return hash;
  std::string bytes = compress(text);
  SQLite::Statement insert(db, "INSERT OR IGNORE INTO text(hash, size, zstd) VALUES (?, ?, ?)");
  insert.bind(1, hash);
  insert.bind(2, static_cast<int64_t>(text.size()));
  insert.bind(3, bytes.data(), static_cast<int>(bytes.size()));
  insert.exec();
  return hash;
}

std::string Archive::Impl::fetch(const std::string& hash) {
  SQLite::Statement query(db, "SELECT size, zstd FROM text WHERE hash = ?");
  query.bind(1, hash);
  if (!query.executeStep()) throw SQLite::Exception(fmt::format("text {} is missing", hash));
  auto blob = query.getColumn(1);
  auto text = decompress({static_cast<const char*>(blob.getBlob()), static_cast<size_t>(blob.getBytes())},
                         static_cast<size_t>(query.getColumn(0).getInt64()));
  if (!text.ok || base::sha256(text.text) != hash) throw SQLite::Exception(fmt::format("text {} is damaged", hash));
  return text.text;
}

void Archive::Impl::insert_run(Run& run) {
  run.started = from_ms(to_ms(system_clock::now()));
  std::random_device device;  // ids need to differ, not to repeat: two runs may start in the same second
  run.id = fmt::format("{:%Y%m%dT%H%M%S}-{:08x}", fmt::gmtime(system_clock::to_time_t(run.started)), device());
  SQLite::Statement insert(db, "INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?)");
  insert.bind(1, run.id);
  insert.bind(2, to_ms(run.started));
  insert.bind(3, run.command);
  insert.bind(4, run.task);
  insert.bind(5, run.target);
  insert.bind(6, run.proposers);
  insert.bind(7, fmt::format("{}", run.seed));
  insert.exec();
  SQLite::Statement order(db, "INSERT INTO began(run) VALUES (?)");
  order.bind(1, run.id);
  order.exec();
}

int64_t Archive::Impl::insert_attempt(record::Attempt& attempt) {
  attempt.at = from_ms(to_ms(system_clock::now()));
  const auto& candidate = attempt.candidate;
  const auto& verdict = attempt.verdict;
  std::string ptx = store(candidate.ptx);
  std::string brief = store(attempt.brief_json);
  std::string judged = store(base::print_json(record::to_json(verdict), -1));
  SQLite::Statement insert(db,
                           "INSERT INTO attempt(run, at_ms, task, proposer, name, idea, outcome, reason, "
                           "estimated_speedup, code_digest, ptx, plan, brief, verdict, prompt, answer, cuda) "
                           "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(1, attempt.run);
  insert.bind(2, to_ms(attempt.at));
  insert.bind(3, attempt.task);
  insert.bind(4, candidate.proposer);
  insert.bind(5, candidate.name);
  insert.bind(6, candidate.idea);
  insert.bind(7, std::string(record::name_of(verdict.outcome)));
  insert.bind(8, verdict.reason);
  if (verdict.estimated_speedup) insert.bind(9, *verdict.estimated_speedup);
  insert.bind(10, verdict.code_digest);
  insert.bind(11, ptx);
  if (candidate.plan) insert.bind(12, store(*candidate.plan));
  insert.bind(13, brief);
  insert.bind(14, judged);
  if (!candidate.prompt.empty()) insert.bind(15, store(candidate.prompt));
  if (!candidate.answer.empty()) insert.bind(16, store(candidate.answer));
  if (!candidate.cuda.empty()) insert.bind(17, store(candidate.cuda));
  insert.exec();
  attempt.id = db.getLastInsertRowid();
  return attempt.id;
}

Archive::Archive(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Archive::~Archive() = default;

std::filesystem::path Archive::default_file() { return base::data_home() / "archive.db"; }

namespace {

Finding not_opened(const std::filesystem::path& file, std::string_view why) {
  return finding("ARC0001", fmt::format("the archive {} cannot be opened: {}", file.string(), why),
                 "name another file with --archive FILE");
}
Finding newer(const std::filesystem::path& file, int version) {
  return finding("ARC0002",
                 fmt::format("the archive {} has schema version {}, this ptxlab knows up to {}", file.string(), version,
                             kMigrations.size()),
                 "use the newer ptxlab, or another archive with --archive FILE");
}

// SQLite's name of a file that nobody changes meanwhile: then it needs no files beside it.
std::string unchanging(const std::filesystem::path& file) {
  std::string uri = "file:";
  for (char c : file.string()) uri += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", c) : std::string(1, c);
  return uri + "?immutable=1";
}

}  // namespace

base::Result<std::unique_ptr<Archive>> Archive::open_to_read(const std::filesystem::path& file) {
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  auto writable = [](const std::filesystem::path& path) {
    return faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
  };
  if (writable(file) && writable(folder)) return open(file);
  // Where another writes just now there is a log beside it, and SQLite reads both; else the file is all there is.
  std::error_code none;
  const auto log = std::filesystem::file_size(file.string() + "-wal", none);
  const bool logged = !none && log > 0;
  try {
    auto impl = logged ? std::make_unique<Impl>(file.string(), SQLite::OPEN_READONLY)
                       : std::make_unique<Impl>(unchanging(file), SQLite::OPEN_READONLY | SQLite::OPEN_URI);
    const int version = impl->db.execAndGet("PRAGMA user_version").getInt();
    if (impl->db.execAndGet("PRAGMA application_id").getInt() != kApplicationId)
      return not_opened(file, "it is another program's database");
    if (version > static_cast<int>(kMigrations.size())) return newer(file, version);
    if (version < static_cast<int>(kMigrations.size())) impl->migrate_in_memory();
    return std::unique_ptr<Archive>(new Archive(std::move(impl)));
  } catch (const SQLite::Exception& e) {
    return not_opened(file, e.what());
  }
}

base::Result<std::unique_ptr<Archive>> Archive::open(const std::filesystem::path& file) {
  auto refuse = [&](std::string_view why) { return not_opened(file, why); };
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  if (error) return refuse(error.message());
  try {
    auto impl = std::make_unique<Impl>(file.string());
    int version = impl->db.execAndGet("PRAGMA user_version").getInt();
    int owner = impl->db.execAndGet("PRAGMA application_id").getInt();
    bool empty = impl->db.execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0;
    if (!empty && owner != kApplicationId) return refuse("it is another program's database");
    if (version > static_cast<int>(kMigrations.size())) return newer(file, version);
    // WAL with FULL: a committed attempt survives a kill and a power cut.
    impl->db.exec("PRAGMA journal_mode = WAL");
    impl->db.exec("PRAGMA synchronous = FULL");
    impl->db.exec("PRAGMA foreign_keys = ON");
    if (version < static_cast<int>(kMigrations.size())) impl->migrate();
    return std::unique_ptr<Archive>(new Archive(std::move(impl)));
  } catch (const SQLite::Exception& e) {
    return refuse(e.what());
  }
}

base::Findings Archive::add_run(Run& run) {
  std::lock_guard lock(mutex_);
  try {
    impl_->wait_for_the_disk(Impl::Wait::always);
    SQLite::Transaction transaction(impl_->db, SQLite::TransactionBehavior::IMMEDIATE);
    impl_->insert_run(run);
    transaction.commit();
    return {};
  } catch (const SQLite::Exception& e) {
    return {not_written(e)};
  }
}

base::Result<int64_t> Archive::add(record::Attempt& attempt) {
  std::lock_guard lock(mutex_);
  try {
    impl_->wait_for_the_disk(Impl::Wait::always);
    SQLite::Transaction transaction(impl_->db, SQLite::TransactionBehavior::IMMEDIATE);
    impl_->insert_attempt(attempt);
    transaction.commit();
    return attempt.id;
  } catch (const SQLite::Exception& e) {
    attempt.id = 0;
    return not_written(e);
  }
}

namespace {

constexpr const char* kRunColumns =
    "SELECT run.id, started_ms, command, task, target, proposers, seed, "
    "(SELECT count(*) FROM attempt WHERE attempt.run = run.id) FROM run LEFT JOIN began ON began.run = run.id ";

Run run_of(SQLite::Statement& row) {
  Run run;
  run.id = row.getColumn(0).getString();
  run.started = from_ms(row.getColumn(1).getInt64());
  run.command = row.getColumn(2).getString();
  run.task = row.getColumn(3).getString();
  run.target = row.getColumn(4).getString();
  run.proposers = row.getColumn(5).getString();
  run.seed = std::stoull(row.getColumn(6).getString());
  run.attempts = row.getColumn(7).getInt64();
  return run;
}

}  // namespace

base::Result<std::vector<Run>> Archive::runs(int64_t limit) {
  std::lock_guard lock(mutex_);
  try {
    SQLite::Statement query(impl_->db, std::string(kRunColumns) + kNewestFirst + "LIMIT ?");
    query.bind(1, limit);
    std::vector<Run> rows;
    while (query.executeStep()) rows.push_back(run_of(query));
    return rows;
  } catch (const std::exception& e) {
    return not_read(e);
  }
}

base::Result<Run> Archive::run(std::string_view id) {
  std::lock_guard lock(mutex_);
  try {
    bool last = id == "last";
    SQLite::Statement query(impl_->db,
                            std::string(kRunColumns) + (last ? std::string(kNewestFirst) + "LIMIT 1"
                                                             : "WHERE substr(run.id, 1, length(?1)) = ?1 LIMIT 2"));
    if (!last) query.bind(1, std::string(id));
    std::vector<Run> found;
    while (query.executeStep()) found.push_back(run_of(query));
    if (found.size() == 1) return found.front();
    return finding("ARC0007",
                   found.empty() ? fmt::format("the archive has no run '{}'", id)
                                 : fmt::format("several runs begin with '{}'", id),
                   "`ptxlab archive list --runs` shows what there is");
  } catch (const std::exception& e) {
    return not_read(e);
  }
}

base::Result<std::vector<AttemptRow>> Archive::attempts(const AttemptFilter& filter) {
  std::lock_guard lock(mutex_);
  try {
    SQLite::Statement query(impl_->db,
                            "SELECT id, run, task, proposer, name, idea, outcome, reason, estimated_speedup, at_ms "
                            "FROM attempt WHERE (?1 IS NULL OR run = ?1) AND (?2 IS NULL OR task = ?2) "
                            "AND (?3 IS NULL OR outcome = ?3) ORDER BY id DESC LIMIT ?4");
    if (filter.run) query.bind(1, *filter.run);
    if (filter.task) query.bind(2, *filter.task);
    if (filter.outcome) query.bind(3, *filter.outcome);
    query.bind(4, filter.limit);
    std::vector<AttemptRow> rows;
    while (query.executeStep()) {
      AttemptRow row;
      row.id = query.getColumn(0).getInt64();
      row.run = query.getColumn(1).getString();
      row.task = query.getColumn(2).getString();
      row.proposer = query.getColumn(3).getString();
      row.name = query.getColumn(4).getString();
      row.idea = query.getColumn(5).getString();
      row.outcome = query.getColumn(6).getString();
      row.reason = query.getColumn(7).getString();
      if (!query.getColumn(8).isNull()) row.estimated_speedup = query.getColumn(8).getDouble();
      row.at = from_ms(query.getColumn(9).getInt64());
      rows.push_back(std::move(row));
    }
    return rows;
  } catch (const std::exception& e) {
    return not_read(e);
  }
}

namespace {

// The texts of an attempt as they are kept; reading the verdict's JSON is the long part, and others may use the archive meanwhile.
struct Kept {
  record::Attempt attempt;
  std::string verdict;
};

}  // namespace

base::Result<record::Attempt> Archive::attempt(int64_t id, bool texts) {
  Kept kept;
  try {
    std::lock_guard lock(mutex_);
    SQLite::Statement query(
        impl_->db,
        "SELECT run, at_ms, task, proposer, name, idea, ptx, plan, brief, verdict, prompt, answer, cuda "
        "FROM attempt WHERE id = ?");
    query.bind(1, id);
    if (!query.executeStep()) {
      return finding("ARC0005", fmt::format("the archive has no attempt {}", id),
                     "`ptxlab archive list` shows what there is");
    }
    const auto fetch = [&](int column) {
      return query.getColumn(column).isNull() ? std::string() : impl_->fetch(query.getColumn(column).getString());
    };
    auto& attempt = kept.attempt;
    attempt.id = id;
    attempt.run = query.getColumn(0).getString();
    attempt.at = from_ms(query.getColumn(1).getInt64());
    attempt.task = query.getColumn(2).getString();
    attempt.candidate.proposer = query.getColumn(3).getString();
    attempt.candidate.name = query.getColumn(4).getString();
    attempt.candidate.idea = query.getColumn(5).getString();
    attempt.candidate.ptx = fetch(6);
    if (!query.getColumn(7).isNull()) attempt.candidate.plan = fetch(7);
    attempt.candidate.cuda = fetch(12);
    kept.verdict = fetch(9);
    if (texts) {
      attempt.brief_json = fetch(8);
      attempt.candidate.prompt = fetch(10);
      attempt.candidate.answer = fetch(11);
    }
  } catch (const std::exception& e) {
    return not_read(e);
  }
  auto verdict = record::read_verdict(kept.verdict);
  if (!verdict) return verdict.findings();
  kept.attempt.verdict = *std::move(verdict);
  return std::move(kept.attempt);
}

}  // namespace ptxlab::archive
