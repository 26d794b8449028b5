#include "gpu/protocol.h"

#include <cstring>
#include <type_traits>

namespace ptxlab::gpu {
namespace {

constexpr uint32_t kMark = 0x67787470;  // "ptxg"

// --- bytes out and in -----------------------------------------------------------------------------------------------------

class Writer {
 public:
  template <class T>
  void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);  // x86-64 is little-endian
    out_.append(bytes, sizeof value);
  }
  void text(std::string_view text) {
    number<uint64_t>(text.size());
    out_.append(text);
  }
  std::string take() && { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  T number() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (rest_.size() < sizeof value) return fail(), value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    auto size = number<uint64_t>();
    if (size > rest_.size()) return fail(), std::string();
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  // How many elements follow, each of at least `least` bytes: no count makes us allocate more than was sent.
  size_t count(size_t least) {
    auto count = number<uint64_t>();
    if (count > rest_.size() / least) return fail(), 0;
    return count;
  }
  bool complete() const { return ok_ && rest_.empty(); }
  void fail() {
    ok_ = false;
    rest_ = {};
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

// --- the plan ---------------------------------------------------------------------------------------------------------------

void write(Writer& out, const launch::Dim3& size) {
  for (uint32_t n : size) out.number(n);
}
launch::Dim3 read_dim3(Reader& in) {
  launch::Dim3 size{};
  for (uint32_t& n : size) n = in.number<uint32_t>();
  return size;
}

void write(Writer& out, const std::vector<launch::Relocation>& pointers) {
  out.number<uint64_t>(pointers.size());
  for (const auto& pointer : pointers) {
    out.number(pointer.offset);
    out.number(pointer.buffer);
    out.number(pointer.addend);
  }
}
// Addresses that go into `bytes` bytes.
std::vector<launch::Relocation> read_pointers(Reader& in, size_t buffers, size_t bytes) {
  std::vector<launch::Relocation> pointers;
  for (size_t n = in.count(16); n > 0; --n) {
    launch::Relocation pointer;
    pointer.offset = in.number<uint32_t>();
    pointer.buffer = in.number<uint32_t>();
    pointer.addend = in.number<uint64_t>();
    if (pointer.buffer >= buffers || uint64_t{pointer.offset} + 8 > bytes) in.fail();
    pointers.push_back(pointer);
  }
  return pointers;
}

void write(Writer& out, const launch::ResolvedPlan& plan) {
  out.number<uint64_t>(plan.buffers.size());
  for (const auto& buffer : plan.buffers) {
    out.text(buffer.name);
    out.number(buffer.bytes);
    out.number(buffer.role);
    out.number(buffer.init);
  }
  out.number<uint64_t>(plan.launches.size());
  for (const auto& launch : plan.launches) {
    out.text(launch.entry);
    write(out, launch.grid);
    write(out, launch.block);
    write(out, launch.cluster);
    out.number(launch.shared_bytes);
    out.number<uint8_t>(launch.cooperative);
    out.text({reinterpret_cast<const char*>(launch.parameters.data()), launch.parameters.size()});
    write(out, launch.pointers);
  }
  out.number<uint64_t>(plan.symbols.size());
  for (const auto& symbol : plan.symbols) {
    out.text(symbol.name);
    out.number(symbol.buffer);
    out.number(symbol.addend);
    out.number(symbol.bytes);
    out.text({reinterpret_cast<const char*>(symbol.value.data()), symbol.value.size()});
    write(out, symbol.pointers);
  }
}

launch::ResolvedBuffer read_buffer(Reader& in) {
  using Role = launch::ResolvedBuffer::Role;
  using Init = launch::ResolvedBuffer::Init;
  launch::ResolvedBuffer buffer;
  buffer.name = in.text();
  buffer.bytes = in.number<uint64_t>();
  auto role = in.number<uint8_t>(), init = in.number<uint8_t>();
  if (role > static_cast<uint8_t>(Role::scratch) || init > static_cast<uint8_t>(Init::zero)) in.fail();
  buffer.role = static_cast<Role>(role);
  buffer.init = static_cast<Init>(init);
  return buffer;
}

launch::ResolvedLaunch read_launch(Reader& in, size_t buffers) {
  launch::ResolvedLaunch launch;
  launch.entry = in.text();
  launch.grid = read_dim3(in);
  launch.block = read_dim3(in);
  launch.cluster = read_dim3(in);
  launch.shared_bytes = in.number<uint32_t>();
  launch.cooperative = in.number<uint8_t>() != 0;
  std::string parameters = in.text();
  launch.parameters.assign(parameters.begin(), parameters.end());
  launch.pointers = read_pointers(in, buffers, launch.parameters.size());
  return launch;
}

launch::ResolvedSymbol read_symbol(Reader& in, const std::vector<launch::ResolvedBuffer>& buffers) {
  launch::ResolvedSymbol symbol;
  symbol.name = in.text();
  symbol.buffer = in.number<uint32_t>();
  symbol.addend = in.number<uint64_t>();
  symbol.bytes = in.number<uint64_t>();
  std::string value = in.text();
  symbol.value.assign(value.begin(), value.end());
  symbol.pointers = read_pointers(in, buffers.size(), symbol.value.size());
  if (symbol.buffer == launch::ResolvedSymbol::kNoBuffer) return symbol;
  bool inside = symbol.buffer < buffers.size() && symbol.addend <= buffers[symbol.buffer].bytes &&
                symbol.bytes <= buffers[symbol.buffer].bytes - symbol.addend;
  if (!inside) in.fail();
  return symbol;
}

launch::ResolvedPlan read_plan(Reader& in) {
  launch::ResolvedPlan plan;
  for (size_t n = in.count(18); n > 0; --n) plan.buffers.push_back(read_buffer(in));
  for (size_t n = in.count(65); n > 0; --n) plan.launches.push_back(read_launch(in, plan.buffers.size()));
  for (size_t n = in.count(44); n > 0; --n) plan.symbols.push_back(read_symbol(in, plan.buffers));
  return plan;
}

void write(Writer& out, const std::vector<std::string>& texts) {
  out.number<uint64_t>(texts.size());
  for (const auto& text : texts) out.text(text);
}
std::vector<std::string> read_texts(Reader& in) {
  std::vector<std::string> texts;
  for (size_t n = in.count(8); n > 0; --n) texts.push_back(in.text());
  return texts;
}

}  // namespace

std::string encode(const Hello& hello) {
  Writer out;
  out.number(hello.protocol);
  out.text(hello.trouble);
  out.text(hello.device);
  out.number(hello.sm);
  out.number(hello.driver);
  out.number(hello.memory);
  return std::move(out).take();
}

std::optional<Hello> decode_hello(std::string_view bytes) {
  Reader in(bytes);
  Hello hello;
  hello.protocol = in.number<uint32_t>();
  hello.trouble = in.text();
  hello.device = in.text();
  hello.sm = in.number<uint32_t>();
  hello.driver = in.number<uint32_t>();
  hello.memory = in.number<uint64_t>();
  if (!in.complete()) return std::nullopt;
  return hello;
}

std::string encode(const Job& job) {
  Writer out;
  out.text(job.code);
  write(out, job.plan);
  write(out, job.contents);
  out.number(job.launches);
  out.number(job.poison);
  out.number(job.guard);
  return std::move(out).take();
}

std::optional<Job> decode_job(std::string_view bytes) {
  Reader in(bytes);
  Job job;
  job.code = in.text();
  job.plan = read_plan(in);
  job.contents = read_texts(in);
  job.launches = in.number<uint32_t>();
  job.poison = in.number<uint8_t>();
  job.guard = in.number<uint32_t>();
  if (!in.complete() || job.contents.size() != job.plan.buffers.size()) return std::nullopt;
  return job;
}

std::string encode(const Done& done) {
  Writer out;
  out.number(done.end);
  out.text(done.message);
  out.number(done.launch);
  write(out, done.contents);
  out.number<uint64_t>(done.overruns.size());
  for (const auto& overrun : done.overruns) {
    out.number(overrun.buffer);
    out.number(overrun.offset);
    out.number(overrun.bytes);
  }
  out.number(done.milliseconds);
  return std::move(out).take();
}

std::optional<Done> decode_done(std::string_view bytes) {
  Reader in(bytes);
  Done done;
  auto end = in.number<uint8_t>();
  if (end > static_cast<uint8_t>(Done::End::trouble)) return std::nullopt;
  done.end = static_cast<Done::End>(end);
  done.message = in.text();
  done.launch = in.number<uint32_t>();
  done.contents = read_texts(in);
  for (size_t n = in.count(20); n > 0; --n) {
    Overrun overrun;
    overrun.buffer = in.number<uint32_t>();
    overrun.offset = in.number<int64_t>();
    overrun.bytes = in.number<uint64_t>();
    done.overruns.push_back(overrun);
  }
  done.milliseconds = in.number<double>();
  if (!in.complete()) return std::nullopt;
  return done;
}

std::string frame(Kind kind, std::string_view payload) {
  Writer out;
  out.number(kMark);
  out.number(kind);
  out.number<uint64_t>(payload.size());
  std::string whole = std::move(out).take();
  whole.append(payload);
  return whole;
}

std::optional<FrameHeader> decode_header(std::string_view bytes) {
  Reader in(bytes);
  auto mark = in.number<uint32_t>(), kind = in.number<uint32_t>();
  auto size = in.number<uint64_t>();
  if (!in.complete() || mark != kMark || kind < 1 || kind > 3 || size > kMaxFrame) return std::nullopt;
  return FrameHeader{static_cast<Kind>(kind), size};
}

}  // namespace ptxlab::gpu
