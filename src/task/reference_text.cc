#include "task/reference_text.h"

// The assembler puts the file's bytes between two symbols.
asm(R"(
    .section .rodata
    .global ptxlab_reference_begin
    .global ptxlab_reference_end
ptxlab_reference_begin:
    .incbin ")" PTXLAB_REFERENCE_H R"("
ptxlab_reference_end:
    .byte 0
    .text
)");

extern "C" const char ptxlab_reference_begin[], ptxlab_reference_end[];

namespace ptxlab::task {

std::string_view reference_header() {
  return {ptxlab_reference_begin, static_cast<size_t>(ptxlab_reference_end - ptxlab_reference_begin)};
}

}  // namespace ptxlab::task
