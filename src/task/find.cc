// Tasks by name, by folder or by file.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "task/task.h"

namespace ptxlab::task {
namespace {

namespace fs = std::filesystem;

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

base::Finding no_task(std::string message, std::string hint) {
  return base::error("TASK0007", std::move(message), std::move(hint));
}

fs::path beside(const fs::path& kernel, const char* end) {
  return kernel.parent_path() / (kernel.stem().string() + end);
}

}  // namespace

fs::path task_file_of(const fs::path& kernel) { return beside(kernel, ".task.toml"); }
fs::path plan_file_of(const fs::path& kernel) { return beside(kernel, ".plan.toml"); }

std::vector<std::string> list_tasks(const fs::path& root) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& family : fs::directory_iterator(root, ignored)) {
    if (!family.is_directory(ignored)) continue;
    for (const auto& task : fs::directory_iterator(family.path(), ignored)) {
      if (fs::is_regular_file(task.path() / "task.toml", ignored))
        names.push_back(family.path().filename().string() + "/" + task.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

base::Result<Task> find_task(std::string_view word, const fs::path& root) {
  const fs::path path{std::string(word)};
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) {
    const std::string name = path.filename().string();
    if (name == "task.toml" || ends_with(name, ".task.toml")) return read_task(path);
    return no_task(fmt::format("`{}` is no task", word),
                   "a task is a name, a folder with a task.toml, or a file NAME.task.toml");
  }
  if (fs::is_regular_file(path / "task.toml", ignored)) return read_task(path / "task.toml");
  if (!path.is_absolute() && fs::is_regular_file(root / path / "task.toml", ignored))
    return read_task(root / path / "task.toml");
  const std::vector<std::string> names = list_tasks(root);
  std::string hint = base::nearest(word, names);
  if (!hint.empty()) {
    hint = fmt::format("did you mean `{}`?", hint);
  } else {
    // A name without its family.
    for (const std::string& name : names)
      if (ends_with(name, std::string("/").append(word))) hint = fmt::format("did you mean `{}`?", name);
  }
  if (hint.empty())
    hint = names.empty() ? fmt::format("there are no tasks under `{}`", root.string())
                         : fmt::format("`tasks list` shows all {}", names.size());
  return no_task(fmt::format("there is no task `{}`", word), std::move(hint));
}

}  // namespace ptxlab::task
