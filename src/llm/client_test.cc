#include "llm/client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sstream>

#include "base/file.h"
#include "llm/fake_server.h"

namespace ptxlab::llm {
namespace {

using std::chrono::milliseconds;

const Question kQuestion{"You are terse.", "Say yes. This is the question, in a sentence of its own."};
constexpr const char* kSecret = "sk-test-0123456789abcdef";

struct Asker {
  explicit Asker(const std::string& url, const std::string& settings = "", Limits limits = {},
                 std::string key = kSecret)
      : client({"test-model", *parse_url(url), &openai_dialect()}, Key(std::move(key)), *parse_settings(settings),
               limits) {
    client.sleep = [this](milliseconds time) { waits.push_back(time); };
  }
  Client::Asked ask() { return client.ask(kQuestion, 1); }
  Client client;
  std::vector<milliseconds> waits;
};

std::string code_of(const Client::Asked& asked) {
  return asked.reply.findings().empty() ? "" : asked.reply.findings().front().code;
}

TEST(Client, AsksAndReadsTheAnswerAndItsTokens) {
  FakeServer server({"answer yes"}, {{"yes", "Yes.\n"}});
  Asker asker(server.url(), "temperature=0.5,answer_tokens=99");
  auto asked = asker.ask();
  ASSERT_TRUE(asked.reply.ok()) << base::render(asked.reply.findings(), "");
  EXPECT_EQ(asked.reply->text, "Yes.\n");
  EXPECT_FALSE(asked.reply->usage.estimated);
  auto body = nlohmann::json::parse(server.bodies().at(0));
  EXPECT_EQ(body["model"], "test-model");
  EXPECT_EQ(body["messages"][0]["content"], kQuestion.system);
  EXPECT_EQ(body["messages"][1]["content"], kQuestion.user);
  EXPECT_EQ(body["temperature"], 0.5);
  EXPECT_EQ(body["max_tokens"], 99);
  EXPECT_EQ(server.headers()[0].find("Authorization")->second, std::string("Bearer ") + kSecret);
  auto used = asker.client.used();
  EXPECT_EQ(used.requests, 1);
  EXPECT_EQ(used.asked, static_cast<int64_t>(server.bodies()[0].size() / 4));
  EXPECT_EQ(used.answered, 1);
}

TEST(Client, WithoutAKeyNoHeaderIsSent) {
  FakeServer server({"answer yes"}, {{"yes", "Yes."}});
  Asker asker(server.url(), "", {}, "");
  ASSERT_TRUE(asker.ask().reply.ok());
  EXPECT_EQ(server.headers()[0].count("Authorization"), 0u);
}

TEST(Client, EstimatesTokensWhereTheServerDoesNotCount) {
  FakeServer server({"answer yes uncounted"}, {{"yes", "Yes, this is the answer."}});
  Asker asker(server.url());
  auto asked = asker.ask();
  ASSERT_TRUE(asked.reply.ok());
  EXPECT_TRUE(asked.reply->usage.estimated);
  EXPECT_GT(asked.reply->usage.asked, 10);
  EXPECT_GT(asked.reply->usage.answered, 4);
  EXPECT_TRUE(asker.client.used().estimated);
}

TEST(Client, ComesBackWhenTheServerSays) {
  FakeServer server({"status 429 retry-after=7", "status 500", "status 503", "answer yes"}, {{"yes", "Yes."}});
  Asker asker(server.url());
  auto asked = asker.ask();
  ASSERT_TRUE(asked.reply.ok()) << base::render(asked.reply.findings(), "");
  ASSERT_EQ(asker.waits.size(), 3u);
  EXPECT_EQ(asker.waits[0], milliseconds(7000));
  EXPECT_GE(asker.waits[1], milliseconds(500));  // the second of 500, 1000, 2000, halved at most
  EXPECT_LE(asker.waits[1], milliseconds(1000));
  EXPECT_GE(asker.waits[2], milliseconds(1000));
  EXPECT_LE(asker.waits[2], milliseconds(2000));
  ASSERT_TRUE(asked.exchange);
  ASSERT_EQ(asked.exchange->tries.size(), 4u);
  EXPECT_EQ(asked.exchange->tries[0].status, 429);
  EXPECT_EQ(asked.exchange->tries[0].waited, milliseconds(7000));
  EXPECT_EQ(asked.exchange->tries[3].status, 200);
  EXPECT_EQ(asker.client.used().requests, 4);
}

TEST(Client, GivesUpAfterItsTriesAndBeforeTooLongAWait) {
  FakeServer server({"status 500"}, {});
  Asker few(server.url(), "tries=3");
  auto asked = few.ask();
  EXPECT_EQ(code_of(asked), "LLM0011");
  EXPECT_EQ(few.waits.size(), 2u);
  EXPECT_NE(asked.reply.findings().front().message.find("the server answers 500: the server says no; 3 tries"),
            std::string::npos)
      << asked.reply.findings().front().message;
  FakeServer later({"status 429 retry-after=3600"}, {});
  Asker patient(later.url());
  auto refused = patient.ask();
  EXPECT_EQ(code_of(refused), "LLM0011");
  EXPECT_TRUE(patient.waits.empty());
  EXPECT_NE(refused.reply.findings().front().hint.find("3600 seconds"), std::string::npos);
}

TEST(Client, OtherRefusalsAreFinal) {
  for (const char* status : {"400", "401", "403", "404", "413", "422"}) {
    FakeServer server({std::string("status ") + status}, {});
    Asker asker(server.url());
    EXPECT_EQ(code_of(asker.ask()), "LLM0011");
    EXPECT_EQ(server.bodies().size(), 1u) << status;
  }
}

TEST(Client, WhatIsNoCompletionIsSaidAndNotAskedAgain) {
  struct Case {
    const char *step, *code, *words;
  };
  for (const auto& c : {Case{"half", "LLM0013", "it is no JSON"}, Case{"html", "LLM0013", "text/html"},
                        Case{"no-choices", "LLM0013", "no choices"}, Case{"redirect", "LLM0012", "127.0.0.1:9"},
                        Case{"huge", "LLM0010", "larger than any that is taken"}}) {
    FakeServer server({c.step}, {{"yes", "Yes."}});
    Asker asker(server.url());
    auto asked = asker.ask();
    ASSERT_EQ(code_of(asked), c.code) << c.step;
    EXPECT_NE(asked.reply.findings().front().message.find(c.words), std::string::npos)
        << asked.reply.findings().front().message;
    EXPECT_EQ(server.bodies().size(), 1u) << c.step;
    ASSERT_TRUE(asked.exchange);
    EXPECT_LE(asked.exchange->response.size(), size_t{16} << 20);
  }
}

TEST(Client, AnAnswerThatEndsEarlyIsAskedForAgain) {
  FakeServer server({"closed", "answer yes"}, {{"yes", "Yes."}});
  Asker asker(server.url());
  EXPECT_TRUE(asker.ask().reply.ok());
  EXPECT_EQ(server.bodies().size(), 2u);
}

TEST(Client, AServerThatDripsIsLeftAtTheDeadline) {
  FakeServer server({"drip"}, {{"yes", "Yes."}});
  Asker asker(server.url(), "timeout=1.2");
  auto start = std::chrono::steady_clock::now();
  auto asked = asker.ask();
  auto took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(code_of(asked), "LLM0010");
  EXPECT_NE(asked.reply.findings().front().message.find("not there in time"), std::string::npos)
      << asked.reply.findings().front().message;
  EXPECT_LT(took, milliseconds(5000));
  EXPECT_EQ(server.bodies().size(), 1u);
  EXPECT_GE(asked.exchange->response.size(), 1u);
}

TEST(Client, BytesThatAreNotUtf8AreAnAnswerThatIsNotTrusted) {
  FakeServer server({"ill-formed"}, {{"yes", "Yes."}});
  Asker asker(server.url());
  auto asked = asker.ask();
  ASSERT_TRUE(asked.reply.ok());
  EXPECT_TRUE(asked.reply->ill_formed);
  EXPECT_NE(asked.exchange->response.find('\xff'), std::string::npos);  // the transcript has the bytes as they came
}

// A listener of our own: what it does with a connection is up to `serve`.
class RawServer {
 public:
  explicit RawServer(std::function<void(int)> serve) : serve_(std::move(serve)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      for (int connection; (connection = accept(listener_, nullptr, nullptr)) >= 0;) {
        ++connections;
        serve_(connection);
        close(connection);
      }
    });
  }
  ~RawServer() {
    stopping = true;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  int port() const { return port_; }
  std::string url(const char* scheme = "http") const {
    return std::string(scheme) + "://127.0.0.1:" + std::to_string(port_) + "/v1";
  }
  std::atomic<int> connections = 0;
  std::atomic<bool> stopping = false;

 private:
  std::function<void(int)> serve_;
  int listener_ = -1, port_ = 0;
  std::thread thread_;
};

// The bytes of an answer as servers frame them, rightly and wrongly: nothing but a whole answer is taken for one.
TEST(Client, HoweverAnAnswerIsFramed) {
  const std::string json = R"({"choices":[{"message":{"content":"Yes."},"finish_reason":"stop"}]})";
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
  auto chunk = [](const std::string& text) {
    std::ostringstream size;
    size << std::hex << text.size();
    return size.str() + "\r\n" + text + "\r\n";
  };
  const std::string chunked = ok + "Transfer-Encoding: chunked\r\n\r\n";
  const std::string two = chunk(json.substr(0, 10)) + chunk(json.substr(10));
  auto length = [&](const std::string& size) { return ok + "Content-Length: " + size + "\r\n\r\n" + json; };
  const std::string right = length(std::to_string(json.size()));
  struct Case {
    std::string what, answer, code;
  };
  for (const auto& c : {
           Case{"chunks", chunked + two + "0\r\n\r\n", ""},
           Case{"until it closes", "HTTP/1.0 200 OK\r\n\r\n" + json, ""},
           Case{"after a first word", "HTTP/1.1 100 Continue\r\n\r\n" + right, ""},
           Case{"more than was said", right + "and more", ""},
           Case{"no last chunk", chunked + two, "LLM0010"},
           Case{"half a chunk", chunked + "ffff\r\n" + json, "LLM0010"},
           Case{"a chunk of no size", chunked + "zz\r\n" + json + "\r\n0\r\n\r\n", "LLM0010"},
           Case{"a chunk of every size", chunked + "ffffffffffffffff\r\n" + json, "LLM0010"},
           Case{"less than was said", length("100000"), "LLM0010"},
           Case{"an endless length", length("99999999999999999999"), "LLM0010"},
           Case{"no length at all", ok + "Content-Length: none\r\n\r\n" + json, "LLM0013"},
           Case{"another protocol", "SSH-2.0-OpenSSH_9.2\r\n", "LLM0010"},
           Case{"half a header", "HTTP/1.1 200 OK\r\nContent-Ty", "LLM0010"},
           Case{"a header without end", "HTTP/1.1 200 OK\r\nX: " + std::string(1 << 20, 'x'), "LLM0010"},
           Case{"nothing", "HTTP/1.1 204 No Content\r\n\r\n", "LLM0013"},
       }) {
    RawServer server([&](int connection) {
      std::string head;
      for (char byte; !head.ends_with("\r\n\r\n") && recv(connection, &byte, 1, 0) == 1;) head += byte;
      send(connection, c.answer.data(), c.answer.size(), MSG_NOSIGNAL);
      shutdown(connection, SHUT_WR);
      for (char rest[4096]; recv(connection, rest, sizeof rest, 0) > 0;) continue;
    });
    Asker asker(server.url(), "tries=1,timeout=5");
    auto start = std::chrono::steady_clock::now();
    auto asked = asker.ask();
    EXPECT_EQ(code_of(asked), c.code) << c.what << ": " << base::render(asked.reply.findings(), "");
    if (asked.reply) {
      EXPECT_EQ(asked.reply->text, "Yes.") << c.what;
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(4000)) << c.what;
  }
}

TEST(Client, AConnectionClosedWithoutAWordIsTriedAgain) {
  RawServer server([](int) {});
  Asker asker(server.url(), "tries=3");
  EXPECT_EQ(code_of(asker.ask()), "LLM0010");
  EXPECT_EQ(server.connections, 3);
  EXPECT_EQ(asker.waits.size(), 2u);
}

TEST(Client, NobodyThereIsTriedAgain) {
  std::string url;
  {
    RawServer gone([](int) {});
    url = gone.url();
  }
  Asker asker(url, "tries=2");
  auto asked = asker.ask();
  EXPECT_EQ(code_of(asked), "LLM0010");
  EXPECT_NE(asked.reply.findings().front().message.find("the server is not there"), std::string::npos);
  EXPECT_EQ(asker.waits.size(), 1u);
}

// The library's own time-outs start anew with each byte: neither a header that never ends nor a handshake that crawls may
// outlast the deadline.
TEST(Client, HeadersAndHandshakesThatDripEndAtTheDeadlineToo) {
  for (const char* scheme : {"http", "https"}) {
    RawServer* self = nullptr;
    RawServer server([&](int connection) {
      std::string start = std::string(scheme) == "http" ? "HTTP/1.1 200 OK\r\n" : "\x16\x03\x03\x40";
      send(connection, start.data(), start.size(), MSG_NOSIGNAL);
      while (!self->stopping && send(connection, "x", 1, MSG_NOSIGNAL) == 1)
        std::this_thread::sleep_for(milliseconds(100));
    });
    self = &server;
    Asker asker(server.url(scheme), "timeout=1,tries=1,connect=30");
    auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(code_of(asker.ask()), "LLM0010") << scheme;
    EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(5000)) << scheme;
  }
}

