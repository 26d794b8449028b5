#include "task/oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "base/file.h"
#include "base/subprocess.h"
#include "task/reference_text.h"

namespace ptxlab::task {
namespace {

// A task in a folder of its own with the given reference.
class References : public ::testing::Test {
 protected:
  base::Result<std::unique_ptr<Oracle>> oracle(const std::string& body) {
    const std::filesystem::path file = folder_.path() / "reference.cc";
    std::ofstream(file)
        << "#include \"task/reference.h\"\nvoid reference(const ptxlab::Case& c, const std::string& output, "
           "std::vector<ptxlab::Element>& elements) {\n"
        << body << "\n}\n";
    task_.reference = file;
    return make_reference_oracle(task_);
  }
  void SetUp() override {
    const auto found = base::run({{"g++", "--version"}});
    if (!found.ok()) GTEST_SKIP() << "there is no g++";
    task_.params = {"n"};
    for (auto [name, type] :
         {std::pair("x", isa::Type::f16), std::pair("i", isa::Type::s16), std::pair("u", isa::Type::u64),
          std::pair("b", isa::Type::bf16), std::pair("q", isa::Type::e4m3)}) {
      Argument argument;
      argument.name = name;
      argument.type = type;
      task_.arguments.push_back(argument);
      data_.binding.buffers.push_back({name, 0, launch::ResolvedBuffer::Role::in, launch::ResolvedBuffer::Init::data});
      data_.shapes.push_back({2});
    }
    Argument y;
    y.name = "y";
    y.kind = Argument::Kind::out;
    y.type = isa::Type::f32;
    task_.arguments.push_back(y);
    data_.binding.buffers.push_back({"y", 12, launch::ResolvedBuffer::Role::out, launch::ResolvedBuffer::Init::poison});
    data_.shapes.push_back({3});
    // 1.5 and the smallest denormal; -2 and 7; 2^63 + 1 and 3; -1 and NaN; 448 and 2^-9.
    data_.inputs = {{0x00, 0x3e, 0x01, 0x00}, {0xfe, 0xff, 7, 0}, {1, 0, 0, 0, 0, 0, 0, 0x80, 3, 0, 0, 0, 0, 0, 0, 0},
                    {0x80, 0xbf, 0xc0, 0x7f}, {0x7e, 0x01},       {}};
    data_.binding.parameters["n"] = 5;
    data_.binding.scalars["eps"] = {"f32", 0x3f000000, 0};
    data_.binding.scalars["k"] = {"s32", 0xfffffffd, -3};
  }
  std::vector<Expected> ask(const std::string& body, std::vector<uint64_t> indices = {}) {
    auto made = oracle(body);
    if (!made) return ADD_FAILURE() << base::render(made.findings(), ""), std::vector<Expected>{};
    auto result = (*made)->expected(data_, "y", indices);
    if (!result) return ADD_FAILURE() << base::render(result.findings(), ""), std::vector<Expected>{};
    return *result;
  }
  base::TemporaryFolder folder_{"oracle"};
  Task task_;
  CaseData data_;
};

TEST_F(References, SeeTheCaseAsItIs) {
  const std::vector<Expected> got = ask(R"(
    const auto &x = c.input("x"), &i = c.input("i"), &u = c.input("u"), &b = c.input("b"), &q = c.input("q");
    elements[0].value = x[0] * 1000 + i[0] + b[0] / 4;             // 1500 - 2 - 0.25
    elements[0].magnitude = x[1] * 0x1p24;                         // 1
    elements[0].integer = u.integer(0);
    elements[1].value = static_cast<double>(c.size("n")) + c.scalar("eps") + c.scalar("k");  // 5 + 0.5 - 3
    elements[1].magnitude = q[0] + q[1];                           // 448 + 2^-9
    elements[1].integer = i.integer(0) + u.size() + i.dim(0);      // -2 + 2 + 2
    elements[2].value = b[1];
    if (output != "y") elements[2].value = 0;
  )");
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].value, 1497.75);
  EXPECT_EQ(got[0].magnitude, 1);
  EXPECT_EQ(static_cast<uint64_t>(got[0].integer), (uint64_t{1} << 63) + 1);
  EXPECT_EQ(got[1].value, 2.5);
  EXPECT_EQ(got[1].magnitude, 448.001953125);
  EXPECT_EQ(got[1].integer, 2);
  EXPECT_TRUE(std::isnan(got[2].value));
}

TEST_F(References, AnswerForChosenElements) {
  const std::vector<Expected> got =
      ask("(void)c; (void)output; for (auto& e : elements) e.value = e.index * 10.0;", {2, 0});
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].value, 20);
  EXPECT_EQ(got[1].value, 0);
}

TEST_F(References, ThatDoNotCompileNameTheirOwnFileAndLine) {
  const base::Finding finding = oracle("elements.nothing();").findings()[0];
  EXPECT_EQ(finding.code, "ORA0002");
  EXPECT_NE(finding.message.find((folder_.path() / "reference.cc").string() + ":3:"), std::string::npos)
      << finding.message;
}

// One reference with a fault for each size, since compiling is what takes time.
TEST_F(References, ThatFailAreFindings) {
  auto made = oracle(R"(
    (void)output;
    switch (c.size("n")) {
      case 0: c.input("nothing"); break;
      case 1: std::abort();
      case 2: std::printf("hello"); break;
      case 3: elements.pop_back(); break;
      case 4: elements[0].value = std::vector<double>(size_t{1} << 36, 1.0).size(); break;
      case 5: elements[1].magnitude = std::nan(""); break;
      case 6: elements[1].magnitude = -1; break;
      case 7: elements[1].value = elements[1].magnitude = std::nan(""); break;
    })");
  ASSERT_TRUE(made.ok()) << base::render(made.findings(), "");
  for (int64_t n = 0; n < 7; ++n) {
    data_.binding.parameters["n"] = n;
    auto result = (*made)->expected(data_, "y", {});
    ASSERT_FALSE(result.ok()) << n;
    // A magnitude is a finite number of at least 0, or any value or none would be right.
    EXPECT_EQ(result.findings()[0].code, n < 5 ? "ORA0003" : "ORA0004") << n;
  }
  data_.binding.parameters["n"] = 7;
  EXPECT_TRUE((*made)->expected(data_, "y", {}).ok());
}

TEST_F(References, AreNeeded) {
  task_.reference.reset();
  EXPECT_EQ(make_reference_oracle(task_).findings()[0].code, "ORA0005");
}

TEST(ReferenceHeader, IsInTheLibraryAsItStandsInTheTree) {
  auto file = base::read_file(std::filesystem::path(PTXLAB_SOURCE_DIR) / "src/task/reference.h");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*file, reference_header());
}

}  // namespace
}  // namespace ptxlab::task
