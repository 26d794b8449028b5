// One bench run at a time goes on in an archive: two at work on the same run would ask everything twice. The lock is the
// kernel's, so that it ends with the process, however that ends.
#pragma once
#include <filesystem>
#include <utility>

#include "base/result.h"

namespace ptxlab::archive {

class Sole {
 public:
  // Error: ARC0009, somebody else holds it; ARC0001, the file beside the archive cannot be made.
  static base::Result<Sole> take(const std::filesystem::path& archive);
  Sole(Sole&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Sole& operator=(Sole&&) = delete;
  ~Sole();

 private:
  explicit Sole(int file) : file_(file) {}
  int file_;
};

}  // namespace ptxlab::archive
