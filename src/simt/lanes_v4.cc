// The lane handlers for x86-64-v4 (compiler flags in CMakeLists.txt).
#define PTXLAB_LEVEL v4
#include "simt/lanes.inc"
