#include "llm/url.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace ptxlab::llm {
namespace {

base::Finding wrong(std::string message, std::string hint) {
  return {"LLM0001", base::Severity::error, {}, std::move(message), std::move(hint), {}};
}

bool host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}
bool path_character(char c) { return host_character(c) || c == '/' || c == '~' || c == '%' || c == ':' || c == '+'; }

}  // namespace

bool Url::loopback() const {
  in_addr four{};
  // By number: "127.example.com" is anybody's.
  bool own_network = inet_pton(AF_INET, host.c_str(), &four) == 1 && ntohl(four.s_addr) >> 24 == 127;
  return own_network || host == "localhost" || host == "::1";
}

std::string Url::text() const {
  bool own = port == (https ? 443 : 80);
  bool six = host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}{}{}", https ? "https" : "http", six ? "[" : "", host, six ? "]" : "",
                     own ? "" : fmt::format(":{}", port), path);
}

base::Result<Url> parse_url(std::string_view text) {
  constexpr const char* kHint = "such as https://api.example.com/v1 or http://localhost:8000/v1";
  Url url;
  auto rest = text;
  if (rest.starts_with("https://")) {
    url.https = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return wrong("a server's address begins with http:// or https://", kHint);
  }
  // Never quoted: what stands before the @ may be a password.
  if (rest.find('@') != rest.npos) {
    return wrong("the server's address holds a user name or a password, which the archive would keep",
                 "put the key into PTXLAB_API_KEY and leave it out of the address");
  }
  if (rest.find_first_of("?#") != rest.npos)
    return wrong("the server's address holds a query or a fragment", "it ends before /chat/completions");
  size_t slash = rest.find('/');
  auto authority = rest.substr(0, slash);
  if (slash != rest.npos) url.path = rest.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  if (!std::all_of(url.path.begin(), url.path.end(), path_character))
    return wrong(fmt::format("the path '{}' is none", url.path), kHint);
  auto port = std::string_view();
  if (authority.starts_with('[')) {
    size_t close = authority.find(']');
    if (close == authority.npos) return wrong("'[' without its ']'", kHint);
    url.host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
    bool six =
        std::all_of(url.host.begin(), url.host.end(), [](char c) { return isxdigit(c) || c == ':' || c == '.'; });
    if (!six || url.host.find(':') == std::string::npos) return wrong("what stands in [] is no IPv6 address", kHint);
  } else {
    size_t colon = authority.find(':');
    url.host = authority.substr(0, colon);
    if (colon != authority.npos) port = authority.substr(colon);
    if (url.host.empty() || !std::all_of(url.host.begin(), url.host.end(), host_character))
      return wrong(fmt::format("'{}' is no host", url.host), kHint);
  }
  // Names are compared: with the vendors' own, with the table of prices, with no_proxy.
  for (char& c : url.host) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
  if (url.host.size() > 1 && url.host.ends_with('.')) url.host.pop_back();
  url.port = url.https ? 443 : 80;
  if (!port.empty()) {
    auto [end, error] = std::from_chars(port.data() + 1, port.data() + port.size(), url.port);
    if (port[0] != ':' || error != std::errc() || end != port.data() + port.size() || url.port < 1 || url.port > 65535)
      return wrong(fmt::format("'{}' is no port", port), kHint);
  }
  return url;
}

}  // namespace ptxlab::llm
