// Every mistake in a task file is found, with its place and the nearest right word.
#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "task/formula.h"
#include "task/task.h"

namespace ptxlab::task {
namespace {

constexpr const char* kTask = R"toml(schema = "ptxlab.task/1"
name = "norm/thing"
targets = ["sm_80", "sm_90a"]
allow = ["approx"]
params = ["m", "n"]
where = ["n % 2 == 0"]
arg = [
  { name = "x", kind = "in", type = "bf16", shape = ["m", "n"], fill = ["normal", { uniform = [0, "n - 1"] }], special = ["nan"] },
  { name = "ids", kind = "in", type = "s32", shape = ["m"], fill = { uniform = [0, "m - 1"] } },
  { name = "y", kind = "out", type = "bf16", shape = ["m", "n"], init = "zero" },
  { name = "z", kind = "inout", type = "u8", shape = ["n"] },
  { name = "n", kind = "scalar", type = "u32", value = "n" },
  { name = "eps", kind = "scalar", type = "f32", value = "1/sqrt(n)" },
]
[sizes]
emulate = [{ m = 1, n = 2 }, { m = 3, n = 4098 }]
time = [{ m = 16384, n = 4096, weight = 2 }]
random = { count = 4, m = [1, 64], n = [1, 5000] }
[tolerance.y]
kind = "float"
accumulate = "f32"
terms = "n"
[mutants]
skip = { nan = "no NaN here" }
[floor]
bytes = "4*m*n + 2*n"
[[baseline]]
kind = "ptx"
file = "baseline.ptx"
plan = "baseline.plan.toml"
)toml";

class Reading : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"kernel.cu", "baseline.ptx", "baseline.plan.toml", "reference.cc", "data.bin"})
      touch(name);
  }
  void touch(const std::string& name) { std::ofstream(folder_.path() / name) << "x"; }
  base::Result<Task> read(const std::string& text, const std::string& name = "task.toml") {
    return read_task_text(text, folder_.path() / name);
  }
  static std::string with(const std::string& from, const std::string& to) {
    std::string text = kTask;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  }
  base::Finding fault(const std::string& from, const std::string& to) { return fault_of(with(from, to)); }
  base::Finding fault_of(const std::string& text) {
    auto task = read(text);
    if (!task) return task.findings()[0];
    ADD_FAILURE() << "no finding in\n" << text;
    return {};
  }

  base::TemporaryFolder folder_{"task-read"};
};

TEST_F(Reading, AWholeTask) {
  auto task = read(kTask);
  ASSERT_TRUE(task.ok()) << base::render(task.findings(), kTask);
  EXPECT_EQ(task->name, "norm/thing");
  EXPECT_FALSE(task->user);
  EXPECT_EQ(task->params, (std::vector<std::string>{"m", "n"}));
  ASSERT_EQ(task->arguments.size(), 6u);
  EXPECT_EQ(task->arguments[0].fills.size(), 2u);
  ASSERT_EQ(task->arguments[0].fills[1].formulas.size(), 2u);  // of floats: doubles
  EXPECT_EQ(task->arguments[0].fills[1].formulas[1].text, "n - 1");
  EXPECT_EQ(task->arguments[1].fills.size(), 1u);
  EXPECT_TRUE(task->arguments[2].zeroed);
  EXPECT_EQ(task->arguments[3].fills[0].name, "uniform");
  EXPECT_EQ(task->argument("eps")->value, "1/sqrt(n)");
  EXPECT_EQ(task->emulate.size(), 2u);
  EXPECT_EQ(task->time[0].weight, 2);
  EXPECT_EQ(task->random_count, 4);
  EXPECT_EQ(task->tolerances.at("y").kind, Tolerance::Kind::floating);
  EXPECT_EQ(task->tolerances.at("z").kind, Tolerance::Kind::exact);
  EXPECT_EQ(task->mutant_skips.at("nan"), "no NaN here");
  EXPECT_EQ(task->floor_bytes->text(), "4*m*n + 2*n");
  EXPECT_EQ(task->plan.filename(), "baseline.plan.toml");
  ASSERT_TRUE(task->reference.has_value());
}

TEST_F(Reading, AWrongKeySaysWhichAndTheNearestRightOne) {
  for (auto [from, to, word, hint] :
       {std::tuple("targets =", "targts =", "targts", "targets"),
        std::tuple("shape = [\"m\"]", "shap = [\"m\"]", "shap", "shape"),
        std::tuple("emulate =", "emulte =", "emulte", "emulate"),
        std::tuple("accumulate =", "acumulate =", "acumulate", "accumulate"),
        std::tuple("bytes =", "byts =", "byts", "bytes"), std::tuple("plan =", "pln =", "pln", "plan"),
        std::tuple("weight = 2", "wieght = 2", "wieght", "weight"),
        std::tuple("count = 4", "cuont = 4", "cuont", "count")}) {
    const base::Finding finding = fault(from, to);
    EXPECT_EQ(finding.code, "TASK0002") << to;
    EXPECT_NE(finding.message.find(word), std::string::npos) << finding.message;
    EXPECT_EQ(finding.hint, std::string("did you mean `") + hint + "`?");
    EXPECT_GT(finding.place.line, 0u);
    EXPECT_EQ(finding.place.length, std::string_view(word).size());
    EXPECT_NE(finding.place.file.find("task.toml"), std::string::npos);
  }
}

