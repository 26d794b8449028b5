// Every legal form of the table, written out, against the engine: what it does not execute is named here, by opcode, so that
// nothing goes missing in silence and a form that gets a handler leaves the list.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "isa/enumerate.h"
#include "ptx/verifier.h"
#include "simt/engine.h"

namespace ptxlab::simt {
namespace {

constexpr isa::PtxVersion kNewest = 90;

// Lines by the setting that admits them, so that one module holds many.
using Batches = std::map<std::pair<isa::PtxVersion, std::string>, std::pair<isa::Setting, std::vector<std::string>>>;

Batches all_forms(size_t each) {
  Batches batches;
  for (const isa::Row& row : isa::rows()) {
    for (const isa::Form& form : isa::forms_of(row, each)) {
      isa::Setting setting = isa::setting_for(form.gate(), kNewest, 90);
      auto& [where, lines] = batches[{setting.version, setting.target.name()}];
      where = setting;
      for (isa::OperandStyle style : {isa::OperandStyle{}, isa::OperandStyle{.optional = false},
                                      isa::OperandStyle{.sink = true}, isa::OperandStyle{.negate = true}})
        if (std::string text = isa::instruction_text(form, style);
            !text.empty() && (lines.empty() || lines.back() != text))
          lines.push_back(text);
    }
  }
  return batches;
}

// What the spelling of a form without a handler begins with.
constexpr std::string_view kNotExecuted[] = {
    "wgmma.",
    "tcgen05.",
    "mbarrier.",
    "cp.async.bulk",
    "cp.async.mbarrier",
    "cp.reduce",
    "multimem.",
    "tensormap.",
    "tex.",
    "tld4.",
    "txq.",
    "suld.",
    "sust.",
    "sured.",
    "suq.",
    "istypep.",
    "clusterlaunchcontrol.",
    "barrier.cluster.",
    "st.async",
    "red.async",
    "st.bulk",
    "mma.sp",
    "cvt.rs.",
    "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4",
    "ldmatrix.sync.aligned.m16n16",
    "stmatrix.sync.aligned.m16n8",
    "setmaxnreg",
    "mapa",
    "getctarank",
};

TEST(Forms, WhatIsNotExecutedIsNamed) {
  std::map<std::string_view, size_t> named;
  std::map<std::string, std::string> surprises;  // an example of each name
  for (auto& [key, batch] : all_forms(200)) {
    auto& [setting, lines] = batch;
    for (size_t at = 0; at < lines.size(); at += 500) {
      std::vector<std::string> some(lines.begin() + static_cast<std::ptrdiff_t>(at),
                                    lines.begin() + static_cast<std::ptrdiff_t>(std::min(at + 500, lines.size())));
      uint32_t first_line = 0;
      std::string text = isa::frame(some, setting.version, setting.target, first_line);
      ptx::Checked checked = ptx::check(text, "forms.ptx");
      ASSERT_TRUE(checked.ok()) << base::render(checked.findings, text);
      auto program = make_simt_engine()->load(checked.module);
      if (program.ok()) continue;
      for (const base::Finding& finding : program.findings()) {
        const std::string& line = some.at(finding.place.line - first_line);
        auto name = std::find_if(std::begin(kNotExecuted), std::end(kNotExecuted),
                                 [&](std::string_view prefix) { return line.starts_with(prefix); });
        if (name != std::end(kNotExecuted)) {
          ++named[*name];
        } else {
          surprises.try_emplace(line.substr(0, line.find_first_of(" .;")), line + "  # " + finding.message);
        }
      }
    }
  }
  for (const auto& [opcode, line] : surprises) ADD_FAILURE() << line;
  for (std::string_view name : kNotExecuted)
    EXPECT_GT(named[name], 0u) << name << " is executed: take it from the list";
}

}  // namespace
}  // namespace ptxlab::simt
