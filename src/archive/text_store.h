// Texts by content: each is kept once, under the SHA-256 of its bytes, compressed by zstd.
#pragma once
#include <string>
#include <string_view>

namespace ptxlab::archive {

// zstd level 3. decompress() gives nothing back ("") only for an empty text; damaged bytes are reported by `ok`.
std::string compress(std::string_view text);
struct Decompressed {
  std::string text;
  bool ok = false;
};
Decompressed decompress(std::string_view bytes, size_t size);

}  // namespace ptxlab::archive
