#include "llm/proxy.h"

#include <gtest/gtest.h>

#include <map>

namespace ptxlab::llm {
namespace {

using Environment = std::map<std::string, std::string>;

base::Result<std::optional<Proxy>> found(const std::string& url, const Environment& environment) {
  return proxy_for(*parse_url(url), [&](const char* name) -> std::optional<std::string> {
    auto it = environment.find(name);
    return it == environment.end() ? std::nullopt : std::optional(it->second);
  });
}

// "host:port", "none", or the code of what is wrong.
std::string told(const std::string& url, const Environment& environment) {
  auto proxy = found(url, environment);
  return !proxy ? proxy.findings().front().code : *proxy ? (*proxy)->text() : "none";
}

TEST(Proxy, IsWhatTheEnvironmentNamesForTheScheme) {
  const Environment both = {{"https_proxy", "http://secure:3128"}, {"http_proxy", "plain:8080/"}};
  EXPECT_EQ(told("https://api.example.com/v1", both), "secure:3128");
  EXPECT_EQ(told("http://api.example.com/v1", both), "plain:8080");
  EXPECT_EQ(told("https://x/v1", {}), "none");
  EXPECT_EQ(told("https://x/v1", {{"HTTPS_PROXY", "http://a:1"}}), "a:1");
  EXPECT_EQ(told("https://x/v1", {{"HTTPS_PROXY", "http://a:1"}, {"https_proxy", "http://b:2"}}), "b:2");
  EXPECT_EQ(told("https://x/v1", {{"HTTPS_PROXY", "http://a:1"}, {"https_proxy", ""}}), "none");
  EXPECT_EQ(told("https://x/v1", {{"all_proxy", "http://a:1"}}), "a:1");
  EXPECT_EQ(told("http://x/v1", {{"ALL_PROXY", "http://[fd00::1]:1"}}), "[fd00::1]:1");
  EXPECT_EQ(told("https://x/v1", {{"http_proxy", "http://a:1"}}), "none");
  // A web server sets this one from a stranger's header.
  EXPECT_EQ(told("http://x/v1", {{"HTTP_PROXY", "http://evil:1"}}), "none");
  EXPECT_EQ(told("https://x/v1", {{"https_proxy", "http://a"}}), "a:1080");
}

TEST(Proxy, ThisMachineAndWhatNoProxyNamesIsAskedDirectly) {
  Environment environment = {{"https_proxy", "http://p:1"}, {"http_proxy", "http://p:1"}};
  for (const char* url :
       {"http://localhost:8000/v1", "http://127.0.0.1/v1", "http://127.9.9.9/v1", "http://[::1]:9/v1"})
    EXPECT_EQ(told(url, environment), "none") << url;
  EXPECT_EQ(told("http://127.example.com/v1", environment), "p:1");
  environment["no_proxy"] =
      "one.example, .two.example,*.three.example,four.example:8443 10.0.0.0/8,fd00::/8,192.168.1.7,[fe80::1]:80";
  for (const char* url : {"https://one.example", "https://a.one.example", "https://two.example",
                          "https://a.b.two.example", "https://x.three.example", "https://four.example:8443",
                          "https://10.255.0.1", "http://[fd12::9]", "http://192.168.1.7:8000", "http://[fe80::1]"})
    EXPECT_EQ(told(url, environment), "none") << url;
  for (const char* url : {"https://notone.example", "https://four.example", "https://11.0.0.1", "http://[fe00::1]",
                          "http://192.168.1.70", "https://example", "http://[fe80::1]:81"})
    EXPECT_EQ(told(url, environment), "p:1") << url;
  environment["no_proxy"] = "*";
  EXPECT_EQ(told("https://any.example", environment), "none");
  for (const char* odd : {",,", "/", "10.0.0.0/99", "10.0.0.0/-1", "x/8", ":", "[", "]", "a:b", "::/0x", "."}) {
    environment["no_proxy"] = odd;
    EXPECT_EQ(told("https://any.example", environment), "p:1") << odd;
  }
}

TEST(Proxy, APasswordIsForItAloneAndInNoMessage) {
  auto proxy = found("https://x/v1", {{"https_proxy", "http://me:p%40ss%3a%zz@p:3128"}});
  ASSERT_TRUE(proxy.ok() && *proxy);
  EXPECT_EQ((*proxy)->name, "me");
  EXPECT_EQ((*proxy)->password, "p@ss:%zz");
  EXPECT_EQ((*proxy)->text(), "p:3128");
  for (const char* text :
       {"socks5://me:hunter2@p:1", "https://me:hunter2@p:1", "http://me:hunter2@p:x", "http://me:hunter2@",
        "http://hunter2@p:1", "http://:hunter2@p:1", "http://me:hunter2@p:99999"}) {
    auto wrong = found("https://x/v1", {{"https_proxy", text}});
    ASSERT_FALSE(wrong.ok()) << text;
    EXPECT_EQ(wrong.findings().front().code, "LLM0032");
    auto said = base::render(wrong.findings(), "");
    EXPECT_EQ(said.find("hunter2"), std::string::npos) << said;
    EXPECT_NE(said.find("https_proxy"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace ptxlab::llm
