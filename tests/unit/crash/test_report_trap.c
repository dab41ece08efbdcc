/* SPDX-License-Identifier: Apache-2.0 */
/* Traps with their message in a frame.  `make reports` tests the traps of real programs. */
#include "tests/unit/unit.h"

#include "tests/unit/crash/reports.h"

#define DEADLY                                                                            \
	"==7== ERROR: libFuzzer: deadly signal\n    #0 0x1 in fuzzer::PrintStackTrace() " \
	"(/t+0x1)\n"
#define ILL   "==7==ERROR: AddressSanitizer: ILL on unknown address 0x000000005 (pc 0x5 T0)\n"
#define TRAP  "    #4 0x5 in __clang_trap_msg$"
#define UBSAN TRAP "Undefined Behavior Sanitizer$"
#define REST \
	"    #5 0x5 in parse /src/a.c:3:4\n    #6 0x6 in LLVMFuzzerTestOneInput /src/f.c:9:1\n\n"

/* The message ends in a newline, so each source position is in the next frame. */
#define SHIFTED                                                                                  \
	TRAP "libc++$/usr/include/c++/v1/vector:1443: assertion __n < size() failed: "           \
	     "vector[] index out of bounds (/t+0x9)\n"                                           \
	     "    #5 0x5 in /usr/include/c++/v1/vector:0:0 std::__1::vector<int, "               \
	     "std::__1::allocator<int>>::operator[][abi:fe190107](unsigned long) const\n"        \
	     "    #6 0x5 in /usr/include/c++/v1/vector:1443:3 reads_past(std::__1::vector<int, " \
	     "std::__1::allocator<int>> const&, unsigned long)\n"                                \
	     "    #7 0x5 in /src/my x.cc:35:59 (/t+0x9)\n"                                       \
	     "    #8 0x6 in LLVMFuzzerTestOneInput /src/f.cc:9:1\n\n"

static void message_is_the_assertion(void **state)
{
	static const struct reading t[] = {
	    {DEADLY SHIFTED, "ASSERT",
	     "vector[] index out of bounds|std::__1::vector<int, "
	     "std::__1::allocator<int>>::operator|reads_past",
	     CRASH_ASSERT, false},
	    {ILL TRAP "my lib$wrong size/length of /etc header /src/a.c\n" REST, "ASSERT",
	     "wrong size/length of /etc header|parse|f.c", CRASH_ASSERT, false},
	    {ILL TRAP "my lib$size/length (/t+0x9)\n" REST, "ASSERT", "size/length|parse|f.c",
	     CRASH_ASSERT, false},
	    {DEADLY TRAP "Bounds check failed$Dereferencing above bounds /src/a.c\n" REST, "ASSERT",
	     "Dereferencing above bounds|parse|f.c", CRASH_ASSERT, false},
	    {DEADLY TRAP "Bounds check failed$ /src/a.c\n" REST, "ASSERT",
	     "Bounds check failed|parse|f.c", CRASH_ASSERT, false},
	    {DEADLY UBSAN "a message of the future /src/a.c\n" REST, "ASSERT",
	     "a message of the future|parse|f.c", CRASH_ASSERT, false},
	};

	(void)state;
	CHECK_READINGS(t);
}

/* Neither another crash nor a trap below the first frame counts as the trap. */
static void other_crashes_stay(void **state)
{
	static const struct reading t[] = {
	    {"==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602 at pc 0x5\n"
	     "READ of size 4 at 0x602 thread T0\n" TRAP "a$b /src/a.c\n" REST,
	     "Heap-buffer-overflow\nREAD 4", "parse|f.c", CRASH_ASAN, true},
	    {DEADLY "    #3 0x5 in raises /src/a.c:3:4\n" TRAP "a$b /src/a.c\n" REST,
	     "Fatal-signal", "raises|parse|f.c", CRASH_ENGINE, false},
	};

	(void)state;
	CHECK_READINGS(t);
}

