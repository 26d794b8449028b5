// For tests: a shell script in a temporary folder that plays a tool which crashes, hangs or lies.
#pragma once
#include <filesystem>
#include <fstream>
#include <string>

#include "base/file.h"
#include "toolchain/toolchain.h"

namespace ptxlab::toolchain {

class FakeTool {
 public:
  explicit FakeTool(const std::string& body, const std::string& name = "ptxas") : path_(folder_.path() / name) {
    std::ofstream(path_) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  Tool tool() const { return {path_, "13.0.88", 90}; }
  const std::filesystem::path& folder() const { return folder_.path(); }
  // How often the script was called, if its body says `echo x >> "$0.calls"`.
  size_t calls() const {
    std::ifstream file(path_.string() + ".calls");
    size_t count = 0;
    for (std::string line; std::getline(file, line);) ++count;
    return count;
  }

 private:
  base::TemporaryFolder folder_{"ptxlab-fake"};
  std::filesystem::path path_;
};

}  // namespace ptxlab::toolchain
