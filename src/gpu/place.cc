#include "gpu/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ptxlab::gpu {
namespace {

base::Finding wrong(std::string_view word, std::string why) {
  base::Finding made;
  made.code = "GPU0020";
  made.message = fmt::format("'{}' says no GPU: {}", word, why);
  made.hint = kPlaceHelp;
  return made;
}

bool is_number(std::string_view word) {
  unsigned value = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return !word.empty() && error == std::errc() && end == word.data() + word.size() && value < 1024;
}

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> all;
  for (;;) {
    size_t comma = std::min(list.find(','), list.size());
    all.push_back(list.substr(0, comma));
    if (comma == list.size()) return all;
    list.remove_prefix(comma + 1);
  }
}

// The far side's shell sees one line.
std::string quoted(std::string_view word) {
  std::string text = "'";
  for (char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + "'";
}

// GPU `number` of those that are visible here: CUDA_VISIBLE_DEVICES names devices by number or by UUID, in whatever order its author
// had in mind. Where nothing is set they are counted by the bus, as nvidia-smi does, and not by speed.
base::Result<Place> local(std::string_view number, const std::string& worker, std::string_view visible) {
  if (visible.empty()) {
    std::string device(number);
    return Place{device, {"env", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=" + device, worker}};
  }
  auto among = split(visible);
  size_t index = 0;
  std::from_chars(number.data(), number.data() + number.size(), index);
  if (index >= among.size())
    return wrong(number, fmt::format("CUDA_VISIBLE_DEVICES={} shows {} of them", visible, among.size()));
  return Place{std::string(number), {"env", "CUDA_VISIBLE_DEVICES=" + std::string(among[index]), worker}};
}

// ssh:[USER@]HOST[:/PATH][#N]
base::Result<Place> behind_ssh(std::string_view word) {
  std::string_view rest = word.substr(4);
  std::string device;
  if (size_t mark = rest.rfind('#'); mark != std::string_view::npos) {
    device = rest.substr(mark + 1);
    if (!is_number(device)) return wrong(word, "behind # stands a GPU's number");
    rest = rest.substr(0, mark);
  }
  std::string path = "ptxlab-gpu";
  if (size_t mark = rest.find(":/"); mark != std::string_view::npos) {
    path = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  } else if (size_t home = rest.find(":~/"); home != std::string_view::npos) {
    path = rest.substr(home + 3);  // the far side's shell starts there
    if (path.find('/') == std::string::npos) path = "./" + path;
    rest = rest.substr(0, home);
  }
  if (rest.empty() || rest.front() == '-' || rest.find_first_of(" \t") != std::string_view::npos)
    return wrong(word, "ssh: wants a host");
  std::string there = quoted(path);
  if (!device.empty()) there = "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=" + device + " " + there;
  // No questions, since nobody is there to answer; a network that has gone is noticed.
  return Place{std::string(word),
               {"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15",
                std::string(rest), "exec env " + there}};
}

}  // namespace

base::Result<std::vector<Place>> read_places(std::string_view words, const std::string& worker,
                                             std::string_view visible) {
  std::vector<Place> places;
  if (words == "none") return places;
  for (std::string_view word : split(words)) {
    base::Result<Place> place = is_number(word)              ? local(word, worker, visible)
                                : word.rfind("ssh:", 0) == 0 ? behind_ssh(word)
                                                             : base::Result<Place>(wrong(word, "no such place"));
    if (!place) return place.findings();
    for (const auto& other : places) {
      if (other.command == place->command) return wrong(word, "it stands there twice");
    }
    places.push_back(std::move(*place));
  }
  return places;
}

}  // namespace ptxlab::gpu
