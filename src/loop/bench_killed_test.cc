// A run of bench that is killed at any moment: nothing is lost, nothing is done twice.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/random.h"
#include "loop/played_bench.h"

namespace ptxlab::loop {
namespace {

// A line for each question and each judgement, before it is done: what a killed process has done stays on record.
void note_in(const std::filesystem::path& file, const std::string& line) {
  int out = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  std::string text = line + "\n";
  [[maybe_unused]] auto written = write(out, text.data(), text.size());
  close(out);
}

World noted_world(const std::filesystem::path& notes) {
  World world;
  const auto pause = [](uint64_t seed) { std::this_thread::sleep_for(std::chrono::microseconds(200 + seed % 3000)); };
  world.model = [=](const record::Brief& brief, int count) {
    note_in(notes, "ask " + std::to_string(brief.seed));
    pause(brief.seed);
    return model_answer(brief, count);
  };
  world.judge = [=](size_t task, const record::Candidate& candidate) {
    note_in(notes, "judge " + candidate.ptx);
    pause(candidate.ptx.size() * 37);
    return played_judge(task, candidate);
  };
  return world;
}

std::map<std::string, int> notes_in(const std::filesystem::path& file) {
  std::map<std::string, int> notes;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) ++notes[line];
  return notes;
}

TEST(BenchKilled, AtAnyMomentLosesNothingAndDoesNothingTwice) {
  Lock lock = lock_of(6, 6, 3);
  base::TemporaryFolder folder("bench-killed");
  std::map<Cell, std::string> undisturbed;
  {
    auto archive = *Archive::open(folder.path() / "calm.db");
    archive::Run run;
    ASSERT_TRUE(archive->add_bench(run, "{}").empty());
    World world = noted_world(folder.path() / "calm");
    ASSERT_TRUE(run_bench(lock, run.id, parts_of(lock, *archive, world), {2, {}}).whole);
    undisturbed = left_by(*archive, run.id);
  }
  auto file = folder.path() / "killed.db";
  std::string id;
  {
    auto archive = *Archive::open(file);
    archive::Run run;
    ASSERT_TRUE(archive->add_bench(run, "{}").empty());
    id = run.id;
  }
  base::Random random(static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
  int kills = 0;
  bool whole = false;
  while (!whole && kills < 1000) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto archive = Archive::open(file);
      if (!archive) _exit(9);
      World world = noted_world(folder.path() / "notes");
      auto result = run_bench(lock, id, parts_of(lock, **archive, world), {2, {}});
      _exit(result.whole ? 0 : 8);
    }
    // From before the archive is open to well into the work; later each time, so that a fast machine is not done after two, and
    // later still where a slow one gets nowhere.
    const auto latest = static_cast<uint64_t>(std::min(45'000, 3'000 * (kills + 1)) + 2'000 * std::max(0, kills - 200));
    std::this_thread::sleep_for(std::chrono::microseconds(500 + random.below(latest)));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
      whole = true;
    } else {
      ++kills;
    }
  }
  ASSERT_TRUE(whole);
  EXPECT_GE(kills, 3);
  RecordProperty("kills", kills);
  auto archive = *Archive::open(file);
  EXPECT_EQ(left_by(*archive, id), undisturbed);
  // Each cell's answer and attempt are there once; so are the attempts of the run.
  int judged = 0;
  for (const auto& row : rows_of(archive->answers(id))) judged += row.attempt.has_value();
  EXPECT_EQ(archive->attempts({.run = id, .limit = 100'000})->size(), static_cast<size_t>(judged));
  // What was on its way when it was killed, and nothing else, was done again: at most as many as are done at once. Some cells
  // have the same candidate, which the calm run judged as often as there are such cells.
  int asked_again = 0, judged_again = 0;
  auto calm = notes_in(folder.path() / "calm");
  auto noted = notes_in(folder.path() / "notes");
  for (const auto& [note, times] : noted) {
    ASSERT_TRUE(calm.contains(note)) << note;
    ASSERT_GE(times, calm.at(note)) << note;
    (note.starts_with("ask") ? asked_again : judged_again) += times - calm.at(note);
  }
  EXPECT_EQ(noted.size(), calm.size());
  EXPECT_LE(asked_again, kills * lock.spec.arms[0].parallel);
  EXPECT_LE(judged_again, kills * 2);
  // And the archive says how many questions that were.
  EXPECT_GE(*archive->interrupted(id), asked_again);
  EXPECT_LE(*archive->interrupted(id), kills * lock.spec.arms[0].parallel);
}

}  // namespace
}  // namespace ptxlab::loop
