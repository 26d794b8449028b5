// The proxy by which a server is asked, as the environment names it and as other programs read it: https_proxy or HTTPS_PROXY for
// https, http_proxy for http (in small letters alone: HTTP_PROXY is what a web server makes of a stranger's header), else all_proxy or
// ALL_PROXY. no_proxy or NO_PROXY names servers that are asked directly; this machine always is.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "llm/url.h"

namespace ptxlab::llm {

struct Proxy {
  std::string host;
  int port = 0;
  std::string name, password;  // for the proxy alone: no server gets them, no message shows them
  std::string text() const;    // "host:port"
};

// What a variable holds; nothing where it is not set.
using Variables = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> environment_variable(const char* name);

// The proxy for this server, if there is one. Error: LLM0032, what the variable names is none that is spoken here, so that nothing is
// sent past it.
base::Result<std::optional<Proxy>> proxy_for(const Url& url, const Variables& variables = environment_variable);

}  // namespace ptxlab::llm
