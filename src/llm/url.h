// The address of a model's server as the user writes it: http or https, host, port, and the path below which the
// server's interface lies (".../v1").
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace ptxlab::llm {

struct Url {
  bool https = false;
  std::string host;  // in small letters; an IPv6 address without its brackets
  int port = 0;
  std::string path;       // "" or "/v1": no slash at its end
  bool loopback() const;  // this machine itself
  // "https://host:port/path", the port only where it is not the scheme's own.
  std::string text() const;
};

// Errors: LLM0001, with what is wrong: no scheme, another scheme, a user name or password (they would end up in the
// archive), a query, a port that is none.
base::Result<Url> parse_url(std::string_view text);

}  // namespace ptxlab::llm
