#include "archive/archive.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <SQLiteCpp/SQLiteCpp.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "archive/bench.h"
#include "archive/schema.h"
#include "archive/text_store.h"
#include "base/file.h"
#include "base/finding_json.h"
#include "base/hash.h"
#include "record/json.h"

namespace ptxlab::archive {
namespace {

record::Attempt sample(const std::string& run, std::string name) {
  record::Attempt attempt;
  attempt.run = run;
  attempt.task = "elementwise/vector_add_f32";
  attempt.candidate.ptx = "// " + name + "\n.version 8.0\n";
  attempt.candidate.plan = "schema = \"ptxlab.plan/1\"\n";
  attempt.candidate.proposer = "files";
  attempt.candidate.name = std::move(name);
  attempt.candidate.idea = "as handed in";
  attempt.brief_json = "{}";
  attempt.verdict.outcome = record::OutcomeName::unverified;
  attempt.verdict.reason = "passed every gate that ran";
  attempt.verdict.estimated_speedup = 1.5;
  return attempt;
}

std::unique_ptr<Archive> must_open(const std::filesystem::path& file) {
  auto archive = Archive::open(file);
  EXPECT_TRUE(archive.ok()) << base::render(archive.findings(), "");
  return archive.ok() ? std::move(*archive) : nullptr;
}

TEST(Archive, KeepsAttemptsAndGivesThemBack) {
  base::TemporaryFolder folder("archive");
  auto file = folder.path() / "deep" / "archive.db";
  int64_t id = 0;
  std::string run_id;
  {
    auto archive = must_open(file);
    archive::Run run;
    run.command = "ptxlab optimize x.cu";
    run.seed = ~uint64_t{0};
    ASSERT_TRUE(archive->add_run(run).empty());
    run_id = run.id;
    auto attempt = sample(run.id, "first");
    auto added = archive->add(attempt);
    ASSERT_TRUE(added.ok());
    id = *added;
  }
  auto archive = must_open(file);
  auto runs = archive->runs();
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs->size(), 1u);
  EXPECT_EQ(runs->front().id, run_id);
  EXPECT_EQ(runs->front().seed, ~uint64_t{0});
  EXPECT_EQ(runs->front().attempts, 1);
  auto attempt = archive->attempt(id);
  ASSERT_TRUE(attempt.ok()) << base::render(attempt.findings(), "");
  EXPECT_EQ(attempt->candidate.ptx, "// first\n.version 8.0\n");
  EXPECT_EQ(attempt->candidate.plan, "schema = \"ptxlab.plan/1\"\n");
  EXPECT_EQ(attempt->verdict.outcome, record::OutcomeName::unverified);
  EXPECT_EQ(attempt->verdict.estimated_speedup, 1.5);
}

TEST(Archive, FiltersAndLists) {
  base::TemporaryFolder folder("archive");
  auto archive = must_open(folder.path() / "archive.db");
  archive::Run run;
  ASSERT_TRUE(archive->add_run(run).empty());
  for (int i = 0; i < 5; ++i) {
    auto attempt = sample(run.id, "c" + std::to_string(i));
    if (i == 2) attempt.verdict.outcome = record::OutcomeName::wrong;
    ASSERT_TRUE(archive->add(attempt).ok());
  }
  auto all = archive->attempts({});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 5u);
  EXPECT_EQ(all->front().name, "c4");
  AttemptFilter filter;
  filter.outcome = "wrong";
  auto wrong = archive->attempts(filter);
  ASSERT_TRUE(wrong.ok());
  ASSERT_EQ(wrong->size(), 1u);
  EXPECT_EQ(wrong->front().name, "c2");
}

TEST(Archive, RefusesUnknownAttemptsAndForeignFiles) {
  base::TemporaryFolder folder("archive");
  auto archive = must_open(folder.path() / "archive.db");
  auto missing = archive->attempt(7);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.findings().front().code, "ARC0005");

  ASSERT_TRUE(
      base::write_file(folder.path() / "text", "this is a text, not a database, and long enough to be read").empty());
  auto text = Archive::open(folder.path() / "text");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.findings().front().code, "ARC0001");

  {
    SQLite::Database other((folder.path() / "other.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE mine(x)");
  }
  auto foreign = Archive::open(folder.path() / "other.db");
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.findings().front().code, "ARC0001");

  SQLite::Database((folder.path() / "archive.db").string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99");
  auto newer = Archive::open(folder.path() / "archive.db");
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.findings().front().code, "ARC0002");
}