TEST_F(Reading, SeveralMistakesInOnePass) {
  std::string text = with("targets =", "targts =");
  text.replace(text.find("emulate ="), 9, "emulte =");
  auto task = read(text);
  ASSERT_FALSE(task.ok());
  EXPECT_GE(task.findings().size(), 2u);
}

TEST_F(Reading, WrongWordsAndTypes) {
  EXPECT_EQ(fault("\"approx\"", "\"aprox\"").hint, "did you mean `approx`?");
  EXPECT_EQ(fault("\"sm_90a\"", "\"sm_999\"").code, "TASK0003");
  EXPECT_EQ(fault("kind = \"out\"", "kind = \"output\"").code, "TASK0003");
  EXPECT_EQ(fault("type = \"s32\"", "type = \"int\"").code, "TASK0003");
  EXPECT_EQ(fault("type = \"s32\"", "type = \"f16x2\"").code, "TASK0003");
  EXPECT_EQ(fault("\"normal\"", "\"norml\"").hint, "did you mean `normal`?");
  EXPECT_EQ(fault("\"nan\"]", "\"nun\"]").code, "TASK0003");
  EXPECT_EQ(fault("init = \"zero\"", "init = \"zeros\"").code, "TASK0003");
  EXPECT_EQ(fault("[0, \"m - 1\"]", "[0, \"q - 1\"]").code, "TASK0003");
  EXPECT_EQ(fault("[0, \"m - 1\"]", "[0]").code, "TASK0003");
  EXPECT_EQ(fault("shape = [\"m\"]", "shape = []").code, "TASK0003");
  EXPECT_EQ(fault("shape = [\"m\"]", "shape = [\"m *\"]").code, "PLAN0001");
  EXPECT_EQ(fault("name = \"ids\"", "name = \"x\"").code, "TASK0003");
  EXPECT_EQ(fault("name = \"ids\"", "name = \"m\"").code, "TASK0003");
  EXPECT_EQ(fault("name = \"ids\"", "name = \"1ds\"").code, "TASK0003");
  EXPECT_EQ(fault("\"1/sqrt(n)\"", "\"1/sqr(n)\"").code, "TASK0003");
  EXPECT_EQ(fault("\"1/sqrt(n)\"", "true").code, "TASK0003");
  EXPECT_EQ(fault("n = 4098", "n = 4099").code, "TASK0003");  // breaks `where`
  EXPECT_EQ(fault("n = 4098", "n = -2").code, "TASK0003");
  EXPECT_EQ(fault("n = 4098", "n = \"4098\"").code, "TASK0003");
  EXPECT_EQ(fault("weight = 2", "weight = 0").code, "TASK0003");
  EXPECT_EQ(fault("n = [1, 5000]", "n = [1]").code, "TASK0003");
  EXPECT_EQ(fault("kind = \"float\"", "kind = \"floating\"").code, "TASK0003");
  EXPECT_EQ(fault("accumulate = \"f32\"", "accumulate = \"s32\"").code, "TASK0003");
  EXPECT_EQ(fault("{ nan = \"no NaN here\" }", "{ nan = \"\" }").code, "TASK0003");
  EXPECT_EQ(fault("[tolerance.y]", "[tolerance.x]").code, "TASK0002");
  EXPECT_EQ(fault("ptxlab.task/1", "ptxlab.task/2").code, "TASK0003");
  EXPECT_EQ(fault("params = [\"m\", \"n\"]", "params = [\"m\", \"n\", \"n\"]").code, "TASK0003");
}

TEST_F(Reading, AbsoluteTolerancesHaveAReason) {
  const std::string absolute =
      with("kind = \"float\"\naccumulate = \"f32\"\nterms = \"n\"", "kind = \"absolute\"\nabs = 1e-3");
  EXPECT_EQ(fault_of(absolute).code, "TASK0004");
  EXPECT_TRUE(read(absolute + "").findings()[0].message.find("reason") != std::string::npos);
  EXPECT_EQ(fault("kind = \"float\"\naccumulate = \"f32\"\nterms = \"n\"", "kind = \"absolute\"\nreason = \"r\"").code,
            "TASK0003");
}

TEST_F(Reading, MissingKeysAndFiles) {
  EXPECT_EQ(fault("name = \"norm/thing\"\n", "").code, "TASK0004");
  EXPECT_EQ(fault("params = [\"m\", \"n\"]\n", "").code, "TASK0004");
  EXPECT_EQ(fault(", value = \"n\"", "").code, "TASK0004");
  EXPECT_EQ(fault("m = 3, n = 4098", "n = 4098").code, "TASK0004");
  EXPECT_EQ(fault("terms = \"n\"\n", "").code, "TASK0004");
  EXPECT_EQ(fault("file = \"baseline.ptx\"", "file = \"other.ptx\"").code, "TASK0006");
  EXPECT_EQ(fault("\"normal\"", "\"file:none.bin\"").code, "TASK0006");
  EXPECT_EQ(fault("\"normal\"", "\"file:../secret\"").code, "TASK0003");
  EXPECT_TRUE(read(with("\"normal\"", "\"file:data.bin\"")).ok());
  std::filesystem::remove(folder_.path() / "kernel.cu");
  EXPECT_EQ(fault_of(kTask).code, "TASK0006");
}

