#include "gpu/place.h"

#include <gtest/gtest.h>

namespace ptxlab::gpu {
namespace {

std::vector<Place> places(std::string_view words, std::string_view visible = "") {
  auto read = read_places(words, "/opt/ptxlab-gpu", visible);
  if (!read) return ADD_FAILURE() << base::render(read.findings(), ""), std::vector<Place>{};
  return *read;
}
std::string refused(std::string_view words, std::string_view visible = "") {
  auto read = read_places(words, "/opt/ptxlab-gpu", visible);
  return read ? "" : read.findings()[0].message;
}

TEST(Place, NumbersAreGpusOfThisMachine) {
  EXPECT_TRUE(places("none").empty());
  auto two = places("0,3");
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[1].name, "3");
  EXPECT_EQ(two[1].command.back(), "/opt/ptxlab-gpu");
  EXPECT_EQ(two[1].command[2], "CUDA_VISIBLE_DEVICES=3");
}

TEST(Place, NumbersCountAmongThoseThatAreVisible) {
  EXPECT_EQ(places("1", "5,GPU-8932f937-d72c-4106-c12f-20bd9faed9f6")[0].command[1],
            "CUDA_VISIBLE_DEVICES=GPU-8932f937-d72c-4106-c12f-20bd9faed9f6");
  EXPECT_EQ(places("0", "5")[0].command[1], "CUDA_VISIBLE_DEVICES=5");
  EXPECT_NE(refused("1", "5").find("shows 1"), std::string::npos);
}

TEST(Place, BehindSsh) {
  auto plain = places("ssh:box")[0].command;
  EXPECT_EQ(plain.front(), "ssh");
  EXPECT_EQ(plain[plain.size() - 2], "box");
  EXPECT_EQ(plain.back(), "exec env 'ptxlab-gpu'");
  auto whole = places("ssh:me@box:/opt/my lab/ptxlab-gpu#2")[0].command;
  EXPECT_EQ(whole[whole.size() - 2], "me@box");
  EXPECT_EQ(whole.back(), "exec env CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=2 '/opt/my lab/ptxlab-gpu'");
  EXPECT_EQ(places("ssh:box:~/ptxlab-gpu")[0].command.back(), "exec env './ptxlab-gpu'");
  EXPECT_EQ(places("ssh:box:~/lab/ptxlab-gpu")[0].command.back(), "exec env 'lab/ptxlab-gpu'");
  // A quote in a path stays one word for the far side's shell.
  EXPECT_EQ(places("ssh:box:/a'b")[0].command.back(), "exec env '/a'\\''b'");
  EXPECT_EQ(places("ssh:a,ssh:b#1,0").size(), 3u);
}

TEST(Place, WhatSaysNoPlace) {
  for (const char* word : {"", "gpu", "-1", "0,", "0,none", "1x", "ssh:", "ssh:-oProxyCommand=x", "ssh:a b",
                           "ssh:box#x", "ssh:box#", "0,0", "ssh:a,ssh:a", "99999"})
    EXPECT_NE(refused(word), "") << word;
}

}  // namespace
}  // namespace ptxlab::gpu