TEST(Client, SilenceEndsBeforeTheDeadlineWhereAsked) {
  RawServer* self = nullptr;
  RawServer server([&](int) {
    while (!self->stopping) std::this_thread::sleep_for(milliseconds(20));
  });
  self = &server;
  Asker asker(server.url(), "silence=0.5,timeout=20");
  auto start = std::chrono::steady_clock::now();
  auto asked = asker.ask();
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(6000));
  EXPECT_NE(asked.reply.findings().front().message.find("fell silent"), std::string::npos)
      << asked.reply.findings().front().message;
  server.stopping = true;
}

TEST(Client, WhatIsGivenUpEndsSoonWhetherItAsksOrWaits) {
  RawServer* self = nullptr;
  RawServer silent([&](int) {
    while (!self->stopping) std::this_thread::sleep_for(milliseconds(20));
  });
  self = &silent;
  FakeServer busy({"status 429 retry-after=60"}, {});
  for (const auto& url : {silent.url(), busy.url()}) {
    Client client({"m", *parse_url(url), &openai_dialect()}, Key(kSecret), *parse_settings(""), {});
    auto start = std::chrono::steady_clock::now();
    client.stop = [&] { return std::chrono::steady_clock::now() - start > milliseconds(200); };
    auto asked = client.ask(kQuestion, 1);
    EXPECT_EQ(code_of(asked), "LLM0010");
    EXPECT_NE(asked.reply.findings().front().message.find("given up"), std::string::npos);
    EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(5000)) << url;
    EXPECT_FALSE(client.ask(kQuestion, 1).exchange) << "nothing more is sent";
  }
  silent.stopping = true;
}

