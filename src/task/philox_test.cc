// The generator in the dropout's reference against the known answers that its authors published for Philox 4x32-10.
#include <gtest/gtest.h>

#include <cstdint>

#define main reference_program
#include "../../tasks/activation/bias_gelu_dropout_bf16/reference.cc"
#undef main

namespace {

TEST(Philox, KnownAnswers) {
  struct Known {
    uint32_t counter[4], key[2], words[4];
  };
  const Known all[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Known& known : all) {
    uint32_t words[4];
    philox(known.counter, known.key[0], known.key[1], words);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(words[i], known.words[i]) << i;
  }
}

}  // namespace
