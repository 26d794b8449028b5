// Every legal form of the table, written out with registers, constants, sinks and negations, is accepted by the verifier
// and recognised as a form of its own row's spelling. (That ptxas takes them is tested beside the table.)
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "isa/enumerate.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"

namespace ptxlab::ptx {
namespace {

constexpr isa::PtxVersion kNewest = 90;

TEST(Forms, AllAreAccepted) {
  std::map<std::tuple<isa::PtxVersion, uint16_t, char>, std::vector<std::string>> batches;
  for (const isa::Row& row : isa::rows()) {
    for (const isa::Form& form : isa::forms_of(row, 24)) {
      isa::Setting setting = isa::setting_for(form.gate(), kNewest, 80);
      std::vector<isa::OperandStyle> styles(5);
      styles[1].optional = false;
      styles[2].typed = true;
      styles[3].sink = true;
      styles[4].negate = true;
      for (int i = 0; i < static_cast<int>(row.operands.size()); ++i) {
        if (!form.takes_constant(i)) continue;
        isa::OperandStyle style;
        style.immediate = i;
        styles.push_back(style);
      }
      auto& lines = batches[{setting.version, setting.target.sm, setting.target.suffix}];
      for (const auto& style : styles)
        if (auto text = isa::instruction_text(form, style); !text.empty()) lines.push_back(text);
    }
  }
  size_t total = 0, refused = 0;
  for (const auto& [key, lines] : batches) {
    // Batches small enough that no finding is cut off.
    for (size_t begin = 0; begin < lines.size(); begin += 50) {
      std::vector<std::string> some(lines.begin() + static_cast<ptrdiff_t>(begin),
                                    lines.begin() + static_cast<ptrdiff_t>(std::min(begin + 50, lines.size())));
      uint32_t first_line = 0;
      std::string text = isa::frame(some, std::get<0>(key), {std::get<1>(key), std::get<2>(key)}, first_line);
      Checked checked = check(text, "t.ptx");
      total += some.size();
      for (const auto& finding : checked.findings) {
        if (finding.severity != base::Severity::error) continue;
        if (++refused > 40) continue;
        std::string line = finding.place.line >= first_line && finding.place.line - first_line < some.size()
                               ? some[finding.place.line - first_line]
                               : "outside of the lines";
        ADD_FAILURE() << line << "   # " << finding.code << " " << finding.message;
      }
      for (const auto& function : checked.module.functions)
        for (const auto& statement : function.body)
          if (auto* instruction = statement.instruction(); instruction && checked.ok()) {
            EXPECT_NE(instruction->form.row, nullptr) << print(*instruction, function);
          }
    }
  }
  EXPECT_EQ(refused, 0u) << "of " << total;
  EXPECT_GT(total, 5000u);
}

}  // namespace
}  // namespace ptxlab::ptx
