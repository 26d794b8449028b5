// The repository's tasks as a whole: they read, their cases are made, their references answer.
#include "task/task.h"

#include <gtest/gtest.h>

#include "task/case.h"
#include "task/compare.h"
#include "task/fill.h"
#include "task/mutants.h"
#include "task/oracle.h"

namespace ptxlab::task {
namespace {

const std::filesystem::path kRoot = std::filesystem::path(PTXLAB_SOURCE_DIR) / "tasks";

// The reference's own values, rounded into the output's type: right by definition.
std::vector<uint8_t> rounded(const Task& task, const CaseData& data, const std::string& output,
                             const std::vector<Expected>& expected) {
  std::vector<uint8_t> bytes;
  for (const auto& buffer : data.binding.buffers)
    if (buffer.name == output) bytes.resize(buffer.bytes);
  const isa::Type type = task.argument(output)->type;
  for (size_t i = 0; i < expected.size(); ++i)
    store_element(bytes, type, i, isa::is_float(type) ? expected[i].value : static_cast<double>(expected[i].integer));
  return bytes;
}

const std::vector<int64_t>& shape_of(const CaseData& data, const std::string& output) {
  size_t i = 0;
  while (data.binding.buffers[i].name != output) ++i;
  return data.shapes[i];
}

// Right answers pass in every case, and each fault of an output fails in one at least.
void tell_right_from_wrong(const Task& task) {
  auto cases = emulate_cases(task, 1);
  ASSERT_TRUE(cases.ok()) << base::render(cases.findings(), "");
  auto oracle = make_reference_oracle(task);
  if (!oracle && oracle.findings()[0].code == "ORA0001") GTEST_SKIP() << "there is no g++";
  ASSERT_TRUE(oracle.ok()) << base::render(oracle.findings(), "");
  std::map<std::string, int> applied, caught;
  for (const Case& what : *cases) {
    auto data = make_case(task, what);
    ASSERT_TRUE(data.ok()) << what.label() << "\n" << base::render(data.findings(), "");
    for (const Argument& argument : task.arguments) {
      if (!argument.output()) continue;
      const std::string& output = argument.name;
      auto expected = (*oracle)->expected(*data, output, {});
      ASSERT_TRUE(expected.ok()) << what.label() << "\n" << base::render(expected.findings(), "");
      const std::vector<uint8_t> right = rounded(task, *data, output, *expected);
      const Comparison comparison = compare(task, *data, output, right, *expected, {});
      EXPECT_TRUE(comparison.right) << what.label() << ": " << comparison.summary;
      for (const OutputMutant& mutant : output_mutants()) {
        std::vector<uint8_t> wrong = right;
        if (!mutant.apply(wrong, argument.type, shape_of(*data, output))) continue;
        ++applied[mutant.name];
        caught[mutant.name] += !compare(task, *data, output, wrong, *expected, {}).right;
      }
    }
  }
  for (const OutputMutant& mutant : output_mutants())
    EXPECT_TRUE(caught[mutant.name] > 0 || applied[mutant.name] == 0) << "nothing catches " << mutant.name;
}

TEST(Tasks, OfTheRepositoryTellRightFromWrong) {
  const std::vector<std::string> names = list_tasks(kRoot);
  ASSERT_GE(names.size(), 9u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    auto task = find_task(name, kRoot);
    ASSERT_TRUE(task.ok()) << base::render(task.findings(), "");
    EXPECT_EQ(task->name, name);
    tell_right_from_wrong(*task);
  }
}

}  // namespace
}  // namespace ptxlab::task
