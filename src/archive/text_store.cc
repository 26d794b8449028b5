#include "archive/text_store.h"

#include <zstd.h>

#include <cassert>

namespace ptxlab::archive {

std::string compress(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3);
  assert(!ZSTD_isError(size));
  out.resize(size);
  return out;
}

Decompressed decompress(std::string_view bytes, size_t size) {
  Decompressed result;
  result.text.resize(size);
  size_t got = ZSTD_decompress(result.text.data(), size, bytes.data(), bytes.size());
  result.ok = !ZSTD_isError(got) && got == size;
  if (!result.ok) result.text.clear();
  return result;
}

}  // namespace ptxlab::archive
