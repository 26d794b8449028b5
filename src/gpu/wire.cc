#include "gpu/wire.h"

#include <algorithm>

namespace ptxlab::gpu {
namespace {

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

template <class Number>
void write(Writer& out, const std::vector<Number>& numbers) {
  out.number<uint64_t>(numbers.size());
  for (Number number : numbers) out.number(number);
}
template <class Number>
std::vector<Number> read_numbers(Reader& in) {
  std::vector<Number> numbers;
  for (size_t n = in.count(sizeof(Number)); n > 0; --n) numbers.push_back(in.number<Number>());
  return numbers;
}

template <class Enum>
Enum read_enum(Reader& in, Enum last) {
  auto number = in.number<uint8_t>();
  if (number > static_cast<uint8_t>(last)) in.fail();
  return static_cast<Enum>(number);
}

void write(Writer& out, const launch::ResolvedTensorMap& map) {
  out.text(map.name);
  out.number(map.buffer);
  out.number(map.addend);
  out.number(map.type);
  write(out, map.dims);
  write(out, map.strides);
  write(out, map.box);
  write(out, map.element_strides);
  out.number(map.interleave);
  out.number(map.swizzle);
  out.number(map.promotion);
  out.number(map.outside);
}
launch::ResolvedTensorMap read_tensor_map(Reader& in, size_t buffers) {
  using Map = launch::ResolvedTensorMap;
  Map map;
  map.name = in.text();
  map.buffer = in.number<uint32_t>();
  map.addend = in.number<uint64_t>();
  map.type = read_enum(in, Map::Type::tf32_ftz);
  map.dims = read_numbers<uint64_t>(in);
  map.strides = read_numbers<uint64_t>(in);
  map.box = read_numbers<uint32_t>(in);
  map.element_strides = read_numbers<uint32_t>(in);
  map.interleave = read_enum(in, Map::Interleave::bytes32);
  map.swizzle = read_enum(in, Map::Swizzle::bytes128);
  map.promotion = read_enum(in, Map::Promotion::bytes256);
  map.outside = read_enum(in, Map::Outside::nan);
  const size_t rank = map.dims.size();
  bool sane = map.buffer < buffers && rank >= 1 && rank <= Map::kMaxRank && map.strides.size() + 1 == rank &&
              map.box.size() == rank && map.element_strides.size() == rank;
  if (!sane) in.fail();
  return map;
}

void write(Writer& out, const std::vector<launch::TensorMapUse>& uses) {
  out.number<uint64_t>(uses.size());
  for (const auto& use : uses) {
    out.number(use.offset);
    out.number(use.map);
  }
}
// Maps that go into `bytes` bytes.
std::vector<launch::TensorMapUse> read_uses(Reader& in, size_t maps, size_t bytes) {
  std::vector<launch::TensorMapUse> uses;
  for (size_t n = in.count(8); n > 0; --n) {
    launch::TensorMapUse use;
    use.offset = in.number<uint32_t>();
    use.map = in.number<uint32_t>();
    if (use.map >= maps || uint64_t{use.offset} + launch::ResolvedTensorMap::kBytes > bytes) in.fail();
    uses.push_back(use);
  }
  return uses;
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

launch::ResolvedLaunch read_launch(Reader& in, size_t buffers, size_t maps) {
  launch::ResolvedLaunch launch;
  launch.entry = in.text();
  launch.grid = read_dim3(in);
  launch.block = read_dim3(in);
  launch.cluster = read_dim3(in);
  launch.shared_bytes = in.number<uint32_t>();
  launch.cooperative = in.number<uint8_t>() != 0;
  std::string parameters = in.text();
  launch.parameters.assign(parameters.begin(), parameters.end());
  for (size_t n = in.count(4); n > 0; --n) {
    launch.starts.push_back(in.number<uint32_t>());
    if (launch.starts.back() >= launch.parameters.size()) in.fail();
  }
  launch.pointers = read_pointers(in, buffers, launch.parameters.size());
  launch.tensor_maps = read_uses(in, maps, launch.parameters.size());
  return launch;
}

launch::ResolvedSymbol read_symbol(Reader& in, const std::vector<launch::ResolvedBuffer>& buffers, size_t maps) {
  launch::ResolvedSymbol symbol;
  symbol.name = in.text();
  symbol.buffer = in.number<uint32_t>();
  symbol.addend = in.number<uint64_t>();
  symbol.bytes = in.number<uint64_t>();
  std::string value = in.text();
  symbol.value.assign(value.begin(), value.end());
  symbol.pointers = read_pointers(in, buffers.size(), symbol.value.size());
  symbol.tensor_maps = read_uses(in, maps, symbol.value.size());
  if (symbol.buffer == launch::ResolvedSymbol::kNoBuffer) return symbol;
  bool inside = symbol.buffer < buffers.size() && symbol.addend <= buffers[symbol.buffer].bytes &&
                symbol.bytes <= buffers[symbol.buffer].bytes - symbol.addend;
  if (!inside) in.fail();
  return symbol;
}

}  // namespace

std::string joined(const std::vector<Piece>& pieces) {
  size_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.own.size() + piece.named.size();
  std::string whole;
  whole.reserve(bytes);
  for (const auto& piece : pieces) whole.append(piece.own).append(piece.named);
  return whole;
}

void Reader::fetch(size_t bytes) {
  constexpr size_t kAtOnce = 1 << 16;
  std::string held(rest_);
  while (held.size() < bytes && left_ > 0) {
    const size_t before = held.size();
    held.resize(before + std::min<uint64_t>(left_, kAtOnce));
    const size_t got = source_->read(held.data() + before, held.size() - before);
    held.resize(before + got);
    left_ = got == 0 ? 0 : left_ - got;
  }
  held_ = std::move(held);
  rest_ = held_;
}

bool Reader::take(std::span<char> into) {
  const size_t held = std::min(into.size(), rest_.size());
  rest_.copy(into.data(), held);
  rest_.remove_prefix(held);
  for (size_t at = held; at < into.size();) {
    const size_t got = source_->read(into.data() + at, into.size() - at);
    if (got == 0) return fail(), false;
    at += got;
    left_ -= got;
  }
  return true;
}

std::string Reader::text() {
  constexpr uint64_t kReserved = uint64_t{16} << 20;  // at most, before any of it came
  constexpr uint64_t kStep = uint64_t{1} << 20;
  auto size = number<uint64_t>();
  if (size > rest_.size() + left_) return fail(), std::string();
  std::string text;
  text.reserve(std::min(size, kReserved));
  while (text.size() < size) {
    const size_t before = text.size();
    text.resize(before + std::min(size - before, kStep));
    if (!take(std::span(text).subspan(before))) return {};
  }
  return text;
}

// Memory that nobody has touched yet is only spoken for: what was announced and never comes costs nothing.
base::Blob Reader::blob() {
  auto size = number<uint64_t>();
  if (size > rest_.size() + left_) return fail(), base::Blob();
  auto blob = base::Blob::made(size, [&](std::span<char> into) { return take(into); });
  if (!blob) return fail(), base::Blob();
  return std::move(*blob);
}

void write(Writer& out, const launch::ResolvedPlan& plan) {
  out.number<uint64_t>(plan.buffers.size());
  for (const auto& buffer : plan.buffers) {
    out.text(buffer.name);
    out.number(buffer.bytes);
    out.number(buffer.role);
    out.number(buffer.init);
  }
  out.number<uint64_t>(plan.tensor_maps.size());
  for (const auto& map : plan.tensor_maps) write(out, map);
  out.number<uint64_t>(plan.launches.size());
  for (const auto& launch : plan.launches) {
    out.text(launch.entry);
    write(out, launch.grid);
    write(out, launch.block);
    write(out, launch.cluster);
    out.number(launch.shared_bytes);
    out.number<uint8_t>(launch.cooperative);
    out.text({reinterpret_cast<const char*>(launch.parameters.data()), launch.parameters.size()});
    out.number<uint64_t>(launch.starts.size());
    for (uint32_t start : launch.starts) out.number(start);
    write(out, launch.pointers);
    write(out, launch.tensor_maps);
  }
  out.number<uint64_t>(plan.symbols.size());
  for (const auto& symbol : plan.symbols) {
    out.text(symbol.name);
    out.number(symbol.buffer);
    out.number(symbol.addend);
    out.number(symbol.bytes);
    out.text({reinterpret_cast<const char*>(symbol.value.data()), symbol.value.size()});
    write(out, symbol.pointers);
    write(out, symbol.tensor_maps);
  }
}

launch::ResolvedPlan read_plan(Reader& in) {
  launch::ResolvedPlan plan;
  for (size_t n = in.count(18); n > 0; --n) plan.buffers.push_back(read_buffer(in));
  for (size_t n = in.count(57); n > 0; --n) plan.tensor_maps.push_back(read_tensor_map(in, plan.buffers.size()));
  const size_t maps = plan.tensor_maps.size();
  for (size_t n = in.count(81); n > 0; --n) plan.launches.push_back(read_launch(in, plan.buffers.size(), maps));
  for (size_t n = in.count(52); n > 0; --n) plan.symbols.push_back(read_symbol(in, plan.buffers, maps));
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

void write(Writer& out, const std::vector<base::Blob>& blobs) {
  out.number<uint64_t>(blobs.size());
  for (const auto& blob : blobs) out.text(blob);
}
std::vector<base::Blob> read_blobs(Reader& in) {
  std::vector<base::Blob> blobs;
  for (size_t n = in.count(8); n > 0; --n) blobs.push_back(in.blob());
  return blobs;
}

void write(Writer& out, const std::vector<Overrun>& overruns) {
  out.number<uint64_t>(overruns.size());
  for (const auto& overrun : overruns) {
    out.number(overrun.buffer);
    out.number(overrun.offset);
    out.number(overrun.bytes);
  }
}
std::vector<Overrun> read_overruns(Reader& in) {
  std::vector<Overrun> overruns;
  for (size_t n = in.count(20); n > 0; --n) {
    Overrun overrun;
    overrun.buffer = in.number<uint32_t>();
    overrun.offset = in.number<int64_t>();
    overrun.bytes = in.number<uint64_t>();
    overruns.push_back(overrun);
  }
  return overruns;
}

Done::End read_end(Reader& in) { return read_enum(in, Done::End::unlaunched); }

}  // namespace ptxlab::gpu
