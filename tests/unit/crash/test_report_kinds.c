/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "tests/unit/crash/reports.h"

#define ERROR  "==1==ERROR: AddressSanitizer: "
#define AT     " on address 0x602000000011 at pc 0x5 bp 0x5 sp 0x5\n"
#define FRAMES "    #0 0x5 in f /src/a.c:3:4\n    #1 0x6 in g /src/a.c:3:4\n\n"
#define ON     "SEGV on unknown address "
#define PC     " (pc 0x4f1 bp 0x7 sp 0x7 T0)\n"
#define WILD   ERROR ON "0x41414141" PC

static void address_sanitizer(void **state)
{
	static const struct reading t[] = {
	    {ERROR "heap-use-after-free" AT "WRITE of size 8 at 0x6 thread T0\n" FRAMES,
	     "Heap-use-after-free\nWRITE 8", "f|g", CRASH_ASAN, true},
	    {ERROR "stack-buffer-overflow" AT
		   "READ of size 32780 at 0x6 thread T0 (chrome)\n" FRAMES,
	     "Stack-buffer-overflow\nREAD {*}", "f|g", CRASH_ASAN, true},
	    {ERROR "global-buffer-overflow" AT FRAMES, "Global-buffer-overflow", "f|g", CRASH_ASAN,
	     true},
	    {ERROR "unknown-crash" AT "READ of size 16 at 0x602000000011\n" FRAMES, "UNKNOWN",
	     "f|g", CRASH_ASAN, true},
	    {ERROR "attempting double-free on 0x602 in thread T0:\n" FRAMES, "Heap-double-free",
	     "f|g", CRASH_ASAN, true},
	    {ERROR
	     "attempting free on address which was not malloc()-ed: 0x602 in thread T0\n" FRAMES,
	     "Invalid-free", "f|g", CRASH_ASAN, true},
	    {ERROR "alloc-dealloc-mismatch (malloc vs operator delete) on 0x602\n" FRAMES,
	     "Alloc-dealloc-mismatch", "f|g", CRASH_ASAN, true},
	    {ERROR "new-delete-type-mismatch on 0x602 in thread T0:\n" FRAMES,
	     "New-delete-type-mismatch", "f|g", CRASH_ASAN, true},
	    {ERROR "negative-size-param: (size=-1)\n" FRAMES, "Negative-size-param", "f|g",
	     CRASH_ASAN, true},
	    {ERROR "memcpy-param-overlap: memory ranges [0x602,0x606) and [0x603, 0x607) "
		   "overlap\n" FRAMES,
	     "Memcpy-param-overlap", "f|g", CRASH_ASAN, true},
	    {ERROR "odr-violation (0x602):\n" FRAMES, "Odr-violation", "f|g", CRASH_ASAN, true},
	    {ERROR "requested allocation size 0xffff (0x1 after adjustments for alignment) exceeds "
		   "maximum supported size of 0x10000000000 (thread T0)\n" FRAMES,
	     "Out-of-memory", "f|g", CRASH_ASAN, false},
	    {ERROR
	     "calloc parameters overflow: count * size (1 * -1) cannot be represented\n" FRAMES,
	     "Out-of-memory", "f|g", CRASH_ASAN, false},
	    {ERROR "out of memory: allocator is trying to allocate 0x1 bytes\n" FRAMES,
	     "Out-of-memory", "f|g", CRASH_ASAN, false},
	    {ERROR "stack-overflow on address 0x7ffc" PC FRAMES, "Stack-overflow", "f|g",
	     CRASH_ASAN, false},
	    {"AddressSanitizer: CHECK failed: asan_thread.cpp:367 \"((ptr[0])) != (0)\" (0x0, 0x0) "
	     "(tid=3)\n" FRAMES,
	     "Sanitizer CHECK failure", "\"((ptr[0])) != (0)\" (0x0, 0x0) (tid=3)", CRASH_OTHER,
	     false},
	    /* at the cell's memory mark, the report's mprotect(2) fails */
	    {"==3== ERROR: libFuzzer: out-of-memory (used: 322Mb; limit: 192Mb)\n"
	     "AddressSanitizer: CHECK failed: sanitizer_stoptheworld_linux_libcdep.cpp:340 "
	     "\"((x)) != (0)\" (0x0, 0x0) (tid=4)\n" FRAMES,
	     "Out-of-memory", "NULL", CRASH_ENGINE, false},
	    {"==3== ERROR: libFuzzer: timeout after 25 seconds\n"
	     "AddressSanitizer: CHECK failed: a.cpp:340 \"((x)) != (0)\" (0x0, 0x0)\n" FRAMES,
	     "Timeout", "NULL", CRASH_ENGINE, false},
	    {"==1==ERROR: HWAddressSanitizer: tag-mismatch on address 0x0042 at pc 0x1\n"
	     "READ of size 1 at 0x0042 tags: 01/02 in thread T0\n" FRAMES,
	     "Tag-mismatch\nREAD 1", "f|g", CRASH_OTHER, true},
	};

	(void)state;
	CHECK_READINGS(t);
}

