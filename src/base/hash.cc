#include "base/hash.h"

#include <openssl/evp.h>

#include <cassert>

namespace ptxlab::base {

std::string sha256(std::string_view content) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  [[maybe_unused]] int ok = EVP_Digest(content.data(), content.size(), digest, &size, EVP_sha256(), nullptr);
  assert(ok == 1 && size == 32);
  constexpr char kHex[] = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += kHex[digest[i] >> 4];
    hex += kHex[digest[i] & 15];
  }
  return hex;
}

}  // namespace ptxlab::base
