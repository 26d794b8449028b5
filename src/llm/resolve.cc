#include "llm/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace ptxlab::llm {
namespace {

using Clock = std::chrono::steady_clock;

bool is_address(const std::string& host) {
  std::array<char, 16> bytes;
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 || inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// Shared with the thread that may outlive the question.
struct Pending {
  std::mutex mutex;
  std::condition_variable came;
  std::optional<std::vector<std::string>> addresses;
};

}  // namespace

std::vector<std::string> look_up(const std::string& host) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), nullptr, &wanted, &found) != 0) return {};
  std::vector<std::string> addresses;
  for (const auto* one = found; one; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text;
    bool ok = getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
    if (ok && std::find(addresses.begin(), addresses.end(), text.data()) == addresses.end())
      addresses.emplace_back(text.data());
  }
  freeaddrinfo(found);
  return addresses;
}

Resolved resolve(const std::string& host, Clock::time_point deadline, const std::function<bool()>& stop,
                 const Lookup& lookup) {
  if (is_address(host)) return {Resolved::End::found, {host}};
  auto pending = std::make_shared<Pending>();
  std::thread([pending, host, lookup] {
    auto addresses = lookup(host);
    std::lock_guard lock(pending->mutex);
    pending->addresses = std::move(addresses);
    pending->came.notify_all();
  }).detach();
  std::unique_lock lock(pending->mutex);
  while (!pending->addresses) {
    auto now = Clock::now();
    if (now >= deadline) return {Resolved::End::late, {}};
    if (stop && stop()) return {Resolved::End::stopped, {}};
    pending->came.wait_until(lock, std::min(deadline, now + std::chrono::milliseconds(100)));
  }
  auto end = pending->addresses->empty() ? Resolved::End::unknown : Resolved::End::found;
  return {end, *std::move(pending->addresses)};
}

}  // namespace ptxlab::llm
