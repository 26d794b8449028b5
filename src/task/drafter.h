// Makes drafts: what a source's launches and signatures say, turned into arguments, launches and params, with a remark wherever
// something had to be guessed. draft.cc goes through the launches, draft_arguments.cc makes arguments.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "task/cuda_declarations.h"
#include "task/cuda_scan.h"
#include "task/draft.h"
#include "task/draft_text.h"

namespace ptxlab::task {

bool identifier(std::string_view text);

class Drafter {
 public:
  Drafter(const std::filesystem::path& kernel, CudaScan scan, CudaDeclarations declared, const ptx::Module* compiled,
          bool keep_lines);
  Draft run();

 private:
  void open(std::string text);
  const CudaKernel* kernel_named(std::string_view name) const;
  // The type without aliases, and how many elements one of it holds.
  std::pair<std::string, int> type_of(std::string word) const;
  // Names that the block or a template argument leans on are constants of the launch, not sizes of the problem.
  void blocks(const std::vector<CudaLaunch>& launches);
  bool looks_fixed(const std::string& name) const;
  // What a host name stands for in a plan.
  std::optional<std::string> meaning(std::string_view name_view);
  std::optional<std::string> expression(std::string_view host);
  void param(const std::string& name, const std::string& host_text);
  // Integer scalars are what sizes are called by.
  void integers(const CudaLaunch& launch);
  const ptx::Function* entry_of(const CudaKernel& kernel) const;
  // What a host integer is by other ones: const int HW = H * W. Nothing where it is a size of its own.
  std::optional<std::string> derived(const std::string& host);
  // A pointer whose type the source leaves open, by what the compiled kernel loads and stores through it.
  CudaParameter told_by_accesses(const CudaKernel& kernel, size_t i) const;
  bool from_source() const;  // else from PTX alone, which knows no host
  std::string no_launch(const std::string& entry) const;
  // A scalar's type by its name, else by its .param.
  std::string scalar_type(const CudaKernel& kernel, size_t i) const;
  // What T of a template stands for in this launch.
  void bind_template(const CudaKernel& kernel, const CudaLaunch& launch);
  void add(const CudaLaunch& launch);
  std::vector<HostLoop> loops_of(const CudaLaunch& launch) const;
  bool mentions_loop(const std::string& host) const;
  // The host's loops, as far as they count from 0.
  void loops(const CudaLaunch& launch, DraftLaunch& result);
  // template __global__ void k<float, 4>(const float*, float*, int);
  void instantiate(const CudaKernel& kernel, const CudaLaunch& launch, DraftLaunch& result);
  // What the host copies into variables of the module.
  void symbols();
  std::optional<std::string> expression_with_sizeof(std::string text);
  void remark(DraftLaunch& launch, std::string text);
  void compiled_remarks(const CudaKernel& kernel, const CudaLaunch& launch, DraftLaunch& result);
  std::vector<std::string> dims(const std::vector<std::string>& host, const char* what, DraftLaunch& result,
                                const std::string& guess);
  // The name of the task's argument that the launch's argument i is.
  std::string argument(const CudaKernel& kernel, size_t i, const CudaLaunch& launch);
  // A struct by value: its pointers become buffers, its integers params where their names fit.
  std::string structure(const CudaParameter& parameter, const std::string& wanted);
  // A host expression of constants and numbers.
  std::optional<long long> constant_value(const std::string& host) const;
  long long count_of(const std::vector<std::string>& dims);
  // The fields of an array of structs, packed: padding is a field of bytes, which C++ leaves undefined.
  void record(DraftArgument& buffer, const std::vector<CudaField>& fields);
  std::string float_value(std::string host) const;
  void note(DraftArgument& argument, std::string text);
  DraftArgument* named(std::string_view name);
  std::string fresh(const std::string& name);
  std::string pointer(const CudaParameter& parameter, size_t i, const std::string& host);
  void shape(DraftArgument& buffer, const std::string& host, int count);
  Draft finish();
  std::filesystem::path file_;
  CudaScan scan_;
  CudaDeclarations declared_;
  const ptx::Module* compiled_;
  bool keep_lines_;  // `compiled` came to be by the lines of an earlier draft
  std::set<std::string> loop_variables_;
  std::map<std::string, std::pair<std::string, std::string>> swaps_;  // of the launch at hand: loop variable, partner
  std::vector<std::pair<std::string, std::string>> symbols_;
  std::vector<std::string> instantiate_;
  std::vector<std::string> params_;
  std::map<std::string, std::string> params_of_host_;              // host name: param
  std::map<std::string, std::string> buffer_of_host_;              // host pointer: argument
  std::map<std::string, std::string> template_types_;              // of the launch at hand
  std::string exact_;                                              // its kernel with template arguments: "k<64>"
  std::map<std::string, long long> sizes_;                         // a param's value in the program
  std::set<std::string> inner_;                                    // params that the kernel is called with
  std::map<std::string, std::vector<std::string>> kernel_params_;  // a buffer's name: params of the kernel that has it
  std::set<std::string> fixed_, shapeless_;
  std::vector<DraftArgument> arguments_;
  std::vector<DraftLaunch> launches_;
  std::vector<std::string> open_;
};

}  // namespace ptxlab::task
