#include "task/files.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace ptxlab::task {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, fs::path>;

constexpr size_t kLargestFile = size_t{1} << 30;
constexpr size_t kMostFiles = 100'000;

}  // namespace

base::Result<Files> files_below(const fs::path& folder) {
  Files files;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->path().filename().string().starts_with(".")) {
      if (entry->is_directory()) entry.disable_recursion_pending();
      continue;
    }
    if (!entry->is_regular_file()) continue;
    files.emplace(entry->path().lexically_relative(folder).string(), entry->path());
    if (files.size() > kMostFiles)
      return base::error_in(folder.string(), "TASK0029", fmt::format("more than {} files", kMostFiles));
  }
  if (error) return base::error_in(folder.string(), "FILE0001", "the folder cannot be read: " + error.message());
  return files;
}

base::Result<Files> files_of(const Task& task) {
  if (!task.user) return files_below(task.folder);
  Files files;
  const auto add = [&](const fs::path& file) {
    const fs::path from_here = file.lexically_relative(task.folder);
    files.emplace(from_here.empty() ? file.filename().string() : from_here.string(), file);
  };
  add(task.file), add(task.kernel), add(task.plan);
  if (task.ptx) add(*task.ptx);
  if (task.reference) add(*task.reference);
  const auto filled = [&](const std::vector<Fill>& fills) {
    for (const auto& fill : fills) {
      if (!fill.file.empty()) add(task.folder / fill.file);
    }
  };
  for (const auto& argument : task.arguments) {
    filled(argument.fills);
    for (const auto& field : argument.fields) filled(field.fills);
  }
  return files;
}

base::Result<std::map<std::string, std::string>> hashes(const Files& files) {
  std::map<std::string, std::string> made;
  for (const auto& [name, file] : files) {
    auto text = base::read_file(file, kLargestFile);
    if (!text) return text.findings();
    made.emplace(name, base::sha256(*text));
  }
  return made;
}

base::Result<std::map<std::string, std::string>> file_hashes(const Task& task) {
  auto files = files_of(task);
  if (!files) return files.findings();
  return hashes(*files);
}

}  // namespace ptxlab::task
