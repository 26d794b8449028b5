// An output or an input as a row of elements of one type: a plain buffer as it lies, or one field of an array of
// records, its elements gathered. Comparison, oracles and tolerances work on views ("y", "y.d").
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "task/case.h"
#include "task/task.h"

namespace ptxlab::task {

struct View {
  std::string name;  // "y", or "y.d": the key of its tolerance
  const Argument* argument = nullptr;
  size_t buffer = 0;  // index among the task's buffers
  isa::Type type = isa::Type::none;
  bool field = false;
  uint64_t offset = 0, stride = 0;  // of a field, in bytes
  uint64_t count = 1;               // elements of a record that belong to the field
};

std::string view_name(const Argument& argument, const Field& field);

// In the order of the arguments and fields. They point into `task`.
std::vector<View> output_views(const Task& task);
std::vector<View> input_views(const Task& task);
// An output's view by its name, which exists.
View output_view(const Task& task, std::string_view name);

// The view's elements as contiguous bytes, of a buffer's bytes or of its definedness (a byte a byte).
std::vector<uint8_t> gather(const View& view, std::span<const uint8_t> buffer);
uint64_t elements_of(const View& view, uint64_t buffer_bytes);
// The buffer's shape, with the field's count as a last dimension where that is more than 1.
std::vector<int64_t> shape_of(const View& view, const CaseData& data);

}  // namespace ptxlab::task
