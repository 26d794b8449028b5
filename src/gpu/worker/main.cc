// ptxlab-gpu: the one process that touches the GPU. Greets on stdout, then answers every job on stdin with what became of it,
// until stdin ends or the device is lost. Not for people: ptxlab starts it (src/gpu/worker_client.h).
#include <unistd.h>

#include <cstdio>
#include <string>

#include "gpu/protocol.h"
#include "gpu/worker/session.h"

namespace {

using namespace ptxlab::gpu;

bool write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = write(1, bytes.data(), bytes.size());
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

// False: the other side is gone, or speaks something else.
bool read_exactly(size_t bytes, std::string& into) {
  into.resize(bytes);
  for (size_t at = 0; at < bytes;) {
    ssize_t got = read(0, into.data() + at, bytes - at);
    if (got <= 0) return false;
    at += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

int main() {
  std::string why, bytes;
  auto device = make_cuda_device(why);
  Hello hello;
  if (device) hello = device->hello();
  hello.trouble = why;
  if (!write_all(frame(Kind::hello, encode(hello))) || !device) return device ? 1 : 3;
  while (read_exactly(kFrameHeader, bytes)) {
    auto header = decode_header(bytes);
    if (!header || header->kind != Kind::job || !read_exactly(header->bytes, bytes)) {
      std::fputs("ptxlab-gpu: a frame that is none\n", stderr);
      return 2;
    }
    auto job = decode_job(bytes);
    if (!job) {
      std::fputs("ptxlab-gpu: a job that is none\n", stderr);
      return 2;
    }
    Done done = execute(*device, *job);
    if (!write_all(frame(Kind::done, encode(done)))) return 1;
    if (done.end == Done::End::faulted) _exit(0);  // the context is lost, and tearing it down may hang
  }
  return 0;
}
