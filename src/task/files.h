// The files that a task is made of, and their hashes: what two runs must share to be of the same task.
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "base/result.h"
#include "task/task.h"

namespace ptxlab::task {

// The files below a folder, by their paths from there. What is hidden is left out: editors' leftovers. Errors: FILE0001 it cannot be
// read, TASK0029 there are too many.
base::Result<std::map<std::string, std::filesystem::path>> files_below(const std::filesystem::path& folder);

// Of a task of the repository all files of its folder; of a user's, which shares its folder with others, those that it names.
base::Result<std::map<std::string, std::filesystem::path>> files_of(const Task& task);

// SHA-256 of each. Errors: FILE0001 besides.
base::Result<std::map<std::string, std::string>> hashes(const std::map<std::string, std::filesystem::path>& files);
base::Result<std::map<std::string, std::string>> file_hashes(const Task& task);

}  // namespace ptxlab::task
