#include "cli/run_arguments.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace ptxlab::cli {
namespace {

using isa::Type;
using Kind = RunArgument::Kind;
using Bytes = std::vector<uint8_t>;

RunArgument right(std::string_view spec) {
  auto argument = parse_argument(spec);
  EXPECT_TRUE(argument.ok()) << spec << ": " << base::render(argument.findings(), "");
  return argument.ok() ? *argument : RunArgument{};
}

std::string wrong(std::string_view spec) {
  auto argument = parse_argument(spec);
  EXPECT_FALSE(argument.ok()) << spec;
  return argument.ok() ? "" : argument.findings().at(0).code + ": " + argument.findings().at(0).message;
}

TEST(RunArguments, Scalars) {
  EXPECT_EQ(right("u32:258").bytes, (Bytes{2, 1, 0, 0}));
  EXPECT_EQ(right("u32:0x102").bytes, (Bytes{2, 1, 0, 0}));
  EXPECT_EQ(right("s8:-1").bytes, Bytes{255});
  EXPECT_EQ(right("s8:-1").integer, -1);
  EXPECT_EQ(right("s64:-9223372036854775808").bytes, (Bytes{0, 0, 0, 0, 0, 0, 0, 128}));
  EXPECT_EQ(right("u64:18446744073709551615").bytes, Bytes(8, 255));
  EXPECT_EQ(right("f32:1").bytes, (Bytes{0, 0, 0x80, 0x3f}));
  EXPECT_EQ(right("f32:-inf").bytes, (Bytes{0, 0, 0x80, 0xff}));
  EXPECT_EQ(right("f64:-2.5e0").bytes, (Bytes{0, 0, 0, 0, 0, 0, 4, 0xc0}));
  EXPECT_EQ(right("f16:1.5").bytes, (Bytes{0, 0x3e}));
  EXPECT_EQ(right("bf16:1.5").bytes, (Bytes{0xc0, 0x3f}));
  EXPECT_EQ(right("b16:0xBEEF").bytes, (Bytes{0xef, 0xbe}));
  EXPECT_EQ(right("b8:10").bytes, Bytes{0x10});  // hexadecimal, with 0x or without
  EXPECT_EQ(right("f32:nan").bytes.size(), 4u);
}

TEST(RunArguments, ScalarsThatDoNotFit) {
  for (auto spec :
       {"u8:256", "u8:-1", "s8:128", "s8:-129", "u32:4294967296", "u64:18446744073709551616", "b8:0x100",
        "u32:", "u32:1.5", "u32:1 ", "u32:x", "f32:", "f32:one", "f32: 1", "b32:xyz", "s32:--1", "u32:0x"}) {
    EXPECT_EQ(wrong(spec).substr(0, 7), "CLI0010") << spec;
  }
}

TEST(RunArguments, Buffers) {
  auto argument = right("in:u16:1,2,0x300");
  EXPECT_EQ(argument.kind, Kind::in);
  EXPECT_EQ(argument.type, Type::u16);
  EXPECT_EQ(argument.bytes, (Bytes{1, 0, 2, 0, 0, 3}));
  EXPECT_EQ(right("inout:f32:0,-0").bytes, (Bytes{0, 0, 0, 0, 0, 0, 0, 0x80}));
  argument = right("out:bf16:12");
  EXPECT_EQ(argument.kind, Kind::out);
  EXPECT_EQ(argument.type, Type::bf16);
  EXPECT_EQ(argument.bytes, Bytes(24, 0));
  for (auto spec : {"out:f33:4", "out:f32:", "out:f32:0", "out:f64:999999999999", "out:f32:1,2"})
    EXPECT_EQ(wrong(spec).substr(0, 7), "CLI0010") << spec;
  EXPECT_EQ(right("null").bytes, Bytes(8, 0));
  EXPECT_EQ(right("p=null").name, "p");
  const base::TemporaryFolder folder("run-arguments");
  ASSERT_TRUE(base::write_file(folder.path() / "x.bin", "12345678").empty());
  argument = right("inout:f32:@" + (folder.path() / "x.bin").string());
  EXPECT_EQ(argument.type, Type::f32);
  EXPECT_EQ(argument.bytes.size(), 8u);
  ASSERT_TRUE(base::write_file(folder.path() / "x.bin", "1234567").empty());
  EXPECT_EQ(wrong("in:f32:@" + (folder.path() / "x.bin").string()).substr(0, 7), "CLI0010");
  argument = right("out:12");
  EXPECT_EQ(argument.kind, Kind::out);
  EXPECT_EQ(argument.bytes, Bytes(12, 0));
  for (auto spec :
       {"in:1,2", "in:u32:1,,2", "in:u32:1,", "in:u32", "out:", "out:0", "out:-1", "out:99999999999", "in:"}) {
    EXPECT_EQ(wrong(spec).substr(0, 7), "CLI0010") << spec;
  }
}

TEST(RunArguments, BuffersFromFiles) {
  base::TemporaryFolder folder("ptxlab-test");
  auto path = folder.path() / "data";
  ASSERT_TRUE(base::write_file(path, std::string("\0\xff,", 3)).empty());
  EXPECT_EQ(right("in:@" + path.string()).bytes, (Bytes{0, 255, ','}));
  EXPECT_EQ(right("inout:@" + path.string()).kind, Kind::inout);
  EXPECT_EQ(wrong("in:@" + path.string() + "x").substr(0, 8), "FILE0001");
}

TEST(RunArguments, NamesAndSuggestions) {
  EXPECT_EQ(right("n=u32:7").name, "n");
  EXPECT_EQ(right("u32:7").name, "");
  EXPECT_EQ(parse_argument("uint32:7").ok(), false);
  EXPECT_EQ(parse_argument("inuot:f32:1").findings().at(0).hint, "did you mean 'inout:'?");
}

TEST(RunArguments, SameNamesAnEarlierBuffer) {
  auto arguments = parse_arguments({"u32:1", "out:4", "same:1", "same:2"});
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(arguments->at(2).same, 1u);
  EXPECT_EQ(arguments->at(3).same, 1u);  // through the other
  EXPECT_FALSE(parse_arguments({"u32:1", "same:0"}).ok());
  EXPECT_FALSE(parse_arguments({"same:0"}).ok());
  EXPECT_FALSE(parse_arguments({"out:4", "same:7"}).ok());
  EXPECT_EQ(parse_arguments({"out:4", "u8:300"}).findings().at(0).message, "argument 1: '300' is not a u8 value");
}

TEST(RunArguments, Sizes) {
  EXPECT_EQ(*parse_dim3("7", "--grid"), (launch::Dim3{7, 1, 1}));
  EXPECT_EQ(*parse_dim3("7,8,9", "--grid"), (launch::Dim3{7, 8, 9}));
  for (auto text : {"", "0", "1,", ",1", "1,2,3,4", "-1", "x", "1,0", "4294967296", "[1,2]"}) {
    EXPECT_FALSE(parse_dim3(text, "--grid").ok()) << text;
  }
}

TEST(RunArguments, ElementsAsText) {
  auto text = [](std::string_view spec) {
    auto argument = right(spec);
    return element_text(argument.bytes.data(), argument.type);
  };
  EXPECT_EQ(text("f32:0.1"), "0.1");
  EXPECT_EQ(text("s16:-5"), "-5");
  EXPECT_EQ(text("u64:18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(text("b32:1f"), "0x0000001f");
  EXPECT_EQ(text("bf16:-2"), "-2");
  EXPECT_EQ(text("f64:1e300"), "1e+300");
}

}  // namespace
}  // namespace ptxlab::cli
