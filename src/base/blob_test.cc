#include "base/blob.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptxlab::base {
namespace {

TEST(Blob, CopiesShareTheirBytes) {
  Blob one(std::string(100, 'x'));
  Blob two = one;
  EXPECT_EQ(one.data(), two.data());
  EXPECT_EQ(one, two);
  EXPECT_EQ(one, Blob(std::string(100, 'x')));
  one = Blob();
  EXPECT_EQ(two.view(), std::string(100, 'x'));
  EXPECT_TRUE(one.empty());
}

TEST(Blob, WhatLiesWithinAnotherKeepsIt) {
  auto owner = std::make_shared<std::string>("a long text that is not inside of the string itself");
  std::weak_ptr<std::string> still = owner;
  Blob part(owner, std::string_view(*owner).substr(2, 4));
  owner.reset();
  EXPECT_FALSE(still.expired());
  EXPECT_EQ(part.view(), "long");
  part = {};
  EXPECT_TRUE(still.expired());
}

TEST(Blob, IsMadeInPlace) {
  for (size_t bytes : {size_t{0}, size_t{10}, size_t{5} << 20}) {
    auto made = Blob::made(bytes, [](std::span<char> into) { return std::fill(into.begin(), into.end(), 'y'), true; });
    ASSERT_TRUE(made);
    EXPECT_EQ(made->view(), std::string(bytes, 'y'));
    EXPECT_FALSE(Blob::made(bytes, [](std::span<char>) { return false; }));
  }
  EXPECT_FALSE(Blob::made(SIZE_MAX / 2, [](std::span<char>) { return true; }));
}

}  // namespace
}  // namespace ptxlab::base
