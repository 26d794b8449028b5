#include "base/finding_json.h"

#include <nlohmann/json.hpp>

namespace ptxlab::base {

using nlohmann::json;

json to_json(const Finding& finding) {
  json fix = json::array();
  for (const auto& edit : finding.fix) {
    fix.push_back({{"begin", edit.span.begin}, {"end", edit.span.end}, {"text", edit.text}});
  }
  return {{"code", finding.code},           {"severity", name_of(finding.severity)},
          {"file", finding.place.file},     {"line", finding.place.line},
          {"column", finding.place.column}, {"length", finding.place.length},
          {"message", finding.message},     {"hint", finding.hint},
          {"fix", std::move(fix)}};
}

json to_json(const Findings& findings) {
  json list = json::array();
  for (const auto& finding : findings) list.push_back(to_json(finding));
  return list;
}

std::optional<Finding> finding_from_json(const json& object) {
  try {
    Finding finding;
    finding.code = object.at("code").get<std::string>();
    auto severity = object.at("severity").get<std::string>();
    bool known = false;
    for (Severity one : {Severity::note, Severity::warning, Severity::error}) {
      if (severity != name_of(one)) continue;
      finding.severity = one;
      known = true;
    }
    if (!known) return std::nullopt;
    finding.place = {object.value("file", ""), object.value("line", 0u), object.value("column", 0u),
                     object.value("length", 0u)};
    finding.message = object.at("message").get<std::string>();
    finding.hint = object.value("hint", "");
    for (const auto& edit : object.value("fix", json::array())) {
      Span span{edit.at("begin").get<uint32_t>(), edit.at("end").get<uint32_t>()};
      finding.fix.push_back({span, edit.at("text").get<std::string>()});
    }
    return finding;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::string print_json(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

}  // namespace ptxlab::base
