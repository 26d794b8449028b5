#include "archive/bench.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "archive/impl.h"
#include "base/finding_json.h"
#include "record/json.h"

namespace ptxlab::archive {
namespace {

using nlohmann::json;

void bind_cell(SQLite::Statement& statement, const std::string& run, const Cell& cell) {
  statement.bind(1, run);
  statement.bind(2, cell.arm);
  statement.bind(3, cell.task);
  statement.bind(4, cell.sample);
  statement.bind(5, cell.turn);
}

Cell cell_of(SQLite::Statement& row, int from) {
  return {row.getColumn(from).getString(), row.getColumn(from + 1).getString(), row.getColumn(from + 2).getInt(),
          row.getColumn(from + 3).getInt()};
}

std::string usage_text(const std::optional<record::Usage>& usage) {
  return usage ? base::print_json(record::to_json(*usage), -1) : "";
}

std::optional<record::Usage> usage_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  auto usage = record::usage_from_json(json::parse(text));
  if (!usage) throw SQLite::Exception("what a model used is damaged: " + usage.findings().front().message);
  return *usage;
}

std::string findings_text(const base::Findings& findings) { return base::print_json(base::to_json(findings), -1); }

base::Findings findings_of(const std::string& text) {
  base::Findings findings;
  for (const auto& item : json::parse(text)) {
    auto one = base::finding_from_json(item);
    if (!one) throw SQLite::Exception("a finding is damaged");
    findings.push_back(*std::move(one));
  }
  return findings;
}

}  // namespace

base::Findings Archive::add_bench(Run& run, std::string_view lock, std::string_view rejudged) {
  std::lock_guard guard(mutex_);
  try {
    impl_->wait_for_the_disk(Impl::Wait::always);
    SQLite::Transaction transaction(impl_->db, SQLite::TransactionBehavior::IMMEDIATE);
    impl_->insert_run(run);
    SQLite::Statement insert(impl_->db, "INSERT INTO bench(run, lock, rejudged) VALUES (?, ?, ?)");
    insert.bind(1, run.id);
    insert.bind(2, impl_->store(lock));
    if (!rejudged.empty()) insert.bind(3, std::string(rejudged));
    insert.exec();
    transaction.commit();
    return {};
  } catch (const SQLite::Exception& e) {
    run.id.clear();
    return {not_written(e)};
  }
}

