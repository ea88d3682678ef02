// Asking for memory that will be read, or written, soon.
#pragma once

#if defined(__GNUC__)
#define CK_PREFETCH(address) __builtin_prefetch(address)
#define CK_PREFETCH_TO_WRITE(address) __builtin_prefetch(address, 1)
#else
#define CK_PREFETCH(address) ((void)(address))
#define CK_PREFETCH_TO_WRITE(address) ((void)(address))
#endif
