// A text under repair: edits are given for the text as it stands and are kept as edits of the original, so that whatever
// nobody touched is the original's own bytes.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace ptxlab::ptx {

// Sorted, and none begins before the end of the one before it: such edits can be applied together. Two insertions at the
// same place are kept in order.
bool apart(const std::vector<base::Edit>& edits);
// `edits` must be `apart`.
std::string edited(std::string_view text, const std::vector<base::Edit>& edits);

class Patch {
 public:
  // `original` must outlive the object.
  explicit Patch(std::string_view original);

  const std::string& text() const { return text_; }
  std::string_view original() const { return original_; }
  // `edits` are places of text(), and `apart`.
  void apply(const std::vector<base::Edit>& edits);
  // What has been done so far, as edits of the original.
  std::vector<base::Edit> edits() const;
  // Where the byte at `offset` of text() stood in the original; for inserted bytes, where they were inserted.
  uint32_t origin(uint32_t offset) const;

 private:
  // Text is pieces of the original and inserted bytes in turn.
  struct Piece {
    bool original;
    base::Span span;   // of the original
    std::string text;  // what was inserted
    uint32_t size() const { return original ? span.size() : static_cast<uint32_t>(text.size()); }
  };
  std::string_view original_;
  std::string text_;
  std::vector<Piece> pieces_;
};

}  // namespace ptxlab::ptx
