# Compiler flags shared by every target.
# Contraction and fast-math stay off everywhere: the engine's arithmetic is bit-exact IEEE.
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers -fno-math-errno -ffp-contract=off)
# g++ 12 at -O3 warns of std::string and fmt code that is right; clang-tidy does not know these names.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                    $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)
if(PTXLAB_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
endif()
# -O2 compiles a sixth faster than -O3, which the engine's handlers alone need (src/simt/CMakeLists.txt).
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
# assert() guards our own mistakes and stays on in release builds: a wrong verdict costs more than a branch.