// Without the rights of root, which no mode of a file keeps from writing.
struct AsNobody {
  const bool root = geteuid() == 0;
  AsNobody() { EXPECT_TRUE(!root || seteuid(65534) == 0); }
  ~AsNobody() { EXPECT_TRUE(!root || seteuid(0) == 0); }
  // A folder above may keep strangers out, such as a root file system that only its owner may enter.
  static bool sees(const std::filesystem::path& file) {
    return faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) == 0;
  }
};

TEST(Archive, IsReadWhereNothingMayBeWritten) {
  base::TemporaryFolder folder("archive");
  const auto place = folder.path() / "a ? 100 % # folder";
  std::filesystem::create_directory(place);
  const auto file = place / "archive.db";
  int64_t id = 0;
  {
    auto archive = must_open(file);
    archive::Run run;
    ASSERT_TRUE(archive->add_run(run).empty());
    auto attempt = sample(run.id, "one");
    id = *archive->add(attempt);
  }
  const auto mode = [](const std::filesystem::path& path, unsigned bits) {
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(bits));
  };
  mode(folder.path(), 0755);
  mode(file, 0444);
  mode(place, 0555);
  {
    AsNobody nobody;
    if (!nobody.sees(file)) GTEST_SKIP() << "nobody but its owner may look into " << folder.path();
    EXPECT_FALSE(Archive::open(file).ok()) << "to write";
    auto archive = Archive::open_to_read(file);
    ASSERT_TRUE(archive.ok()) << archive.findings().front().message;
    EXPECT_EQ((*archive)->attempt(id)->candidate.name, "one");
    record::Attempt another = sample("none", "two");
    EXPECT_EQ((*archive)->add(another).findings().front().code, "ARC0003");
    EXPECT_EQ(Archive::open_to_read(place / "none.db").findings().front().code, "ARC0001");
  }
  mode(place, 0755);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place), {}), 1) << "nothing is left beside it";
}

TEST(Archive, KeepsWhatAModelWasAskedAndSaid) {
  base::TemporaryFolder folder("archive");
  auto archive = must_open(folder.path() / "archive.db");
  archive::Run run;
  ASSERT_TRUE(archive->add_run(run).empty());
  auto attempt = sample(run.id, "answer-1");
  attempt.candidate.ptx.clear();
  attempt.candidate.prompt = "Make it faster.";
  attempt.candidate.answer = "No \xff.";
  ASSERT_TRUE(archive->add(attempt).ok());
  auto other = sample(run.id, "rule");
  ASSERT_TRUE(archive->add(other).ok());
  auto kept = archive->attempt(attempt.id), plain = archive->attempt(other.id);
  ASSERT_TRUE(kept.ok() && plain.ok());
  EXPECT_EQ(kept->candidate.ptx, "");
  EXPECT_EQ(kept->candidate.prompt, "Make it faster.");
  EXPECT_EQ(kept->candidate.answer, "No \xff.");
  EXPECT_EQ(plain->candidate.prompt, "");
}

