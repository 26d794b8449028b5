// The lane handlers for x86-64-v3 (compiler flags in CMakeLists.txt).
#define PTXLAB_LEVEL v3
#include "simt/lanes.inc"
