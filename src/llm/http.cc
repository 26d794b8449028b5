#include "llm/http.h"

#include <fcntl.h>
#include <httplib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "llm/resolve.h"

namespace ptxlab::llm {
namespace {

using Clock = std::chrono::steady_clock;

// A write to a connection that the other side has closed raises SIGPIPE, and a library must not end its program. The
// signal is held back for this thread alone and dropped if it came.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    timespec none{};
    if (!was_pending_)
      while (sigtimedwait(&pipe_, nullptr, &none) == SIGPIPE) {
      }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_ = false;
};

// Ends an exchange from outside when its time is up. The library's own time-outs start anew with every byte, in headers
// and in the TLS handshake too, so a server that drips would hold it for ever. Shutting the socket down wakes whatever
// waits on it; a duplicate of the descriptor keeps its number from being given to somebody else meanwhile.
class Watchdog {
 public:
  Watchdog(Clock::time_point deadline, const std::function<bool()>& stop)
      : deadline_(deadline), stop_(stop), thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_all();
    thread_.join();
    for (int socket : sockets_) close(socket);
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void guard(int socket) {
    std::lock_guard lock(mutex_);
    int copy = fcntl(socket, F_DUPFD_CLOEXEC, 0);
    if (copy >= 0) sockets_.push_back(copy);
    if (late_ || stopped_) shutdown(socket, SHUT_RDWR);
  }
  bool late() const { return ended(late_); }
  bool stopped() const { return ended(stopped_); }

 private:
  bool ended(const bool& flag) const {
    std::lock_guard lock(mutex_);
    return flag;
  }
  void watch() {
    std::unique_lock lock(mutex_);
    while (!done_) {
      wake_.wait_until(lock, std::min(deadline_, Clock::now() + std::chrono::milliseconds(100)));
      if (done_) return;
      late_ = Clock::now() >= deadline_;
      stopped_ = !late_ && stop_ && stop_();
      if (!late_ && !stopped_) continue;
      for (int socket : sockets_) shutdown(socket, SHUT_RDWR);
      return;
    }
  }

  Clock::time_point deadline_;
  const std::function<bool()>& stop_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false, late_ = false, stopped_ = false;
  std::vector<int> sockets_;
  std::thread thread_;  // last: it uses the others
};

HttpOutcome::End end_of(httplib::Error error, bool timed_out) {
  switch (error) {
    case httplib::Error::Success: return HttpOutcome::End::answered;
    case httplib::Error::SSLConnection:
    case httplib::Error::SSLLoadingCerts:
    case httplib::Error::SSLServerVerification: return HttpOutcome::End::tls;
    case httplib::Error::Read: return timed_out ? HttpOutcome::End::silent : HttpOutcome::End::closed;
    case httplib::Error::Write: return HttpOutcome::End::closed;
    default: return HttpOutcome::End::unreachable;  // the library's enumeration grows with its versions
  }
}

// A model may think for minutes without a word, and what lies between here and there forgets connections that are silent.
void keep_alive(int socket) {
  constexpr int kOn = 1, kIdle = 60, kBetween = 30;  // seconds
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kIdle, sizeof kIdle);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kBetween, sizeof kBetween);
}

// A client for one of the addresses of the server, or of its proxy.
std::unique_ptr<httplib::ClientImpl> client_for(const HttpRequest& request, const std::string& address,
                                                const HttpLimits& limits) {
  const auto& url = request.url;
  auto client = url.https ? std::make_unique<httplib::SSLClient>(url.host, url.port)
                          : std::make_unique<httplib::ClientImpl>(url.host, url.port);
  if (request.proxy) {
    client->set_proxy(address, request.proxy->port);
    if (!request.proxy->name.empty()) client->set_proxy_basic_auth(request.proxy->name, request.proxy->password);
  } else {
    client->set_hostname_addr_map({{url.host, address}});
  }
  client->set_follow_location(false);
  client->set_keep_alive(false);
  client->set_tcp_nodelay(true);
  client->set_url_encode(false);
  client->set_decompress(false);  // none is asked for, and what unpacks to a gigabyte is not read
  client->set_connection_timeout(limits.connect);
  client->set_read_timeout(limits.read);
  client->set_write_timeout(limits.read);
  return client;
}