TEST_F(Reading, FormsThatWait) { EXPECT_EQ(fault("kind = \"ptx\"", "kind = \"cudnn\"").code, "TASK0005"); }

TEST_F(Reading, FormsOfAUsersTaskAlone) {
  EXPECT_EQ(fault("[floor]", "[compile]\nflags = []\n[floor]").code, "TASK0003");
  // Only a user's own kernel may be its own oracle.
  std::filesystem::remove(folder_.path() / "reference.cc");
  EXPECT_EQ(fault_of(kTask).code, "TASK0005");
}

TEST_F(Reading, Garbage) {
  EXPECT_EQ(fault_of("").code, "TASK0004");
  EXPECT_EQ(fault_of("= = =").code, "TASK0001");
  EXPECT_EQ(fault_of(std::string("\x7f\x45LF\0\0\xff\xfe", 8)).code, "TASK0001");
  EXPECT_EQ(fault_of(std::string(5'000'000, '\n')).code, "TASK0001");
  EXPECT_EQ(fault_of("a = " + std::string(2000, '[')).code, "TASK0001");
  EXPECT_EQ(read_task(folder_.path() / "absent.toml").findings()[0].code, "FILE0001");
}

TEST_F(Reading, AUsersTask) {
  touch("foo.cu");
  touch("foo.plan.toml");
  std::string text = kTask;
  text.erase(text.find("[[baseline]]"));
  text.erase(text.find("name = \"norm/thing\"\n"), 20);
  text.replace(text.find("kind = \"float\"\naccumulate = \"f32\"\nterms = \"n\""), 45, "kind = \"exact\"");
  std::filesystem::remove(folder_.path() / "reference.cc");
  auto task = read(text, "foo.task.toml");
  ASSERT_TRUE(task.ok()) << base::render(task.findings(), text);
  EXPECT_TRUE(task->user);
  EXPECT_EQ(task->name, "foo");
  EXPECT_FALSE(task->reference.has_value());
  EXPECT_FALSE(task->ptx.has_value());
  touch("foo.reference.cc");
  EXPECT_TRUE(read(text, "foo.task.toml")->reference.has_value());
  std::filesystem::remove(folder_.path() / "foo.plan.toml");
  EXPECT_EQ(read(text, "foo.task.toml").findings()[0].code, "TASK0006");
}

TEST(Finding, Tasks) {
  const std::filesystem::path root = std::filesystem::path(PTXLAB_SOURCE_DIR) / "tasks";
  EXPECT_TRUE(find_task("norm/rmsnorm_bf16", root).ok());
  EXPECT_TRUE(find_task((root / "norm/rmsnorm_bf16").string(), root).ok());
  EXPECT_TRUE(find_task((root.parent_path() / "examples/softmax.task.toml").string(), root).ok());
  EXPECT_EQ(find_task("norm/rmsnrom_bf16", root).findings()[0].hint, "did you mean `norm/rmsnorm_bf16`?");
  EXPECT_EQ(find_task("rmsnorm_bf16", root).findings()[0].hint, "did you mean `norm/rmsnorm_bf16`?");
  EXPECT_EQ(find_task("zzz", root).findings()[0].code, "TASK0007");
  EXPECT_EQ(find_task("", root).findings()[0].code, "TASK0007");
  EXPECT_EQ(find_task((root.parent_path() / "README.md").string(), root).findings()[0].code, "TASK0007");
  EXPECT_TRUE(list_tasks("/nowhere").empty());
}

TEST(Formula, Values) {
  const auto names = [](std::string_view name) -> std::optional<double> {
    return name == "n" ? std::optional<double>(16) : std::nullopt;
  };
  EXPECT_EQ(*evaluate_formula("1/sqrt(n)", names), 0.25);
  EXPECT_EQ(*evaluate_formula("-2 * (3 - 1e1) + .5", names), 14.5);
  EXPECT_EQ(*evaluate_formula("max(log2(n), exp2(1)) - min(1, 2)", names), 3);
  for (const char* bad : {"", "1 +", "(1", "n n", "q", "sqrt()", "sqrt(1, 2)", "foo(1)", "1..2", "$"})
    EXPECT_EQ(evaluate_formula(bad, names).findings()[0].code, "TASK0003") << bad;
  EXPECT_FALSE(evaluate_formula(std::string(1900, '('), names).ok());
  EXPECT_FALSE(evaluate_formula(std::string(1900, '-'), names).ok());
}

}  // namespace
}  // namespace ptxlab::task
