# Compiler flags shared by every target. g++ 12 has false alarms of four kinds on std::string and fmt.
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-stringop-overread -fno-math-errno -ffp-contract=off)
# Contraction and fast-math stay off everywhere: the engine's arithmetic is bit-exact IEEE.
if(PTXLAB_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
endif()
# assert() guards our own mistakes and stays on in release builds: a wrong verdict costs more than a branch.
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