httplib::Request request_for(const HttpRequest& request, const Header& secret) {
  httplib::Request sent;
  sent.method = "POST";
  sent.path = request.url.path + request.path;
  sent.body = request.body;
  sent.set_header("Content-Type", "application/json");
  sent.set_header("Accept", "application/json");
  sent.set_header("Accept-Encoding", "identity");
  sent.set_header("User-Agent", "ptxlab");
  // The library would send the proxy's password through the tunnel to the server too, where this header did not stand already.
  if (request.proxy && request.url.https) sent.set_header("Proxy-Authorization", "none");
  for (const auto& [name, value] : request.headers) sent.set_header(name, value);
  if (!secret.first.empty()) sent.set_header(secret.first, secret.second);
  return sent;
}

HttpOutcome::End end_of(Resolved::End end, bool at_deadline) {
  switch (end) {
    case Resolved::End::found: return HttpOutcome::End::answered;
    case Resolved::End::unknown: return HttpOutcome::End::nameless;
    case Resolved::End::late: return at_deadline ? HttpOutcome::End::late : HttpOutcome::End::nameless;
    case Resolved::End::stopped: return HttpOutcome::End::stopped;
  }
  return HttpOutcome::End::nameless;
}

}  // namespace

HttpOutcome post(const HttpRequest& request, const Header& secret, const HttpLimits& limits,
                 const std::function<bool()>& stop) {
  HttpOutcome outcome;
  auto start = Clock::now();
  auto done = [&](HttpOutcome::End end) {
    outcome.end = end;
    outcome.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
    return std::move(outcome);
  };
  auto resolved = resolve(request.proxy ? request.proxy->host : request.url.host,
                          start + std::min(limits.connect, limits.whole), stop);
  if (resolved.end != Resolved::End::found) return done(end_of(resolved.end, limits.whole <= limits.connect));

  auto sent = request_for(request, secret);
  auto last_byte = start;
  sent.response_handler = [&](const httplib::Response& response) {
    last_byte = Clock::now();
    outcome.status = response.status;
    outcome.content_type = response.get_header_value("Content-Type");
    outcome.content_encoding = response.get_header_value("Content-Encoding");
    outcome.retry_after = response.get_header_value("Retry-After");
    outcome.location = response.get_header_value("Location");
    return true;
  };
  bool too_large = false;
  sent.content_receiver = [&](const char* data, size_t length, uint64_t, uint64_t) {
    last_byte = Clock::now();
    too_large = outcome.body.size() + length > limits.body;
    if (!too_large) outcome.body.append(data, length);
    return !too_large;
  };

  NoSigpipe no_sigpipe;
  Watchdog watchdog(start + limits.whole, stop);
  auto end = HttpOutcome::End::unreachable;
  // A name may have addresses at which nobody listens: localhost is ::1 too.
  for (const auto& address : resolved.addresses) {
    last_byte = Clock::now();
    auto client = client_for(request, address, limits);
    client->set_socket_options([&](auto socket) {
      keep_alive(socket);
      watchdog.guard(socket);
    });
    auto result = client->send(sent);
    // The library tells a closed connection and a silent one alike.
    bool silent = Clock::now() - last_byte >= limits.read - std::chrono::milliseconds(50);
    end = end_of(result.error(), silent);
    // What a proxy says before there is a tunnel comes past the handler.
    if (result && outcome.status == 0) outcome.status = result->status;
    bool connected = end != HttpOutcome::End::unreachable || outcome.status != 0;
    if (connected || watchdog.late() || watchdog.stopped()) break;
  }
  if (too_large) return done(HttpOutcome::End::too_large);
  if (end == HttpOutcome::End::answered) return done(end);
  if (watchdog.late()) return done(HttpOutcome::End::late);
  if (watchdog.stopped()) return done(HttpOutcome::End::stopped);
  return done(end);
}

std::string_view describe(HttpOutcome::End end) {
  switch (end) {
    case HttpOutcome::End::answered: return "the server answered";
    case HttpOutcome::End::nameless: return "no connection: no address was found for the server's name";
    case HttpOutcome::End::unreachable: return "no connection: the server is not there, or refuses";
    case HttpOutcome::End::tls: return "no secure connection: the server's certificate or protocol is not trusted";
    case HttpOutcome::End::closed: return "the server closed the connection before its answer was whole";
    case HttpOutcome::End::silent: return "the server fell silent";
    case HttpOutcome::End::late: return "the answer was not there in time";
    case HttpOutcome::End::too_large: return "the answer is larger than any that is taken";
    case HttpOutcome::End::stopped: return "the request was given up";
  }
  return "";
}

}  // namespace ptxlab::llm