// An archive that an older version has made is brought up to date and loses nothing.
// An archive as an older ptxlab made it, with one attempt.
void make_old(const std::filesystem::path& file, size_t version) {
  SQLite::Database raw(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  raw.exec("PRAGMA journal_mode = WAL");
  for (size_t i = 0; i < version; ++i) raw.exec(kMigrations[i]);
  const auto text = [&](const std::string& words) {
    const std::string bytes = compress(words), hash = base::sha256(words);
    SQLite::Statement insert(raw, "INSERT OR IGNORE INTO text VALUES (?, ?, ?)");
    insert.bind(1, hash);
    insert.bind(2, static_cast<int64_t>(words.size()));
    insert.bind(3, bytes.data(), static_cast<int>(bytes.size()));
    insert.exec();
    return "'" + hash + "'";
  };
  record::Verdict verdict;
  verdict.outcome = record::OutcomeName::wrong;
  const auto judged = text(base::print_json(record::to_json(verdict), -1));
  raw.exec("INSERT INTO run VALUES ('20260101T000000-0badcafe', 5, 'ptxlab optimize', 't', 'sm_80', 'rules', '7')");
  raw.exec(
      "INSERT INTO attempt(run, at_ms, task, proposer, name, idea, outcome, reason, code_digest, ptx, brief, verdict) "
      "VALUES ('20260101T000000-0badcafe', 6, 't', 'rules', 'old', 'none', 'wrong', 'r', '', " +
      text("the ptx") + ", " + text("{}") + ", " + judged + ")");
  raw.exec("PRAGMA application_id = 0x7074786c");
  raw.exec("PRAGMA user_version = " + std::to_string(version));
}

TEST(Archive, EveryOlderSchemaIsMigratedWithItsAttempts) {
  for (size_t version = 1; version < kMigrations.size(); ++version) {
    SCOPED_TRACE(version);
    base::TemporaryFolder folder("archive");
    auto file = folder.path() / "archive.db";
    make_old(file, version);
    auto archive = must_open(file);
    ASSERT_TRUE(archive);
    auto kept = archive->attempt(1);
    ASSERT_TRUE(kept.ok()) << base::render(kept.findings(), "");
    EXPECT_EQ(kept->candidate.name, "old");
    EXPECT_EQ(kept->candidate.ptx, "the ptx");
    EXPECT_EQ(kept->candidate.answer, "");
    EXPECT_EQ(archive->run("last")->seed, 7u);
    auto attempt = sample(kept->run, "new");
    attempt.candidate.answer = "yes";
    EXPECT_TRUE(archive->add(attempt).ok());
    archive::Run run;
    ASSERT_TRUE(archive->add_bench(run, "{}").empty());
    EXPECT_TRUE(archive->add_continued(run.id, "{\"other\": 1}").empty());
  }
}

// Where it cannot be migrated it is read all the same, and stays as it is.
TEST(Archive, AnOlderSchemaIsReadWhereNothingMayBeWritten) {
  for (size_t version = 1; version < kMigrations.size(); ++version) {
    SCOPED_TRACE(version);
    base::TemporaryFolder folder("archive");
    auto file = folder.path() / "archive.db";
    make_old(file, version);
    const auto before = base::sha256(*base::read_file(file));
    std::filesystem::permissions(file, static_cast<std::filesystem::perms>(0444));
    std::filesystem::permissions(folder.path(), static_cast<std::filesystem::perms>(0555));
    {
      AsNobody nobody;
      if (!nobody.sees(file)) GTEST_SKIP() << "nobody but its owner may look into " << folder.path();
      auto archive = Archive::open_to_read(file);
      ASSERT_TRUE(archive.ok()) << archive.findings().front().message;
      EXPECT_EQ((*archive)->attempt(1)->candidate.name, "old");
      EXPECT_EQ((*archive)->runs()->size(), 1u);
      EXPECT_TRUE((*archive)->benches()->empty());
      archive::Run run;
      EXPECT_EQ((*archive)->add_run(run).at(0).code, "ARC0003");
    }
    std::filesystem::permissions(folder.path(), static_cast<std::filesystem::perms>(0755));
    EXPECT_EQ(base::sha256(*base::read_file(file)), before);
  }
}

TEST(Archive, OnlyGrows) {
  base::TemporaryFolder folder("archive");
  auto file = folder.path() / "archive.db";
  auto archive = must_open(file);
  archive::Run run;
  ASSERT_TRUE(archive->add_run(run).empty());
  auto attempt = sample(run.id, "kept");
  ASSERT_TRUE(archive->add(attempt).ok());
  SQLite::Database raw(file.string(), SQLite::OPEN_READWRITE);
  for (const char* table : {"text", "run", "attempt"}) {
    EXPECT_THROW(raw.exec(std::string("DELETE FROM ") + table), SQLite::Exception) << table;
  }
  EXPECT_THROW(raw.exec("UPDATE attempt SET outcome = 'faster'"), SQLite::Exception);
}

TEST(Archive, DamagedTextIsAFinding) {
  base::TemporaryFolder folder("archive");
  auto file = folder.path() / "archive.db";
  auto archive = must_open(file);
  archive::Run run;
  ASSERT_TRUE(archive->add_run(run).empty());
  auto attempt = sample(run.id, "damaged");
  ASSERT_TRUE(archive->add(attempt).ok());
  {
    SQLite::Database raw(file.string(), SQLite::OPEN_READWRITE);
    raw.exec("DROP TRIGGER text_fixed");
    raw.exec("UPDATE text SET zstd = x'00112233'");
  }
  auto back = archive->attempt(attempt.id);
  ASSERT_FALSE(back.ok());
  EXPECT_EQ(back.findings().front().code, "ARC0004");
}

// A writer killed at any moment loses at most the attempt it was writing, and never leaves half of one.
TEST(Archive, SurvivesAKill) {
  base::TemporaryFolder folder("archive");
  auto file = folder.path() / "archive.db";
  must_open(file).reset();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto opened = Archive::open(file);
    archive::Run run;
    if (!opened.ok() || !(*opened)->add_run(run).empty()) _exit(1);
    for (int i = 0;; ++i) {
      auto attempt = sample(run.id, "c" + std::to_string(i));
      if (!(*opened)->add(attempt).ok()) _exit(1);
      if (write(ready[1], "x", 1) != 1) _exit(1);  // told only after the commit
    }
  }
  close(ready[1]);
  char byte;
  for (int i = 0; i < 5; ++i) ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  int told = 5;
  while (read(ready[0], &byte, 1) == 1) ++told;
  close(ready[0]);
  auto archive = must_open(file);
  auto rows = archive->attempts({.limit = 1'000'000});
  ASSERT_TRUE(rows.ok());
  EXPECT_GE(static_cast<int>(rows->size()), told);
  for (const auto& row : *rows) EXPECT_TRUE(archive->attempt(row.id).ok()) << row.id;
}

