// One HTTP exchange with limits that hold whatever the other side does: a deadline for the whole of it, from the look-up of the host's
// name on, a cap on the bytes taken, no redirects (they would carry the key elsewhere). Trouble is an outcome, never an exception.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "llm/proxy.h"
#include "llm/url.h"

namespace ptxlab::llm {

struct HttpLimits {
  std::chrono::milliseconds connect{10'000};  // to find the host's addresses, and to connect to each
  std::chrono::milliseconds read{600'000};    // the longest silence: an answer comes whole, so all its thinking is one
  std::chrono::milliseconds whole{600'000};   // from the call to the last byte
  size_t body = size_t{16} << 20;             // bytes of an answer
};

using Header = std::pair<std::string, std::string>;

struct HttpRequest {
  Url url;
  std::string path;  // below the url's own
  std::string body;  // JSON
  std::vector<Header> headers;
  std::optional<Proxy> proxy = {};
};

struct HttpOutcome {
  enum class End : uint8_t {
    answered,     // whole; whatever its status
    nameless,     // its host's name has no address, or none was found in time
    unreachable,  // no connection: refused, no route
    tls,          // no trust: certificate, protocol
    closed,       // the connection ended before the answer did
    silent,       // nothing came for as long as `read` says
    late,         // not done by the deadline
    too_large,    // more than `body` bytes
    stopped,      // the caller's `stop` said so
  };
  End end = End::unreachable;
  int status = 0;
  std::string content_type, content_encoding, retry_after, location;  // headers
  std::string body;                                                   // what had come, where it did not end well
  std::chrono::milliseconds took{0};
};

// POSTs `request` and waits. Thread-safe. `secret` is one more header, where its name is not empty: the key's, which is passed
// apart so that the request can be written down. `stop` is looked at ten times a second.
HttpOutcome post(const HttpRequest& request, const Header& secret, const HttpLimits& limits,
                 const std::function<bool()>& stop = {});

// "the server fell silent", for messages.
std::string_view describe(HttpOutcome::End end);

}  // namespace ptxlab::llm
