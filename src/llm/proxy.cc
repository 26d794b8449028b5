#include "llm/proxy.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace ptxlab::llm {
namespace {

// The bytes of an address, 4 or 16; empty: it is a name.
std::string address_bytes(const std::string& host) {
  std::array<char, 16> bytes{};
  if (inet_pton(AF_INET, host.c_str(), bytes.data()) == 1) return {bytes.data(), 4};
  if (inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) return {bytes.data(), 16};
  return "";
}

bool same_bits(const std::string& a, const std::string& b, size_t count) {
  for (size_t bit = 0; bit < count; ++bit) {
    if (((a[bit / 8] ^ b[bit / 8]) >> (7 - bit % 8)) & 1) return false;
  }
  return true;
}

std::optional<int> number_in(std::string_view text, int most) {
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number < 0 || number > most)
    return std::nullopt;
  return number;
}

// One item of no_proxy: "*", "host", ".domain", "host:port", "10.0.0.0/8"; a name stands for all below it too.
bool covers(std::string item, const Url& url) {
  if (item == "*") return true;
  auto server = address_bytes(url.host);
  if (size_t slash = item.find('/'); slash != item.npos) {
    auto network = address_bytes(item.substr(0, slash));
    auto bits = number_in(std::string_view(item).substr(slash + 1), static_cast<int>(8 * network.size()));
    return bits && !network.empty() && network.size() == server.size() &&
           same_bits(network, server, static_cast<size_t>(*bits));
  }
  size_t colon = item.rfind(':');
  bool bracketed = item.starts_with('[');
  if (colon != item.npos && (bracketed ? item[colon - 1] == ']' : item.find(':') == colon)) {
    if (number_in(std::string_view(item).substr(colon + 1), 65535) != url.port) return false;
    item.resize(colon);
  }
  if (bracketed && item.ends_with(']')) item = item.substr(1, item.size() - 2);
  if (!server.empty()) return address_bytes(item) == server;
  while (item.starts_with('*') || item.starts_with('.')) item.erase(0, 1);
  return !item.empty() && (url.host == item || url.host.ends_with("." + item));
}

bool asked_directly(const Url& url, std::string list) {
  for (char& c : list) c = c == ' ' || c == '\t' ? ',' : static_cast<char>(tolower(static_cast<unsigned char>(c)));
  std::string_view rest = list;
  while (true) {
    size_t comma = rest.find(',');
    if (auto item = rest.substr(0, comma); !item.empty() && covers(std::string(item), url)) return true;
    if (comma == rest.npos) return false;
    rest.remove_prefix(comma + 1);
  }
}

// "%40" and its like, of a name or a password.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      out.push_back(static_cast<char>(value));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

// Never quotes what the variable holds: it may be a password.
base::Finding wrong(const char* variable, std::string_view what) {
  return {"LLM0032",
          base::Severity::error,
          {},
          fmt::format("{} names no proxy that is spoken here: {}", variable, what),
          "such as http://proxy.example.com:3128; no_proxy=HOST asks that server directly",
          {}};
}

base::Result<std::optional<Proxy>> read_proxy(const char* variable, std::string_view text) {
  Proxy proxy;
  if (size_t scheme = text.find("://"); scheme != text.npos) {
    if (text.substr(0, scheme) != "http") return wrong(variable, "it has to begin with http://");
    text.remove_prefix(scheme + 3);
  }
  if (size_t at = text.rfind('@'); at != text.npos) {
    auto who = text.substr(0, at);
    size_t colon = who.find(':');
    proxy.name = unescaped(who.substr(0, colon));
    if (colon != who.npos) proxy.password = unescaped(who.substr(colon + 1));
    if (proxy.name.empty() || proxy.password.empty()) return wrong(variable, "a name and a password go together");
    text.remove_prefix(at + 1);
  }
  bool ported = text.find(':', text.starts_with('[') ? std::min(text.find(']'), text.size()) : 0) != text.npos;
  auto url = parse_url(fmt::format("http://{}", text));
  if (!url) return wrong(variable, "its host or port is none");
  proxy.host = url->host;
  proxy.port = ported ? url->port : 1080;
  return std::optional(std::move(proxy));
}

}  // namespace

std::string Proxy::text() const {
  return fmt::format(fmt::runtime(host.find(':') == host.npos ? "{}:{}" : "[{}]:{}"), host, port);
}

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

base::Result<std::optional<Proxy>> proxy_for(const Url& url, const Variables& variables) {
  if (url.loopback()) return std::optional<Proxy>();
  for (const char* name : {"no_proxy", "NO_PROXY"}) {
    auto list = variables(name);
    if (list && asked_directly(url, *list)) return std::optional<Proxy>();
    if (list) break;
  }
  constexpr std::array kSecure = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
  constexpr std::array kPlain = {"http_proxy", "all_proxy", "ALL_PROXY"};
  auto first = [&](auto names) -> base::Result<std::optional<Proxy>> {
    for (const char* name : names) {
      // One that is set to nothing asks for no proxy, and hides the next.
      if (auto value = variables(name)) return value->empty() ? std::optional<Proxy>() : read_proxy(name, *value);
    }
    return std::optional<Proxy>();
  };
  return url.https ? first(kSecure) : first(kPlain);
}

}  // namespace ptxlab::llm