// RLIMIT_FSIZE plays the full disk: the write fails, the finding says so, and what was there stays readable.
TEST(Archive, FullDiskIsAFindingAndLosesNothing) {
  base::TemporaryFolder folder("archive");
  auto file = folder.path() / "archive.db";
  {
    auto archive = must_open(file);
    archive::Run run;
    ASSERT_TRUE(archive->add_run(run).empty());
    auto attempt = sample(run.id, "before");
    ASSERT_TRUE(archive->add(attempt).ok());
  }
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    auto opened = Archive::open(file);
    if (!opened.ok()) _exit(10);
    archive::Run run;
    auto refused = (*opened)->add_run(run);
    if (!refused.empty()) {
      fprintf(stderr, "%s", base::render(refused, "").c_str());
      _exit(11);
    }
    rlimit limit{64 << 10, 64 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 100; ++i) {
      auto attempt = sample(run.id, "c" + std::to_string(i));
      for (int k = 0; k < 4000; ++k) attempt.candidate.ptx += std::to_string(i * 7919 + k * 104729);
      auto added = (*opened)->add(attempt);
      if (!added.ok()) _exit(added.findings().front().code == "ARC0003" && attempt.id == 0 ? 0 : 12);
    }
    _exit(13);  // the limit never bit
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  auto archive = must_open(file);
  auto rows = archive->attempts({});
  ASSERT_TRUE(rows.ok());
  ASSERT_FALSE(rows->empty());
  for (const auto& row : *rows) EXPECT_TRUE(archive->attempt(row.id).ok());
}

TEST(TextStore, RoundTripsAndSeesDamage) {
  std::string text(100'000, 'x');
  std::string bytes = compress(text);
  EXPECT_LT(bytes.size(), 1000u);
  auto back = decompress(bytes, text.size());
  EXPECT_TRUE(back.ok);
  EXPECT_EQ(back.text, text);
  EXPECT_FALSE(decompress(bytes, text.size() - 1).ok);
  bytes[bytes.size() / 2] ^= 1;
  auto damaged = decompress(bytes, text.size());
  EXPECT_TRUE(!damaged.ok || damaged.text != text);
  EXPECT_TRUE(decompress(compress(""), 0).ok);
}

}  // namespace
}  // namespace ptxlab::archive
