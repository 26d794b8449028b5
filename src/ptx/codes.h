// Every finding of this room with its code and a line of meaning: the one list, also for explaining a code to a reader.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ptxlab::ptx {

// X(number, name, meaning). Numbers never change once published; 00xx text, 01xx declarations and names, 02xx
// instructions against the table, 03xx operands, 04xx addresses and memory, 05xx calls and linking, 06xx versions and targets, 07xx legal
// and suspicious.
#define PTXLAB_PTX_CODES(X)                                                                                \
  X(1, bad_character, "bytes that cannot stand in PTX")                                                    \
  X(2, unterminated_comment, "a /* comment without its end")                                               \
  X(3, unterminated_string, "a string without its closing quote")                                          \
  X(4, bad_number, "a malformed number")                                                                   \
  X(5, number_too_large, "an integer that does not fit in 64 bits")                                        \
  X(6, unexpected_token, "something else was expected here")                                               \
  X(7, missing_semicolon, "a statement without its ';'")                                                   \
  X(8, unexpected_end, "the text ends inside a declaration, a statement or a body")                        \
  X(9, too_deep, "an expression or initialiser nested too deeply")                                         \
  X(10, too_large, "the text is too large to be read")                                                     \
  X(11, too_many_findings, "the list of findings was cut off")                                             \
  X(12, unbalanced_brace, "a '}' without its '{'")                                                         \
  X(13, missing_at, "a guard without its '@'")                                                             \
  X(14, missing_comma, "two operands or names without the ',' between them")                               \
  X(20, missing_version, "a module begins with .version")                                                  \
  X(21, missing_target, ".target follows .version")                                                        \
  X(22, bad_version, "a PTX version that is malformed or unknown")                                         \
  X(23, bad_target, "a .target that is unknown")                                                           \
  X(24, bad_address_size, "an .address_size other than 64")                                                \
  X(25, unknown_directive, "a directive that PTX does not have")                                           \
  X(26, misplaced_directive, "a directive that may not stand here")                                        \
  X(27, bad_directive, "a directive with malformed or illegal arguments")                                  \
  X(100, undeclared_register, "a register that no .reg declares")                                          \
  X(101, beyond_bank, "a register beyond the end of its bank")                                             \
  X(102, undeclared_name, "a name that nothing declares")                                                  \
  X(103, duplicate_declaration, "a name declared twice in the same scope")                                 \
  X(104, undefined_label, "a branch target that is not in this function")                                  \
  X(105, duplicate_label, "a label defined twice in the same scope")                                       \
  X(106, bad_declaration, "a declaration whose type, size, alignment or initialiser is illegal")           \
  X(108, conflicting_prototype, "two declarations of a function that differ")                              \
  X(109, hides_special_register, "a register that hides a special register")                               \
  X(200, unknown_opcode, "an opcode that PTX does not have")                                               \
  X(201, opcode_not_in_table, "an opcode that this version of the table does not describe")                \
  X(202, bad_modifier, "a modifier that the instruction does not have, or a combination that it does not") \
  X(203, missing_type, "an instruction without its type")                                                  \
  X(204, lax_form, "a form that PTX does not have, although ptxas takes it")                               \
  X(205, register_index, "an array indexed by a register")                                                 \
  X(206, vector_place, "a vector length that does not stand before its type")                              \
  X(300, operand_count, "too few or too many operands")                                                    \
  X(301, operand_kind, "an operand of a kind that the instruction does not take there")                    \
  X(302, register_width, "a register whose width differs from the instruction's type")                     \
  X(303, register_kind, "a register whose type does not go with the instruction's type")                   \
  X(304, guard_not_predicate, "a guard that is not a .pred register")                                      \
  X(305, special_register_width, "a special register read at another width than its own")                  \
  X(306, vector_length, "a vector operand with the wrong number of elements")                              \
  X(307, immediate_truncated, "an immediate that does not fit in the type and loses its upper bits")       \
  X(308, immediate_kind, "an integer where a floating constant is needed, or the reverse")                 \
  X(309, immediate_range, "an immediate outside of what the instruction takes")                            \
  X(310, negation, "a '!' where the instruction takes none")                                               \
  X(311, component, "a component that the register does not have")                                         \
  X(312, sink, "a '_' where the instruction takes none")                                                   \
  X(400, wrong_space, "a variable used in another state space than its own")                               \
  X(401, read_only_space, "a store to memory that cannot be written")                                      \
  X(402, out_of_bounds, "a known offset outside of the variable")                                          \
  X(403, misaligned, "a known offset that is not aligned for the access")                                  \
  X(404, bad_address, "an address that the instruction cannot use")                                        \
  X(500, argument_count, "a call with another number of arguments than the function has")                  \
  X(501, unresolved_extern, "an external function or variable that nothing defines")                       \
  X(502, missing_prototype, "an indirect call without its prototype or targets")                           \
  X(503, argument_size, "a call argument that does not fit its parameter")                                 \
  X(504, undefined_function, "a function that is declared, called and never defined")                      \
  X(600, gate, "an instruction or directive that needs a newer PTX version or another target")             \
  X(601, target_needs_version, "a target that is newer than the module's PTX version")                     \
  X(700, narrow_product, "an offset multiplied in 32 bits and widened afterwards")                         \
  X(701, unused_parameter, "a kernel's parameter that nothing reads")                                      \
  X(702, kept_state, "a module's variable that is read before it is written: state that launches hand on") \
  X(703, register_overflow, "more registers than a thread can have")                                       \
  X(704, unknown_pragma, "a pragma that PTX does not have, and that says nothing")

enum class Code : uint16_t {
#define PTXLAB_ENUMERATOR(number, name, meaning) name = number,
  PTXLAB_PTX_CODES(PTXLAB_ENUMERATOR)
#undef PTXLAB_ENUMERATOR
};

struct CodeInfo {
  Code code;
  std::string_view name;     // "beyond_bank"
  std::string_view meaning;  // one line
};

inline constexpr CodeInfo kCodes[] = {
#define PTXLAB_ROW(number, name, meaning) {Code::name, #name, meaning},
    PTXLAB_PTX_CODES(PTXLAB_ROW)
#undef PTXLAB_ROW
};

// "PTX0101".
std::string spelling(Code code);

// The closed list of errors that ptxas is known not to share: it is too lax there, or takes what is not read here. Any other error of check on a module that
// ptxas takes is a disagreement, and so a fault of ours.
constexpr bool ptxas_is_laxer(std::string_view code) { return code == "PTX0204" || code == "PTX0205"; }

}  // namespace ptxlab::ptx
