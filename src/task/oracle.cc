// The reference as a subprocess (reference_program.h): fed the case over stdin, its doubles read from stdout.
#include "task/oracle.h"
#include "base/error.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/narrow_float.h"
#include "base/subprocess.h"
#include "task/reference_program.h"
#include "task/view.h"

namespace ptxlab::task {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

static_assert(std::endian::native == std::endian::little, "cases travel as they lie in memory");

constexpr size_t kElementBytes = 24;
constexpr size_t kMessageBytes = 4000;

base::Finding fault(const char* code, const fs::path& file, std::string message, std::string hint = "") {
  return base::error_in(file.string(), code, std::move(message), std::move(hint));
}

// The message in pieces: inputs of gigabytes are named and not copied.
class Message {
 public:
  void number(uint64_t value) { raw(&value, 8); }
  void real(double value) { raw(&value, 8); }
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  void raw(const void* from, size_t bytes) { bytes_.append(static_cast<const char*>(from), bytes); }
  // As it stands there until the message has been sent.
  void name(std::string_view bytes) {
    named_.push_back({bytes_.size(), bytes});
    size_ += bytes.size();
  }
  size_t size() const { return size_ + bytes_.size(); }
  // Views of this message and of what it names.
  std::vector<std::string_view> pieces() const {
    std::vector<std::string_view> pieces;
    size_t at = 0;
    for (const auto& named : named_) {
      pieces.push_back(std::string_view(bytes_).substr(at, named.after - at));
      pieces.push_back(named.bytes);
      at = named.after;
    }
    pieces.push_back(std::string_view(bytes_).substr(at));
    return pieces;
  }

 private:
  struct Named {
    size_t after;  // this many bytes of the message's own
    std::string_view bytes;
  };
  std::string bytes_;
  std::vector<Named> named_;
  size_t size_ = 0;  // of what is named
};

double scalar_value(const launch::Binding::Scalar& scalar) {
  if (scalar.type == "f64") return std::bit_cast<double>(scalar.bits);
  if (scalar.type == "f32") return std::bit_cast<float>(static_cast<uint32_t>(scalar.bits));
  if (scalar.type == "f16") return base::widen(static_cast<uint32_t>(scalar.bits), base::kF16);
  if (scalar.type == "bf16") return base::widen(static_cast<uint32_t>(scalar.bits), base::kBf16);
  if (scalar.type == "e4m3") return base::widen(static_cast<uint32_t>(scalar.bits), base::kE4m3);
  if (scalar.type == "e5m2") return base::widen(static_cast<uint32_t>(scalar.bits), base::kE5m2);
  return static_cast<double>(scalar.integer);
}

class ReferenceOracle : public Oracle {
 public:
  ReferenceOracle(const Task& task, fs::path program) : task_(task), program_(std::move(program)) {}

  std::string describe() const override { return "reference.cc in double precision"; }

  base::Result<std::vector<Expected>> expected(const CaseData& data, std::string_view output,
                                               std::span<const uint64_t> indices) override {
    uint64_t count = indices.size();
    if (indices.empty()) count = count_of(task_, data, output);
    assert(count > 0 && "an output of the task");
    base::Command command;
    command.argv = {program_.string()};
    const Message message = this->message(data, output, indices, count);
    command.more_input = message.pieces();
    command.limits.wall = seconds(120);
    command.limits.network = false;
    command.limits.address_space = (uint64_t{2} << 30) + 4 * message.size() + 4 * kElementBytes * count;
    command.limits.output = kElementBytes * count + (size_t{1} << 20);
    const base::Outcome outcome = base::run(command);
    if (!outcome.ok()) {
      std::string why = outcome.errors.substr(0, kMessageBytes);
      while (!why.empty() && why.back() == '\n') why.pop_back();
      return fault("ORA0003", *task_.reference,
                   fmt::format("the reference {} at {}{}{}", base::describe(outcome), data.what.label(),
                               why.empty() ? "" : ": ", why));
    }
    if (outcome.output.size() != kElementBytes * count)
      return fault("ORA0003", *task_.reference,
                   fmt::format("the reference printed {} bytes, not {}, at {}", outcome.output.size(),
                               kElementBytes * count, data.what.label()),
                   "a reference sets the elements it is given and prints nothing itself");
    return elements(outcome.output, count, data, output);
  }

 private:
  static uint64_t count_of(const Task& task, const CaseData& data, std::string_view output) {
    const View view = output_view(task, output);
    return elements_of(view, data.binding.buffers[view.buffer].bytes);
  }

  Message message(const CaseData& data, std::string_view output, std::span<const uint64_t> indices,
                  uint64_t count) const {
    Message message;
    message.number(data.binding.parameters.size());
    for (const auto& [name, value] : data.binding.parameters) {
      message.text(name);
      message.number(static_cast<uint64_t>(value));
    }
    message.number(data.binding.scalars.size());
    for (const auto& [name, scalar] : data.binding.scalars) {
      message.text(name);
      message.real(scalar_value(scalar));
    }
    const std::vector<View> inputs = input_views(task_);
    message.number(inputs.size());
    for (const View& view : inputs) {
      std::vector<uint8_t> held;
      if (view.field) held = gather(view, data.inputs[view.buffer]);
      const std::vector<uint8_t>& bytes = view.field ? held : data.inputs[view.buffer];
      const std::vector<int64_t> shape = shape_of(view, data);
      message.text(view.name);
      message.text(isa::name_of(view.type));
      message.number(static_cast<uint64_t>(isa::bytes_of(view.type)));
      message.number(shape.size());
      for (int64_t dim : shape) message.number(static_cast<uint64_t>(dim));
      message.number(bytes.size());
      if (view.field) {
        message.raw(bytes.data(), bytes.size());
      } else {
        message.name({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      }
    }
    message.text(output);
    message.number(indices.empty() ? 0 : 1);
    message.number(count);
    for (uint64_t index : indices) message.number(index);
    return message;
  }

  base::Result<std::vector<Expected>> elements(const std::string& bytes, uint64_t count, const CaseData& data,
                                               std::string_view output) const {
    std::vector<Expected> result(count);
    for (uint64_t i = 0; i < count; ++i) {
      const char* at = bytes.data() + i * kElementBytes;
      std::memcpy(&result[i].value, at, 8);
      std::memcpy(&result[i].magnitude, at + 8, 8);
      std::memcpy(&result[i].integer, at + 16, 8);
      // A magnitude that is no number would let everything pass or nothing.
      if (std::isfinite(result[i].value) && !(result[i].magnitude >= 0 && std::isfinite(result[i].magnitude)))
        return fault("ORA0004", *task_.reference,
                     fmt::format("the reference gives `{}` element {} the magnitude {} at {}", output, i,
                                 result[i].magnitude, data.what.label()),
                     "a magnitude is a finite number, 0 for exact elements");
    }
    return result;
  }

  Task task_;
  fs::path program_;
};

}  // namespace

base::Result<std::unique_ptr<Oracle>> make_reference_oracle(const Task& task) {
  auto program = reference_program(task);
  if (!program) return program.findings();
  return std::unique_ptr<Oracle>(std::make_unique<ReferenceOracle>(task, *program));
}

}  // namespace ptxlab::task
