// Expressions of a .cu's host code as expressions of a plan: casts and suffixes dropped, constants put in, host names
// turned into the task's params, (n + 255) / 256 into ceildiv(n, 256).
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ptxlab::task {

// What a host name stands for: a param's name, another host expression (in parentheses where needed), or nothing.
using HostNames = std::function<std::optional<std::string>(std::string_view)>;

// Nothing where the expression holds what a plan cannot say (a call, a member, a name that stands for nothing).
std::optional<std::string> plan_expression(std::string_view host, const HostNames& names);

// The value, where the expression is a constant with the names given.
std::optional<long long> host_value(std::string_view host, const HostNames& names);

}  // namespace ptxlab::task
