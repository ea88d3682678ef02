// Declares kernels once per instruction set that they are compiled for.
//
// Each cpp/*/kernels_*.cpp is compiled once per set into a namespace of its own, CK_ISA. Everything
// such a file defines must be in that namespace or have internal linkage, and it uses no templates
// of the standard library: of functions that two files share the linker keeps either copy, and the
// one it keeps might need instructions that the machine does not have.
#pragma once

#if defined(CK_HAVE_AVX2)
#define CK_FOR_EACH_ISA(declare) declare(baseline) declare(avx2)
#else
#define CK_FOR_EACH_ISA(declare) declare(baseline)
#endif