static void signals(void **state)
{
	static const struct reading t[] = {
	    {WILD FRAMES, "UNKNOWN", "f|g", CRASH_ASAN, true},
	    {WILD "==1==The signal is caused by a READ memory access.\n" FRAMES, "UNKNOWN READ",
	     "f|g", CRASH_ASAN, true},
	    {WILD "==1==The signal is caused by a UNKNOWN memory access.\n" FRAMES, "UNKNOWN",
	     "f|g", CRASH_ASAN, true},
	    {ERROR ON "0x000000000fff" PC
		      "==1==The signal is caused by a WRITE memory access.\n" FRAMES,
	     "Null-dereference WRITE", "f|g", CRASH_ASAN, false},
	    {ERROR ON "0x0000000000001000" PC FRAMES, "UNKNOWN", "f|g", CRASH_ASAN, true},
	    {ERROR ON "(pc 0x5 bp 0x5 sp 0x5 T0)\n==1==The signal is caused by a READ memory "
		      "access.\n" FRAMES,
	     "UNKNOWN READ", "f|g", CRASH_ASAN, true},
	    {ERROR ON "0x0bbadbeef" PC FRAMES, "UNKNOWN", "f|g", CRASH_ASAN, false},
	    /* A jump to zero counts, whatever else the report says. */
	    {ERROR ON "0x000000000000 (pc 0x000000000000 bp 0x7 T0)\n" FRAMES, "Null-dereference",
	     "f|g", CRASH_ASAN, true},
	    {ERROR "BUS on unknown address 0x5 (pc 0x1 T0)\n" FRAMES, "Bus", "f|g", CRASH_ASAN,
	     false},
	    {ERROR "BUS on unknown address (pc 0x1 T0)\n" FRAMES, "Bus", "f|g", CRASH_ASAN, false},
	    {ERROR "FPE on unknown address 0x5 (pc 0x1 T0)\n" FRAMES, "Floating-point-exception",
	     "f|g", CRASH_ASAN, false},
	    {ERROR "ILL on unknown address 0x5 (pc 0x1 T0)\n" FRAMES, "Ill", "f|g", CRASH_ASAN,
	     false},
	    {ERROR "ABRT on unknown address 0x03e9 (pc 0x1 T0)\n" FRAMES, "Abrt", "f|g", CRASH_ASAN,
	     false},
	    {ERROR ON "0x41414141" PC "    #0 0x5 in gsignal /build/glibc-2.23/raise.c:54\n"
		      "    #1 0x5 in f a.c:1:2\n",
	     "UNKNOWN", "f", CRASH_ASAN, false},
	    {"==1==ERROR: UndefinedBehaviorSanitizer: SEGV on unknown address 0x41414141 (pc "
	     "0x1)\n" FRAMES,
	     "UNKNOWN", "f|g", CRASH_UBSAN, true},
	    {"==1==ERROR: MemorySanitizer: SEGV on unknown address 0x41414141 (pc 0x1)\n" FRAMES,
	     "UNKNOWN", "f|g", CRASH_MSAN, true},
	    {"==1==ERROR: MemorySanitizer: SEGV on unknown address (pc 0x1)\n" FRAMES, "UNKNOWN",
	     "f|g", CRASH_MSAN, true},
	    {"==1==ERROR: ThreadSanitizer: stack-overflow on address 0x7ffc (pc 0x1)\n" FRAMES,
	     "Stack-overflow", "f|g", CRASH_TSAN, false},
	    {"Received signal 11 SEGV_MAPERR 7fdf1d27c590\n#0 0x5 f()\n#1 0x5 g()\n", "UNKNOWN",
	     "f|g", CRASH_SIGNAL, true},
	    {"Program received signal SIGSEGV, Segmentation fault.\n"
	     "#0  0x0000000000401136 in f (p=0x0) at a.c:3\n",
	     "SIGSEGV", "f", CRASH_SIGNAL, true},
	};

	(void)state;
	CHECK_READINGS(t);
}

