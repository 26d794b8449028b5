#include "gpu/protocol.h"

#include "gpu/wire.h"

namespace ptxlab::gpu {
namespace {

constexpr uint32_t kMark = 0x67787470;  // "ptxg"

}  // namespace

void write(Writer& out, const Hello& hello) {
  out.number(hello.protocol);
  out.text(hello.trouble);
  out.text(hello.device);
  out.number(hello.sm);
  out.number(hello.driver);
  out.number(hello.memory);
  out.number(hello.sms);
  out.number(hello.l2_bytes);
  out.text(hello.driver_version);
  write(out, hello.warnings);
}

bool read(Reader& in, Hello& hello) {
  hello.protocol = in.number<uint32_t>();
  hello.trouble = in.text();
  hello.device = in.text();
  hello.sm = in.number<uint32_t>();
  hello.driver = in.number<uint32_t>();
  hello.memory = in.number<uint64_t>();
  hello.sms = in.number<uint32_t>();
  hello.l2_bytes = in.number<uint64_t>();
  hello.driver_version = in.text();
  hello.warnings = read_texts(in);
  return in.complete();
}

void write(Writer& out, const Job& job) {
  out.text(job.code);
  write(out, job.plan);
  write(out, job.contents);
  out.number(job.launches);
  out.number(job.poison);
  out.number(job.guard);
  out.number<uint8_t>(job.keep_module);
}

bool read(Reader& in, Job& job) {
  job.code = in.text();
  job.plan = read_plan(in);
  job.contents = read_texts(in);
  job.launches = in.number<uint32_t>();
  job.poison = in.number<uint8_t>();
  job.guard = in.number<uint32_t>();
  job.keep_module = in.number<uint8_t>() != 0;
  return in.complete() && job.contents.size() == job.plan.buffers.size();
}

void write(Writer& out, const Done& done) {
  out.number(done.end);
  out.text(done.message);
  out.number(done.launch);
  write(out, done.contents);
  write(out, done.overruns);
  out.number(done.milliseconds);
}

bool read(Reader& in, Done& done) {
  done.end = read_end(in);
  done.message = in.text();
  done.launch = in.number<uint32_t>();
  done.contents = read_texts(in);
  done.overruns = read_overruns(in);
  done.milliseconds = in.number<double>();
  return in.complete();
}

std::string frame_header(Kind kind, uint64_t bytes) {
  Writer out;
  out.number(kMark);
  out.number(kind);
  out.number(bytes);
  return joined(std::move(out).take());
}

std::optional<FrameHeader> decode_header(std::string_view bytes) {
  Reader in(bytes);
  auto mark = in.number<uint32_t>(), kind = in.number<uint32_t>();
  auto size = in.number<uint64_t>();
  if (!in.complete() || mark != kMark || kind < 1 || kind > static_cast<uint32_t>(Kind::measured) || size > kMaxFrame)
    return std::nullopt;
  return FrameHeader{static_cast<Kind>(kind), size};
}

}  // namespace ptxlab::gpu
