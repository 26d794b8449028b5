#include "task/view.h"

#include <cassert>
#include <cstring>

namespace ptxlab::task {
namespace {

template <class Wanted>
std::vector<View> views(const Task& task, Wanted wanted) {
  std::vector<View> result;
  size_t buffer = 0;
  for (const Argument& argument : task.arguments) {
    if (!argument.buffer()) continue;
    const size_t index = buffer++;
    if (!wanted(argument)) continue;
    if (!argument.record()) {
      result.push_back({argument.name, &argument, index, argument.type, false, 0, 0, 1});
      continue;
    }
    for (const Field& field : argument.fields)
      result.push_back({view_name(argument, field), &argument, index, field.type, true, field.offset,
                        argument.field_bytes, static_cast<uint64_t>(field.count)});
  }
  return result;
}

}  // namespace

std::string view_name(const Argument& argument, const Field& field) { return argument.name + "." + field.name; }

std::vector<View> output_views(const Task& task) {
  return views(task, [](const Argument& argument) { return argument.output(); });
}
std::vector<View> input_views(const Task& task) {
  return views(task, [](const Argument& argument) { return argument.kind != Argument::Kind::out; });
}

View output_view(const Task& task, std::string_view name) {
  for (View& view : output_views(task))
    if (view.name == name) return view;
  assert(false && "an output of the task");
  return {};
}

std::vector<uint8_t> gather(const View& view, std::span<const uint8_t> buffer) {
  if (!view.field) return {buffer.begin(), buffer.end()};
  const uint64_t width = view.count * static_cast<uint64_t>(isa::bytes_of(view.type)),
                 records = buffer.size() / view.stride;
  std::vector<uint8_t> bytes(records * width);
  for (uint64_t i = 0; i < records; ++i)
    std::memcpy(bytes.data() + i * width, buffer.data() + i * view.stride + view.offset, width);
  return bytes;
}

uint64_t elements_of(const View& view, uint64_t buffer_bytes) {
  return view.field ? buffer_bytes / view.stride * view.count
                    : buffer_bytes / static_cast<uint64_t>(isa::bytes_of(view.type));
}

std::vector<int64_t> shape_of(const View& view, const CaseData& data) {
  std::vector<int64_t> shape = data.shapes[view.buffer];
  if (!view.field) return shape;
  shape.pop_back();  // the record's bytes
  if (view.count > 1) shape.push_back(static_cast<int64_t>(view.count));
  return shape;
}

}  // namespace ptxlab::task
