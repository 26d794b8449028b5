// The repository's tasks as a whole: they read, their cases are made, their references answer.
#include "task/task.h"

#include <gtest/gtest.h>

#include "task/case.h"
#include "task/compare.h"
#include "task/oracle.h"

namespace ptxlab::task {
namespace {

TEST(Tasks, AllOfTheRepositoryReadAndTheirReferencesAnswer) {
  const std::filesystem::path root = std::filesystem::path(PTXLAB_SOURCE_DIR) / "tasks";
  const std::vector<std::string> names = list_tasks(root);
  ASSERT_GE(names.size(), 3u);
  for (const std::string& name : names) {
    auto task = find_task(name, root);
    ASSERT_TRUE(task.ok()) << base::render(task.findings(), "");
    EXPECT_EQ(task->name, name);
    auto cases = emulate_cases(*task, 1);
    ASSERT_TRUE(cases.ok()) << base::render(cases.findings(), "");
    auto oracle = make_reference_oracle(*task);
    if (!oracle && oracle.findings()[0].code == "ORA0001") GTEST_SKIP() << "no g++";
    ASSERT_TRUE(oracle.ok()) << base::render(oracle.findings(), "");
    for (const Case& what : *cases) {
      auto data = make_case(*task, what);
      ASSERT_TRUE(data.ok()) << name << " " << what.label() << "\n" << base::render(data.findings(), "");
      for (const auto& [output, tolerance] : task->tolerances) {
        auto expected = (*oracle)->expected(*data, output, {});
        ASSERT_TRUE(expected.ok()) << name << " " << what.label() << "\n" << base::render(expected.findings(), "");
        // An all-zero output must not pass but where zero is right.
        std::vector<uint8_t> zeros;
        bool nonzero = false;
        for (const Expected& e : *expected) nonzero = nonzero || e.value != 0;
        for (const auto& buffer : data->binding.buffers)
          if (buffer.name == output) zeros.resize(buffer.bytes);
        const Comparison comparison = compare(*task, *data, output, zeros, *expected, {});
        if (what.special == "denormals") continue;
        EXPECT_EQ(comparison.right, !nonzero) << name << " " << what.label() << ": " << comparison.summary;
      }
    }
  }
}

}  // namespace
}  // namespace ptxlab::task
