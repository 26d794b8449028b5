#include "ptx/patch.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace ptxlab::ptx {

bool apart(const std::vector<base::Edit>& edits) {
  for (size_t i = 1; i < edits.size(); ++i)
    if (edits[i].span.begin < edits[i - 1].span.end) return false;
  return true;
}

std::string edited(std::string_view text, const std::vector<base::Edit>& edits) {
  assert(apart(edits));
  std::string out;
  size_t at = 0;
  for (const auto& edit : edits) {
    out += text.substr(at, edit.span.begin - at);
    out += edit.text;
    at = edit.span.end;
  }
  out += text.substr(at);
  return out;
}

Patch::Patch(std::string_view original) : original_(original), text_(original) {
  pieces_.push_back({true, {0, static_cast<uint32_t>(original.size())}, ""});
}

void Patch::apply(const std::vector<base::Edit>& edits) {
  text_ = edited(text_, edits);
  std::vector<Piece> made;
  size_t next = 0;       // the edit at hand
  uint32_t at = 0;       // where the piece at hand begins in the text before
  uint32_t removed = 0;  // up to here the text before is gone
  auto insert_up_to = [&](uint32_t place, bool last) {
    for (; next < edits.size() && (edits[next].span.begin < place || (last && edits[next].span.begin == place));
         ++next) {
      if (!edits[next].text.empty()) made.push_back({false, {}, edits[next].text});
      removed = edits[next].span.end;
    }
  };
  for (Piece& piece : pieces_) {
    uint32_t end = at + piece.size();
    uint32_t from = at;
    while (from < end) {
      // The next edit that begins inside this piece, or its end.
      if (removed > from) {
        from = std::min(removed, end);
        continue;
      }
      uint32_t until = next < edits.size() ? std::min(edits[next].span.begin, end) : end;
      if (until > from) {
        Piece part = piece;
        if (piece.original) {
          part.span = {piece.span.begin + (from - at), piece.span.begin + (until - at)};
        } else {
          part.text = piece.text.substr(from - at, until - from);
        }
        made.push_back(std::move(part));
      }
      from = until;
      if (from < end) insert_up_to(from + 1, false);
    }
    at = end;
  }
  insert_up_to(at, true);
  pieces_ = std::move(made);
}

std::vector<base::Edit> Patch::edits() const {
  std::vector<base::Edit> edits;
  uint32_t at = 0;
  std::string inserted;
  auto flush = [&](uint32_t until) {
    if (until > at || !inserted.empty()) edits.push_back({{at, until}, std::exchange(inserted, {})});
  };
  for (const Piece& piece : pieces_) {
    if (!piece.original) {
      inserted += piece.text;
      continue;
    }
    flush(piece.span.begin);
    at = piece.span.end;
  }
  flush(static_cast<uint32_t>(original_.size()));
  return edits;
}

uint32_t Patch::origin(uint32_t offset) const {
  uint32_t at = 0, place = 0;
  for (const Piece& piece : pieces_) {
    if (piece.original) {
      if (offset < at + piece.size()) return piece.span.begin + (offset - at);
      place = piece.span.end;
    } else if (offset < at + piece.size()) {
      return place;
    }
    at += piece.size();
  }
  return place;
}

}  // namespace ptxlab::ptx