// A certificate for 127.0.0.1 made on the spot.
struct Certificate {
  EVP_PKEY* key = EVP_RSA_gen(2048);
  X509* certificate = X509_new();
  Certificate() {
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    auto* name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("ptxlab test"), -1, -1,
                               0);
    X509_set_issuer_name(certificate, name);
    for (auto [id, text] : {std::pair{NID_subject_alt_name, "IP:127.0.0.1"}, {NID_basic_constraints, "CA:TRUE"}}) {
      auto* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, text);
      X509_add_ext(certificate, extension, -1);
      X509_EXTENSION_free(extension);
    }
    X509_sign(certificate, key, EVP_sha256());
  }
  ~Certificate() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
  void write(const std::filesystem::path& file) const {
    FILE* out = fopen(file.c_str(), "w");
    PEM_write_X509(out, certificate);
    fclose(out);
  }
};

TEST(Client, SpeaksTlsAndTrustsOnlyWhatItShould) {
  base::TemporaryFolder folder("tls");
  Certificate certificate;
  certificate.write(folder.path() / "ca.pem");
  FakeServer server({"answer yes"}, {{"yes", "Yes."}},
                    std::make_unique<httplib::SSLServer>(certificate.certificate, certificate.key));
  std::string url = "https://127.0.0.1:" + std::to_string(server.port()) + "/v1";
  Asker stranger(url);
  EXPECT_EQ(code_of(stranger.ask()), "LLM0010");
  EXPECT_TRUE(stranger.waits.empty());  // no certificate gets better by waiting
  EXPECT_TRUE(server.bodies().empty());
  setenv("SSL_CERT_FILE", (folder.path() / "ca.pem").c_str(), 1);
  Asker friendly(url);
  auto asked = friendly.ask();
  EXPECT_TRUE(asked.reply.ok()) << base::render(asked.reply.findings(), "");
  // A certificate that is trusted, of another host.
  Asker misled("https://localhost:" + std::to_string(server.port()) + "/v1");
  auto refused = misled.ask();
  EXPECT_EQ(code_of(refused), "LLM0010");
  EXPECT_NE(refused.reply.findings().front().message.find("no secure connection"), std::string::npos);
  EXPECT_EQ(server.bodies().size(), 1u);
  unsetenv("SSL_CERT_FILE");
}