static void undefined_behaviour(void **state)
{
#define UB(text, type, security)                                                                  \
	{                                                                                         \
		"a.c:38:15: runtime error: " text "\n" FRAMES, type, "f|g", CRASH_UBSAN, security \
	}
	static const struct reading t[] = {
	    UB("signed integer overflow: 1 + 2 cannot be represented in type 'int'",
	       "Integer-overflow", false),
	    UB("unsigned integer overflow: 1 - 2 cannot be represented in type 'int'",
	       "Unsigned-integer-overflow", false),
	    UB("negation of -2147483648 cannot be represented in type 'int'", "Integer-overflow",
	       false),
	    UB("division of -2147483648 by -1 cannot be represented in type 'int'",
	       "Integer-overflow", false),
	    UB("division by zero", "Divide-by-zero", false),
	    UB("shift exponent 40 is too large for 32-bit type 'int'", "Undefined-shift", false),
	    UB("left shift of negative value -1", "Undefined-shift", false),
	    UB("index 9 out of bounds for type 'int [4]'", "Index-out-of-bounds", true),
	    UB("load of null pointer of type 'int'", "Null-dereference READ", false),
	    UB("store to null pointer of type 'int'", "Null-dereference WRITE", false),
	    UB("reference binding to null pointer of type 'int'", "Null-dereference", false),
	    UB("member access within null pointer of type 's'", "Null-dereference", false),
	    UB("upcast of null pointer of type 's'", "Upcast-of-null-pointer", false),
	    UB("load of misaligned address 0x5 for type 'int', which requires 4 byte alignment",
	       "Misaligned-address", false),
	    UB("load of address 0x5 with insufficient space for an object of type 'int'",
	       "Object-size", true),
	    UB("member access within address 0x5 with insufficient space for an object of type 's'",
	       "Object-size", true),
	    UB("load of value 7, which is not a valid value for type 'bool'", "Invalid-bool-value",
	       false),
	    UB("load of value 7, which is not a valid value for type 'const _Bool'",
	       "Invalid-bool-value", false),
	    UB("load of value 7, which is not a valid value for type 'color'", "Invalid-enum-value",
	       false),
	    UB("1e+30 is outside the range of representable values of type 'int'",
	       "Float-cast-overflow", false),
	    UB("execution reached an unreachable program point", "Unreachable code", false),
	    UB("execution reached the end of a value-returning function without returning a value",
	       "No-return-value", false),
	    UB("variable length array bound evaluates to non-positive value -1",
	       "Non-positive-vla-bound-value", true),
	    UB("implicit conversion from type 'int' of value -1 to type 'char'",
	       "Implicit-conversion", false),
	    UB("passing zero to ctz(), which is not a valid argument", "Invalid-builtin-use",
	       false),
	    UB("null pointer returned from function declared to never return null",
	       "Invalid-null-return", false),
	    UB("null pointer passed as argument 1, which is declared to never be null",
	       "Invalid-null-argument", false),
	    UB("applying non-zero offset 4 to null pointer", "Pointer-overflow", false),
	    UB("applying zero offset to null pointer", "Pointer-overflow", false),
	    UB("applying non-zero offset to non-null pointer 0x5 produced null pointer",
	       "Pointer-overflow", false),
	    UB("addition of unsigned offset to 0x5 overflowed to 0x4", "Pointer-overflow", false),
	    UB("pointer index expression with base 0x5 overflowed to 0x4", "Pointer-overflow",
	       false),
	    UB("call to function f through pointer to incorrect function type 'void (*)(int)'",
	       "Incorrect-function-pointer-type", true),
	    UB("assumption of 32 byte alignment for pointer of type 'int *' failed",
	       "Assumption-violation", false),
	    {"<unknown>: runtime error: division by zero\n", "Divide-by-zero", "NULL", CRASH_UBSAN,
	     false},
	    {"a.c:3:4: runtime error: a message of the future\n" FRAMES, "UNKNOWN", "f|g",
	     CRASH_UBSAN, false},
	};

	(void)state;
	CHECK_READINGS(t);
}