base::Findings Archive::add_continued(const std::string& run, std::string_view lock) {
  std::lock_guard guard(mutex_);
  try {
    impl_->wait_for_the_disk(Impl::Wait::always);
    SQLite::Transaction transaction(impl_->db, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement insert(impl_->db,
                             "INSERT INTO continued(run, at_ms, after, lock) VALUES (?, ?, "
                             "(SELECT coalesce(max(id), 0) FROM attempt), ?)");
    insert.bind(1, run);
    insert.bind(2, to_ms(std::chrono::system_clock::now()));
    insert.bind(3, impl_->store(lock));
    insert.exec();
    transaction.commit();
    return {};
  } catch (const SQLite::Exception& e) {
    return {not_written(e)};
  }
}

base::Findings Archive::add_question(const std::string& run, const Cell& cell) {
  std::lock_guard guard(mutex_);
  try {
    impl_->wait_for_the_disk(Impl::Wait::soon);
    SQLite::Statement insert(impl_->db,
                             "INSERT INTO question(run, arm, task, sample, turn, at_ms) VALUES (?, ?, ?, ?, ?, ?)");
    bind_cell(insert, run, cell);
    insert.bind(6, to_ms(std::chrono::system_clock::now()));
    insert.exec();
    return {};
  } catch (const SQLite::Exception& e) {
    return {not_written(e)};
  }
}

base::Findings Archive::add_answers(const std::string& run, std::vector<Answer>& answers) {
  std::lock_guard guard(mutex_);
  const auto now = from_ms(to_ms(std::chrono::system_clock::now()));
  try {
    impl_->wait_for_the_disk(Impl::Wait::soon);
    SQLite::Transaction transaction(impl_->db, SQLite::TransactionBehavior::IMMEDIATE);
    for (auto& answer : answers) {
      answer.at = now;
      std::string brief = impl_->store(answer.brief_json);
      SQLite::Statement insert(impl_->db,
                               "INSERT INTO answer(run, arm, task, sample, turn, at_ms, seconds, usage, note, "
                               "findings, brief, candidate) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
      bind_cell(insert, run, answer.cell);
      insert.bind(6, to_ms(answer.at));
      insert.bind(7, answer.seconds);
      insert.bind(8, usage_text(answer.usage));
      insert.bind(9, answer.note);
      insert.bind(10, findings_text(answer.findings));
      insert.bind(11, brief);
      if (answer.candidate) insert.bind(12, impl_->store(base::print_json(record::to_json(*answer.candidate), -1)));
      insert.exec();
      answer.id = impl_->db.getLastInsertRowid();
    }
    transaction.commit();
    return {};
  } catch (const SQLite::Exception& e) {
    for (auto& answer : answers) answer.id = 0;
    return {not_written(e)};
  }
}

base::Findings Archive::add_unanswered(const std::string& run, const Unanswered& unanswered) {
  std::lock_guard guard(mutex_);
  try {
    impl_->wait_for_the_disk(Impl::Wait::soon);
    SQLite::Statement insert(impl_->db,
                             "INSERT INTO unanswered(run, arm, task, sample, turn, at_ms, usage, findings) "
                             "VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    bind_cell(insert, run, unanswered.cell);
    insert.bind(6, to_ms(std::chrono::system_clock::now()));
    insert.bind(7, usage_text(unanswered.usage));
    insert.bind(8, findings_text(unanswered.findings));
    insert.exec();
    return {};
  } catch (const SQLite::Exception& e) {
    return {not_written(e)};
  }
}

base::Result<int64_t> Archive::add_judged(const Answer& answer, record::Attempt& attempt, double seconds) {
  std::lock_guard guard(mutex_);
  try {
    impl_->wait_for_the_disk(Impl::Wait::soon);
    SQLite::Transaction transaction(impl_->db, SQLite::TransactionBehavior::IMMEDIATE);
    impl_->insert_attempt(attempt);
    SQLite::Statement insert(impl_->db, fmt::format("INSERT INTO {}(answer, attempt, seconds) VALUES (?, ?, ?)",
                                                    answer.attempt ? "judged_again" : "judged"));
    insert.bind(1, answer.id);
    insert.bind(2, attempt.id);
    insert.bind(3, seconds);
    insert.exec();
    transaction.commit();
    return attempt.id;
  } catch (const SQLite::Exception& e) {
    attempt.id = 0;
    return not_written(e);
  }
}

base::Result<Bench> Archive::bench(const std::string& run) {
  auto found = this->run(run);
  if (!found) return found.findings();
  std::lock_guard guard(mutex_);
  try {
    SQLite::Statement query(impl_->db, "SELECT lock, rejudged FROM bench WHERE run = ?");
    query.bind(1, found->id);
    if (!query.executeStep()) {
      return finding("ARC0008", fmt::format("run {} is none of bench", found->id),
                     "`ptxlab archive list --runs` shows which are");
    }
    Bench bench;
    bench.run = *std::move(found);
    bench.lock = impl_->fetch(query.getColumn(0).getString());
    bench.rejudged = query.getColumn(1).getString();
    SQLite::Statement later(impl_->db, "SELECT at_ms, after, lock FROM continued WHERE run = ? ORDER BY id");
    later.bind(1, bench.run.id);
    while (later.executeStep())
      bench.continued.push_back({from_ms(later.getColumn(0).getInt64()), later.getColumn(1).getInt64(),
                                 impl_->fetch(later.getColumn(2).getString())});
    return bench;
  } catch (const std::exception& e) {
    return not_read(e);
  }
}

base::Result<std::vector<Bench>> Archive::benches() {
  std::vector<std::string> ids;
  {
    std::lock_guard guard(mutex_);
    try {
      SQLite::Statement query(impl_->db, std::string("SELECT bench.run FROM bench JOIN run ON run.id = bench.run "
                                                     "LEFT JOIN began ON began.run = run.id ") +
                                             kNewestFirst);
      while (query.executeStep()) ids.push_back(query.getColumn(0).getString());
    } catch (const std::exception& e) {
      return not_read(e);
    }
  }
  std::vector<Bench> benches;
  for (const auto& id : ids) {
    auto one = bench(id);
    if (!one) return one.findings();
    benches.push_back(*std::move(one));
  }
  return benches;
}

namespace {

constexpr const char* kAnswerColumns =
    "SELECT a.id, a.arm, a.task, a.sample, a.turn, a.at_ms, a.seconds, a.usage, a.note, a.findings, a.brief, "
    "a.candidate, "
    "attempt.id, judged.seconds + (SELECT total(seconds) FROM judged_again WHERE answer = a.id), attempt.outcome "
    "FROM answer AS a LEFT JOIN judged ON judged.answer = a.id "
    "LEFT JOIN attempt ON attempt.id = "
    "coalesce((SELECT max(attempt) FROM judged_again WHERE answer = a.id), judged.attempt) ";

// Without its texts, whose hashes stand in columns 10 and 11.
Answer answer_of(SQLite::Statement& row) {
  Answer answer;
  answer.id = row.getColumn(0).getInt64();
  answer.cell = cell_of(row, 1);
  answer.at = from_ms(row.getColumn(5).getInt64());
  answer.seconds = row.getColumn(6).getDouble();
  answer.usage = usage_of(row.getColumn(7).getString());
  answer.note = row.getColumn(8).getString();
  answer.findings = findings_of(row.getColumn(9).getString());
  answer.has_candidate = !row.getColumn(11).isNull();
  if (!row.getColumn(12).isNull()) {
    answer.attempt = row.getColumn(12).getInt64();
    answer.judge_seconds = row.getColumn(13).getDouble();
    for (auto outcome : record::all_outcomes()) {
      if (record::name_of(outcome) == row.getColumn(14).getString()) answer.outcome = outcome;
    }
  }
  return answer;
}

}  // namespace

base::Result<std::vector<Answer>> Archive::answers(const std::string& run) {
  std::lock_guard guard(mutex_);
  try {
    SQLite::Statement query(impl_->db,
                            std::string(kAnswerColumns) + "WHERE a.run = ? ORDER BY a.arm, a.task, a.sample, a.turn");
    query.bind(1, run);
    std::vector<Answer> answers;
    while (query.executeStep()) answers.push_back(answer_of(query));
    return answers;
  } catch (const std::exception& e) {
    return not_read(e);
  }
}

base::Result<Answer> Archive::answer(int64_t id) {
  std::lock_guard guard(mutex_);
  try {
    SQLite::Statement query(impl_->db, std::string(kAnswerColumns) + "WHERE a.id = ?");
    query.bind(1, id);
    if (!query.executeStep()) throw SQLite::Exception(fmt::format("answer {} is missing", id));
    Answer answer = answer_of(query);
    answer.brief_json = impl_->fetch(query.getColumn(10).getString());
    if (!query.getColumn(11).isNull()) {
      auto candidate = record::read_candidate(impl_->fetch(query.getColumn(11).getString()));
      if (!candidate) return candidate.findings();
      answer.candidate = *std::move(candidate);
    }
    return answer;
  } catch (const std::exception& e) {
    return not_read(e);
  }
}

base::Result<std::vector<Unanswered>> Archive::unanswered(const std::string& run) {
  std::lock_guard guard(mutex_);
  try {
    SQLite::Statement query(
        impl_->db,
        "SELECT arm, task, sample, turn, at_ms, usage, findings FROM unanswered AS u WHERE run = ?1 AND NOT EXISTS "
        "(SELECT 1 FROM answer AS a WHERE a.run = u.run AND a.arm = u.arm AND a.task = u.task AND a.sample = u.sample "
        "AND a.turn = u.turn) AND id = (SELECT max(id) FROM unanswered AS v WHERE v.run = u.run AND v.arm = u.arm AND "
        "v.task = u.task AND v.sample = u.sample AND v.turn = u.turn) ORDER BY arm, task, sample, turn");
    query.bind(1, run);
    std::vector<Unanswered> rows;
    while (query.executeStep()) {
      rows.push_back({cell_of(query, 0), from_ms(query.getColumn(4).getInt64()),
                      usage_of(query.getColumn(5).getString()), findings_of(query.getColumn(6).getString())});
    }
    return rows;
  } catch (const std::exception& e) {
    return not_read(e);
  }
}

base::Result<std::vector<std::pair<Cell, record::Usage>>> Archive::unanswered_usage(const std::string& run) {
  std::lock_guard guard(mutex_);
  try {
    SQLite::Statement query(
        impl_->db, "SELECT arm, task, sample, turn, usage FROM unanswered WHERE run = ? AND usage <> '' ORDER BY id");
    query.bind(1, run);
    std::vector<std::pair<Cell, record::Usage>> used;
    while (query.executeStep()) used.emplace_back(cell_of(query, 0), *usage_of(query.getColumn(4).getString()));
    return used;
  } catch (const std::exception& e) {
    return not_read(e);
  }
}

base::Result<int64_t> Archive::interrupted(const std::string& run) {
  std::lock_guard guard(mutex_);
  try {
    SQLite::Statement query(
        impl_->db,
        "SELECT (SELECT count(*) FROM question WHERE run = ?1) - (SELECT count(*) FROM answer AS a WHERE "
        "a.run = ?1 AND EXISTS (SELECT 1 FROM question AS q WHERE q.run = a.run AND q.arm = a.arm AND "
        "q.task = a.task AND q.sample = a.sample AND q.turn = a.turn)) - "
        "(SELECT count(*) FROM unanswered WHERE run = ?1)");
    query.bind(1, run);
    query.executeStep();
    return query.getColumn(0).getInt64();
  } catch (const std::exception& e) {
    return not_read(e);
  }
}

}  // namespace ptxlab::archive
