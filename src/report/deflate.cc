#include "report/deflate.h"

#include <zlib.h>

#include <cassert>

#include "base/base64.h"

namespace ptxlab::report {

std::string deflated(std::string_view bytes) {
  constexpr int kRaw = -15;  // the largest window, and no header
  z_stream stream{};
  [[maybe_unused]] int made = deflateInit2(&stream, 6, Z_DEFLATED, kRaw, 9, Z_DEFAULT_STRATEGY);
  assert(made == Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  [[maybe_unused]] int done = deflate(&stream, Z_FINISH);
  assert(done == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return base::to_base64(packed);
}

}  // namespace ptxlab::report