static void casts(void **state)
{
	static const struct reading t[] = {
	    {"a.cc:3:4: runtime error: member call on address 0x7ffc which does not point to an "
	     "object of type 'B'\n0x7ffc: note: object is of type 'A'\n 00 00 00\n ^~~\n" FRAMES,
	     "Bad-cast", "Bad-cast to B from A|f|g", CRASH_UBSAN, true},
	    {"a.cc:3:4: runtime error: downcast of address 0x7ffc which does not point to an "
	     "object of type 'B'\n0x7ffc: note: object has invalid vptr\n" FRAMES,
	     "Bad-cast", "Bad-cast to B from invalid vptr|f|g", CRASH_UBSAN, true},
	    {"a.cc:3:4: runtime error: member access within address 0x7ffc which does not point to "
	     "an object of type 'B'\n0x7ffc: note: object is base class subobject at offset 16 "
	     "within object of type 'A'\n" FRAMES,
	     "Bad-cast", "Bad-cast to B from base class subobject at offset NUMBER|f|g",
	     CRASH_UBSAN, true},
	    {"a.cc:3:4: runtime error: member call on address 0x7ffc which does not point to an "
	     "object of type 'B'\n" FRAMES,
	     "Bad-cast", "Bad-cast to B|f|g", CRASH_UBSAN, true},
	    {"a.cc:3:4: runtime error: control flow integrity check for type 'B' failed during "
	     "cast to unrelated type (vtable address 0x000000422710)\n"
	     "0x000000422710: note: vtable is of type 'A'\n" FRAMES,
	     "Bad-cast", "Bad-cast to B from A|f|g", CRASH_UBSAN, true},
	    {"a.cc:3:4: runtime error: control flow integrity check for type 'void (*)(int)' "
	     "failed "
	     "during indirect function call\n(/x.so+0x5): note: f defined here\n" FRAMES,
	     "Bad-cast", "Bad-cast to void (*)(int)|f|g", CRASH_UBSAN, true},
	};
	struct crash_report r;

	(void)state;
	CHECK_READINGS(t);
	r = parse(t[4].text);
	assert_string_equal(r.address, "0x000000422710");
	assert_int_equal(r.severity, CRASH_SEVERITY_HIGH);
	crash_report_done(&r);
}

static void other_sanitizers(void **state)
{
	static const struct reading t[] = {
	    {"==1==WARNING: MemorySanitizer: use-of-uninitialized-value\n" FRAMES
	     "  Uninitialized value was stored to memory at\n    #0 0x5 in h a.c:1:2\n",
	     "Use-of-uninitialized-value", "f|g", CRASH_MSAN, true},
	    {"WARNING: ThreadSanitizer: data race (pid=7)\n"
	     "  Write of size 4 at 0x7f15 by thread T3 (mutexes: write M1):\n"
	     "    #0 f a.c:3:4 (t+0x12) (BuildId: ab)\n\n"
	     "  Previous read of size 4 at 0x7f15 by main thread:\n    #0 g a.c:3:4 (t+0x13)\n\n"
	     "  Thread T3 (tid=2, running) created by main thread at:\n    #0 h a.c:3:4 (t+0x14)\n",
	     "Data race\nWRITE 4", "f|g", CRASH_TSAN, false},
	    {"WARNING: ThreadSanitizer: data race on vptr (ctor/dtor vs virtual call) (pid=7)\n"
	     "  Atomic write of size 8 at 0x7f15 by thread T3:\n    #0 f a.c:3:4 (t+0x12)\n",
	     "Data race on vptr\nATOMIC WRITE 8", "f", CRASH_TSAN, false},
	    {"WARNING: ThreadSanitizer: lock-order-inversion (potential deadlock) (pid=7)\n" FRAMES,
	     "Lock-order-inversion", "f|g", CRASH_TSAN, false},
	    {"==5==ERROR: LeakSanitizer: detected memory leaks\n\n"
	     "Direct leak of 16 byte(s) in 1 object(s) allocated from:\n"
	     "    #0 0x4 in malloc (/out/f+0x4)\n" FRAMES
	     "Direct leak of 8 byte(s) in 1 object(s) allocated from:\n"
	     "    #0 0x4 in malloc (/out/f+0x4)\n    #1 0x4 in h a.c:3:4\n",
	     "Direct-leak", "f|g", CRASH_LSAN, false},
	    {"Indirect leak of 16 byte(s) in 1 object(s) allocated from:\n    #0 0x4 in h a.c:3\n\n"
	     "Direct leak of 16 byte(s) in 1 object(s) allocated from:\n" FRAMES,
	     "Direct-leak", "f|g", CRASH_LSAN, false},
	    {"Indirect leak of 16 byte(s) in 1 object(s) allocated from:\n" FRAMES, "Indirect-leak",
	     "f|g", CRASH_LSAN, false},
	};

	(void)state;
	CHECK_READINGS(t);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(address_sanitizer),   cmocka_unit_test(signals),
    cmocka_unit_test(undefined_behaviour), cmocka_unit_test(casts),
    cmocka_unit_test(other_sanitizers),
};

UNIT_MAIN(tests)