// What a proxy has seen of each request, up to the empty line; it connects to this machine, or answers by itself.
struct TestProxy {
  explicit TestProxy(std::string answer = "") : answer_(std::move(answer)) {}
  Proxy proxy(std::string name = "", std::string password = "") const {
    return {"127.0.0.1", server_.port(), std::move(name), std::move(password)};
  }
  std::vector<std::string> heads() const {
    std::lock_guard lock(mutex_);
    return heads_;
  }

 private:
  void serve(int client) {
    std::string head;
    for (char c; !head.ends_with("\r\n\r\n") && recv(client, &c, 1, 0) == 1;) head += c;
    {
      std::lock_guard lock(mutex_);
      heads_.push_back(head);
    }
    if (!answer_.empty()) {
      send(client, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      return;
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(std::stoi(head.substr(head.find(':') + 1))));
    int origin = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(origin, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      const std::string kGo = "HTTP/1.1 200 OK\r\n\r\n";
      send(client, kGo.data(), kGo.size(), MSG_NOSIGNAL);
      std::thread back([&] { pump(origin, client); });
      pump(client, origin);
      back.join();
    }
    close(origin);
  }
  static void pump(int from, int to) {
    char bytes[4096];
    for (ssize_t n; (n = recv(from, bytes, sizeof bytes, 0)) > 0;)
      send(to, bytes, static_cast<size_t>(n), MSG_NOSIGNAL);
    shutdown(to, SHUT_RDWR);
  }
  std::string answer_;
  mutable std::mutex mutex_;
  std::vector<std::string> heads_;
  RawServer server_{[this](int client) { serve(client); }};
};

Client by_proxy(const std::string& url, Proxy proxy) {
  return Client({"m", *parse_url(url), &openai_dialect(), std::move(proxy)}, Key(kSecret), *parse_settings("tries=1"),
                {});
}

TEST(Client, GoesByAProxyThatSeesNoKeyAndWhosePasswordNoServerSees) {
  base::TemporaryFolder folder("tls");
  Certificate certificate;
  certificate.write(folder.path() / "ca.pem");
  FakeServer server({"answer yes"}, {{"yes", "Yes."}},
                    std::make_unique<httplib::SSLServer>(certificate.certificate, certificate.key));
  setenv("SSL_CERT_FILE", (folder.path() / "ca.pem").c_str(), 1);
  TestProxy proxy;
  auto client = by_proxy("https://127.0.0.1:" + std::to_string(server.port()) + "/v1", proxy.proxy("me", "hunter2"));
  auto asked = client.ask(kQuestion, 1);
  unsetenv("SSL_CERT_FILE");
  ASSERT_TRUE(asked.reply.ok()) << base::render(asked.reply.findings(), "");
  ASSERT_EQ(proxy.heads().size(), 1u);
  EXPECT_TRUE(proxy.heads()[0].starts_with("CONNECT 127.0.0.1:")) << proxy.heads()[0];
  EXPECT_NE(proxy.heads()[0].find("Proxy-Authorization: Basic bWU6aHVudGVyMg=="), std::string::npos);
  EXPECT_EQ(proxy.heads()[0].find(kSecret), std::string::npos);
  const auto headers = server.headers().at(0);
  for (const auto& [name, value] : headers) EXPECT_EQ(value.find("bWU6aHVudGVyMg"), std::string::npos);
}

TEST(Client, APlainRequestIsHandedToTheProxyWhole) {
  TestProxy proxy("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
  auto client = by_proxy("http://no-such-host.invalid/v1", proxy.proxy());
  EXPECT_EQ(code_of(client.ask(kQuestion, 1)), "LLM0013");  // and no name was looked up here
  ASSERT_EQ(proxy.heads().size(), 1u);
  EXPECT_TRUE(proxy.heads()[0].starts_with("POST http://no-such-host.invalid")) << proxy.heads()[0];
}

TEST(Client, AProxyThatRefusesIsNamed) {
  struct Case {
    const char *answer, *words;
  };
  for (const auto& c : {Case{"HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n", "answers 407"},
                        Case{"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", "by the proxy 127.0.0.1:"},
                        Case{"", "by the proxy 127.0.0.1:1)"}}) {
    TestProxy proxy(c.answer);
    auto to = proxy.proxy();
    if (!*c.answer) to.port = 1;
    auto asked = by_proxy("https://api.example.com/v1", to).ask(kQuestion, 1);
    ASSERT_FALSE(asked.reply.ok());
    auto said = base::render(asked.reply.findings(), "");
    EXPECT_NE(said.find(c.words), std::string::npos) << said;
  }
}

TEST(Client, EveryAddressOfANameIsTriedAndOneWithoutAnyIsSaid) {
  // It listens at one address alone; localhost often has two.
  FakeServer server({"answer yes"}, {{"yes", "Yes."}});
  Asker asker("http://localhost:" + std::to_string(server.port()) + "/v1");
  EXPECT_TRUE(asker.ask().reply.ok());
  Asker nowhere("http://no-such-host.invalid/v1", "tries=1");
  auto asked = nowhere.ask();
  EXPECT_EQ(code_of(asked), "LLM0010");
  EXPECT_NE(asked.reply.findings().front().message.find("no address was found"), std::string::npos)
      << asked.reply.findings().front().message;
}

TEST(Client, TheKeyIsInNothingThatComesBack) {
  for (const char* step : {"key", "status 401 key"}) {
    FakeServer server({step}, {});
    Asker asker(server.url());
    auto asked = asker.ask();
    std::string all = base::render(asked.reply.findings(), "") + asked.exchange->request + asked.exchange->response;
    if (asked.reply) all += asked.reply->text;
    EXPECT_EQ(all.find(kSecret), std::string::npos) << all;
    EXPECT_NE(all.find("[key]"), std::string::npos) << all;
  }
}

TEST(Client, ABudgetEndsIt) {
  FakeServer server({"answer yes"}, {{"yes", "Yes."}});
  Limits requests;
  requests.requests = 2;
  Asker two(server.url(), "", requests);
  EXPECT_TRUE(two.ask().reply.ok());
  EXPECT_TRUE(two.ask().reply.ok());
  auto third = two.ask();
  EXPECT_EQ(code_of(third), "LLM0014");
  EXPECT_FALSE(third.exchange);
  EXPECT_EQ(server.bodies().size(), 2u);
  Limits tokens;
  tokens.tokens = 100;
  Asker some(server.url(), "answer_tokens=60", tokens);
  EXPECT_TRUE(some.ask().reply.ok());  // about 20 asked, 60 at most answered
  EXPECT_EQ(code_of(some.ask()), "LLM0014");
  FakeServer failing({"status 500"}, {});
  Limits seconds;
  seconds.seconds = 1;
  Asker hurried(failing.url(), "wait=30", seconds);  // the first wait would outlast it
  EXPECT_EQ(code_of(hurried.ask()), "LLM0011");
  EXPECT_TRUE(hurried.waits.empty());
}

}  // namespace
}  // namespace ptxlab::llm
