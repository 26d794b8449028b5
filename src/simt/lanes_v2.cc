// The lane handlers for x86-64-v2 (compiler flags in CMakeLists.txt).
#define PTXLAB_LEVEL v2
#include "simt/lanes.inc"
