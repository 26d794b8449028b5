// A libFuzzer target for the whole text side: parse, verify, print, parse again. Not part of the build; by hand, with clang:
//   clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -Isrc fuzz/parse.cc SOURCES -lfmt -lcrypto -o parse_fuzz
// SOURCES: every .cc of src/base, src/isa and src/ptx but the tests. Then: ./parse_fuzz -max_len=20000 NEW tests/corpus
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ptx/difference.h"
#include "ptx/parser.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ptxlab::ptx;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  Checked checked = check(text, "fuzz.ptx");
  std::string printed = print(checked.module);
  // What reads without an error has to read the same after printing.
  Parsed parsed = parse(text, "fuzz.ptx");
  if (!parsed.ok()) return 0;
  Parsed again = parse(print(parsed.module), "fuzz.ptx");
  if (!again.ok() || !difference(parsed.module, again.module).empty()) std::abort();
  return 0;
}