static void undefined_behaviour_has_its_type(void **state)
{
	static const struct {
		const char *message, *type;
	} t[] = {
	    {"Integer addition overflowed", "Integer-overflow"},
	    {"signed integer subtraction overflow in 'a - b'", "Integer-overflow"},
	    {"unsigned integer addition overflow in 'c + d'", "Unsigned-integer-overflow"},
	    {"Integer divide or remainder overflowed", "Integer-overflow"},
	    {"Division by zero on type 'int'", "Divide-by-zero"},
	    {"_builtin_unreachable(), execution reached an unreachable program point",
	     "Unreachable code"},
	    {"Control flow integrity check failed", "Bad-cast"},
	    {"Dynamic type cache miss, member call made on an object", "Bad-cast"},
	    {"Floating-point to integer conversion overflowed", "Float-cast-overflow"},
	    {"Function called with mismatched signature", "Incorrect-function-pointer-type"},
	    {"Implicit integer conversion overflowed or lost data", "Implicit-conversion"},
	    {"Invalid use of builtin function", "Invalid-builtin-use"},
	    {"Loaded an invalid or uninitialized value for the type", "Invalid-enum-value"},
	    {"Execution reached the end of a value-returning function", "No-return-value"},
	    {"Passing null pointer as an argument", "Invalid-null-argument"},
	    {"Returning null pointer from a function", "Invalid-null-return"},
	    {"Array index out of bounds", "Index-out-of-bounds"},
	    {"Pointer arithmetic overflowed bounds", "Pointer-overflow"},
	    {"Shift exponent is too large for the type", "Undefined-shift"},
	    {"Alignment assumption violated", "Assumption-violation"},
	    {"Variable length array bound evaluates to non-positive value",
	     "Non-positive-vla-bound-value"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char text[1024], buf[1024];
		struct crash_report r;

		snprintf(text, sizeof(text), "%s%s%s /src/a.c\n%s", DEADLY, UBSAN, t[i].message,
			 REST);
		r = parse(text);
		if (strcmp(r.type, t[i].type) != 0 || r.kind != CRASH_UBSAN)
			fail_msg("'%s' of '%s'", r.type, t[i].message);
		assert_string_equal(state_of(&r, buf), "parse|f.c");
		assert_string_equal(r.headline, t[i].message);
		crash_report_done(&r);
	}
	/* The same report as by the runtime. */
	same_signature(DEADLY UBSAN "Integer addition overflowed /src/a.c\n" REST,
		       "/src/a.c:3:4: runtime error: signed integer overflow: 1 + 2 cannot be "
		       "represented in type 'int'\n" REST,
		       true);
}

static void places_are_no_functions(void **state)
{
	struct crash_report r = parse(DEADLY SHIFTED);
	char buf[1024];

	(void)state;
	assert_string_equal(frames_of(&r, buf),
			    "reads_past(std::__1::vector<int, std::__1::allocator<int>> const&, "
			    "unsigned long)|LLVMFuzzerTestOneInput");
	assert_string_equal(r.top_frame, "reads_past");
	assert_string_equal(r.frames[0].file, "/src/my x.cc");
	assert_int_equal(r.frames[0].line, 35);
	assert_int_equal(r.frames[0].column, 59);
	crash_report_done(&r);
	/* The output of libc++ in debug mode. */
	same_signature(DEADLY SHIFTED,
		       "/usr/include/c++/v1/vector:1440: assertion __n < size() failed: vector[] "
		       "index out of bounds\n" DEADLY
		       "    #5 0x5 in reads_past(std::__1::vector<int> const&) /src/x.cc:35:59\n\n",
		       true);
	same_signature(DEADLY SHIFTED, DEADLY REST, false);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(message_is_the_assertion),
    cmocka_unit_test(other_crashes_stay),
    cmocka_unit_test(undefined_behaviour_has_its_type),
    cmocka_unit_test(places_are_no_functions),
};

UNIT_MAIN(tests)
