#include "engine_device.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gpu/element_value.h"
#include "ptx/verifier.h"

namespace ptxlab::played {

using gpu::Address;
using gpu::Trouble;

namespace {

constexpr double kLaunch = 3;               // microseconds
constexpr double kWarpInstruction = 0.004;  // microseconds
constexpr double kMhz = 1500;
constexpr double kHotAfter = 2'000;               // microseconds
constexpr Address kVariables = Address{1} << 62;  // made-up addresses: a slot, a number, a place
constexpr uint64_t kSlotBits = 56, kNumberBits = 32;
constexpr const char* kIllegal = "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered";

}  // namespace

Manners Manners::named(const std::string& words) {
  auto has = [&](const char* word) { return words.find(word) != std::string::npos; };
  return {has("drift"), has("throttle"), has("spikes"), has("restless")};
}

gpu::Hello EngineDevice::hello() const {
  gpu::Hello hello;
  hello.device = "played GPU";
  hello.sm = 90;
  hello.driver = 13000;
  hello.memory = uint64_t{1} << 30;
  hello.sms = 4;
  hello.l2_bytes = l2_bytes();
  hello.driver_version = "played";
  return hello;
}

Trouble EngineDevice::load(gpu::Arm slot, std::string_view code) {
  auto checked = ptx::check(code, "module");
  if (!checked.ok()) return "CUDA_ERROR_INVALID_PTX: " + checked.findings.front().message;
  auto module = std::make_unique<Module>();
  module->text = std::move(checked.module);
  auto program = engine_->load(module->text);
  if (!program) return "CUDA_ERROR_INVALID_PTX: " + program.findings().front().message;
  module->program = std::move(*program);
  modules_.at(static_cast<size_t>(slot)) = std::move(module);
  return std::nullopt;
}

Trouble EngineDevice::variable(gpu::Arm slot, const std::string& name, Address& at, uint64_t& bytes) {
  Module& module = *modules_.at(static_cast<size_t>(slot));
  for (const auto& variable : module.text.variables) {
    if (variable.name != name) continue;
    bytes = variable.bytes();
    module.contents[name].resize(bytes);
    module.variables.push_back(name);
    at = kVariables + (Address{static_cast<uint64_t>(slot)} << kSlotBits) +
         (Address{module.variables.size() - 1} << kNumberBits);
    return std::nullopt;
  }
  return "CUDA_ERROR_NOT_FOUND: named symbol not found";
}

Trouble EngineDevice::allocate(uint64_t bytes, Address& at) {
  if (fault_) return fault_;
  for (size_t i = 0; i < free_.size(); ++i) {
    const auto& allocation = memory_.allocation(i);
    if (!free_[i] || allocation.bytes < bytes || allocation.bytes > 2 * bytes) continue;
    free_[i] = false;
    at = allocation.address;
    return std::nullopt;
  }
  if (memory_.bytes() + bytes > hello().memory) return "CUDA_ERROR_OUT_OF_MEMORY: out of memory";
  size_t index = memory_.allocate("device memory", bytes, launch::ResolvedBuffer::Init::data, true);
  free_.resize(index + 1, false);
  at = memory_.allocation(index).address;
  return std::nullopt;
}

void EngineDevice::release(Address at) {
  if (auto index = memory_.find(at)) free_[*index] = true;
}

uint64_t EngineDevice::free_memory() const {
  uint64_t used = 0;
  for (size_t i = 0; i < free_.size(); ++i) {
    if (!free_[i]) used += memory_.allocation(i).bytes;
  }
  return hello().memory - used;
}

std::span<uint8_t> EngineDevice::bytes_at(Address at, uint64_t bytes) {
  auto index = memory_.find(at);
  if (!index) return {};
  auto& allocation = memory_.allocation(*index);
  uint64_t offset = at - allocation.address;
  if (offset + bytes > allocation.bytes) return {};
  return {allocation.data.data() + offset, bytes};
}

Trouble EngineDevice::fill(Address at, uint8_t value, uint64_t bytes) {
  auto to = bytes_at(at, bytes);
  if (fault_ || to.empty()) return fault_ ? fault_ : kIllegal;
  std::memset(to.data(), value, bytes);
  return std::nullopt;
}

Trouble EngineDevice::copy(Address to, Address from, uint64_t bytes) {
  auto source = bytes_at(from, bytes);
  if (fault_ || source.empty()) return fault_ ? fault_ : kIllegal;
  return write(to, {reinterpret_cast<const char*>(source.data()), bytes});
}

Trouble EngineDevice::write(Address at, std::string_view bytes) {
  if (fault_) return fault_;
  if (at >= kVariables) {
    Module& module = *modules_.at(at >> kSlotBits & 1);
    const std::string& name = module.variables.at(at >> kNumberBits & 0xffff);
    std::string& content = module.contents.at(name);
    content.replace(at & 0xffffffff, bytes.size(), bytes);
    auto wrong = module.program->set_variable(name, {reinterpret_cast<const uint8_t*>(content.data()), content.size()});
    return wrong.empty() ? std::nullopt : Trouble(wrong.front().message);
  }
  auto to = bytes_at(at, bytes.size());
  if (to.empty() && !bytes.empty()) return kIllegal;
  std::copy(bytes.begin(), bytes.end(), to.begin());
  return std::nullopt;
}

Trouble EngineDevice::read(Address at, std::span<char> into) {
  auto from = bytes_at(at, into.size());
  if (fault_ || from.empty()) return fault_ ? fault_ : kIllegal;
  std::copy(from.begin(), from.end(), into.begin());
  return std::nullopt;
}

double EngineDevice::pace() {
  double pace = 1 + 0.001 * random_.normal();
  if (manners_.drift) pace *= 1 + 0.03 * std::sin(time_ / 50'000);
  if (manners_.throttle && time_ > kHotAfter) pace *= 4.0 / 3;
  if (manners_.spikes && launches_ % 20 == 7) pace *= 3;
  if (manners_.restless) pace *= 1 + 0.2 * (2 * random_.uniform() - 1);
  return pace;
}

Trouble EngineDevice::launch(gpu::Arm slot, const launch::ResolvedLaunch& launch, std::span<const uint8_t> parameters) {
  if (fault_) return fault_;
  Module& module = *modules_.at(static_cast<size_t>(slot));
  if (!module.text.function(launch.entry)) return "CUDA_ERROR_NOT_FOUND: named symbol not found";
  launch::ResolvedLaunch one = launch;
  one.parameters.assign(parameters.begin(), parameters.end());
  one.pointers.clear();  // their addresses are among the parameters already
  simt::RunOptions how;
  how.check = simt::CheckLevel::bounds;
  how.seed = ++launches_;
  auto report = module.program->run(one, {}, memory_, how, {});
  time_ += (kLaunch + kWarpInstruction * static_cast<double>(report.warp_instructions)) * pace();
  if (!report.completed)
    fault_ = report.findings.empty() ? kIllegal : "CUDA_ERROR_ILLEGAL_ADDRESS: " + report.findings.front().message;
  return std::nullopt;  // faults come late
}

gpu::ClockReading EngineDevice::reading() const {
  return {static_cast<uint64_t>(time_ * kMhz), static_cast<uint64_t>(time_ * 1000), 0};
}

Trouble EngineDevice::mark(Mark mark) {
  marks_.at(static_cast<size_t>(mark)) = time_;
  return fault_;
}

Trouble EngineDevice::hold() {
  time_ += 1;
  readings_[0] = reading();
  return fault_;
}

Trouble EngineDevice::read_clock() {
  time_ += 1;
  readings_[1] = reading();
  return fault_;
}

Trouble EngineDevice::begin_digest() {
  sum_ = 0;
  return fault_;
}

Trouble EngineDevice::add_digest(Address at, uint64_t bytes, uint64_t first, uint64_t key) {
  auto from = bytes_at(at, bytes);
  if (fault_ || from.empty()) return fault_ ? fault_ : kIllegal;
  sum_ += gpu::digest({reinterpret_cast<const char*>(from.data()), bytes}, first, key);
  return std::nullopt;
}

Trouble EngineDevice::add_unlike(Address at, uint64_t words, uint8_t value) {
  auto from = bytes_at(at, 8 * words);
  if (fault_ || from.empty()) return fault_ ? fault_ : kIllegal;
  sum_ += gpu::unlike({reinterpret_cast<const char*>(from.data()), 8 * words}, value);
  return std::nullopt;
}

Trouble EngineDevice::end_digest(uint64_t& sum) {
  sum = sum_;
  return fault_;
}

Trouble EngineDevice::project(Address at, uint64_t count, gpu::Element type, uint64_t key, gpu::Projection& into) {
  const uint64_t size = type == gpu::Element::f64 ? 8 : type == gpu::Element::f32 ? 4 : 2;
  auto from = bytes_at(at, count * size);
  if (fault_ || from.empty()) return fault_ ? fault_ : kIllegal;
  into = gpu::project(count, key, [&](uint64_t i) { return gpu::element_value(type, from.data(), i); });
  return std::nullopt;
}

gpu::Sensors EngineDevice::sensors() {
  gpu::Sensors sensors;
  const bool hot = manners_.throttle && time_ > kHotAfter;
  sensors.sm_mhz = static_cast<uint32_t>(kMhz);
  sensors.celsius = hot ? 90 : 45;
  sensors.throttle = hot ? 0x40 : 0;
  return sensors;
}

}  // namespace ptxlab::played
