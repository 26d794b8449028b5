// The addresses of a host's name, found in time: the system's resolver takes as long as it likes and cannot be stopped. So it is asked
// on a thread of its own, which is left to itself where it takes too long.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ptxlab::llm {

struct Resolved {
  enum class End : uint8_t { found, unknown, late, stopped };
  End end = End::unknown;
  std::vector<std::string> addresses;  // as numbers, in the system's order
};

// Empty: there is no host of that name. It may still be running when the program's main() returns.
using Lookup = std::function<std::vector<std::string>(const std::string& host)>;
std::vector<std::string> look_up(const std::string& host);

// `stop` is looked at ten times a second.
Resolved resolve(const std::string& host, std::chrono::steady_clock::time_point deadline,
                 const std::function<bool()>& stop = {}, const Lookup& lookup = look_up);

}  // namespace ptxlab::llm
