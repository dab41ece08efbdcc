/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"

#include "runner/crash/report/frame.h"

static void names_without_what_differs(void **state)
{
	static const struct {
		const char *printed, *name;
	} t[] = {
	    {"", ""},
	    {"parse", "parse"},
	    {"parse(char const*, unsigned long)", "parse"},
	    {"a::b::c(int) const", "a::b::c"},
	    {"a::b::c() const &", "a::b::c"},
	    {"a::(anonymous namespace)::b()", "a::b"},
	    {"(anonymous namespace)::b()", "b"},
	    {"{anonymous}::b()", "b"},
	    /* templates, with their return types */
	    {"int a::sum<char, long, char const*>(char, long, char const*)", "a::sum"},
	    {"a::ring<std::map<int, std::vector<int> > >::at(unsigned long)", "a::ring::at"},
	    {"a::ring<std::map<int, std::vector<int>>>::at(unsigned long)", "a::ring::at"},
	    {"void url::(anonymous namespace)::DoHost<char, unsigned char>(char const*)",
	     "url::DoHost"},
	    {"std::unique_ptr<a, std::default_delete<a> > a::make<b>(b&&)", "a::make"},
	    {"decltype(auto) a::f<int>(int)", "a::f"},
	    {"auto a::f<(a::color)1>() const", "a::f"},
	    {"f<(1 > 0)>(int)", "f"},
	    {"make_unique<A, B &, const C &>", "make_unique"},
	    {"unsigned long const* a::p<int>()", "a::p"},
	    /* operators */
	    {"a::operator()(int) const", "a::operator()"},
	    {"a::operator<(a const&) const", "a::operator<"},
	    {"a::operator<<(a const&)", "a::operator<<"},
	    {"std::ostream& a::operator<< <int>(std::ostream&, int)", "a::operator<<"},
	    {"bool a::operator< <int>(a const&)", "a::operator<"},
	    {"a::operator->() const", "a::operator->"},
	    {"a::operator[](unsigned long)", "a::operator[]"},
	    {"a::operator<=>(a const&) const", "a::operator<=>"},
	    {"a::operator++(int)", "a::operator++"},
	    {"a::operator int() const", "a::operator int"},
	    {"a::operator unsigned long() const", "a::operator unsigned long"},
	    {"a::operator std::vector<int, std::allocator<int> >() const",
	     "a::operator std::vector"},
	    {"operator new(unsigned long)", "operator new"},
	    {"operator delete[](void*)", "operator delete[]"},
	    {"operator\"\" _km(long double)", "operator\"\" _km"},
	    {"cooperator(int)", "cooperator"},
	    {"operator_of(int)", "operator_of"},
	    /* lambdas */
	    {"f(int)::$_0::operator()(char) const", "f::{lambda}::operator()"},
	    {"f(int)::$_12::operator()(char) const", "f::{lambda}::operator()"},
	    {"f(int)::'lambda'(char)::operator()(char) const", "f::{lambda}::operator()"},
	    {"f(int)::'lambda0'(char)::operator()(char) const", "f::{lambda}::operator()"},
	    {"f(int)::{lambda(char)#2}::operator()(char) const", "f::{lambda}::operator()"},
	    {"f(int)::(anonymous class)::operator()(char) const", "f::{lambda}::operator()"},
	    {"auto f(int)::$_0::operator()<int, long>(int, long) const", "f::{lambda}::operator()"},
	    {"void with_four<f()::$_0>(f()::$_0)", "with_four"},
	    {"(lambda at ../../a.h:3:4)::operator()", "::operator()"},
	    /* thunks, clones and other additions of compilers */
	    {"non-virtual thunk to a::b(int)", "a::b"},
	    {"virtual thunk to a::b(int)", "a::b"},
	    {"parse.part.3", "parse"},
	    {"parse.isra.0.part.1.cold", "parse"},
	    {"parse.llvm.1234567890", "parse"},
	    {"parse.constprop.0", "parse"},
	    {"parse(int) [clone .cold]", "parse"},
	    {"parse(int) [clone .part.0] [clone .isra.1]", "parse"},
	    {"a::parse(int) (.llvm.123)", "a::parse"},
	    {"getStub$8d185785d173e702d91e2893e143a6d9.cfi", "getStub"},
	    {"a::f[abi:cxx11](int)", "a::f"},
	    {"__interceptor_memcpy", "memcpy"},
	    {"___interceptor_malloc.part.0", "malloc"},
	    {"a::~a()", "a::~a"},
	    {"a<int>::~a()", "a::~a"},
	    /* no clone: a name in the program */
	    {"main.parse", "main.parse"},
	    {"parse.2d", "parse.2d"},
	    {".cold", ".cold"},
	    /* other languages */
	    {"main.(*T).parse", "main.(*T).parse"},
	    {"core::str::parse::h0123456789abcdef", "core::str::parse"},
	    {"core::str::parse::h0123456789abcdef.llvm.77", "core::str::parse"},
	    {"_ZN4core9panicking5panic17h0123456789abcdefE", "_ZN4core9panicking5panic"},
	    {"_ZN4core9panicking5panicE", "_ZN4core9panicking5panicE"},
	    {"app::h0123456789abcde", "app::h0123456789abcde"},
	    {"::h0123456789abcdef", "::h0123456789abcdef"},
	    {"app::run::{{closure}}::h0123456789abcdef", "app::run::{closure}"},
	    {"app::run::_$u7b$$u7b$closure$u7d$$u7d$::h0123456789abcdef", "app::run::{closure}"},
	    {"app::run::{closure#0}", "app::run::{closure}"},
	    {"app::run::{closure#12}::{closure#0}", "app::run::{closure}::{closure}"},
	    {"app[8787f43e282added]::run::{closure#1}", "app::run::{closure}"},
	    {"app[12]::run", "app[12]::run"},
	    {"app::{impl#3}::run", "app::{impl}::run"},
	    {"app::run::{shim:vtable#0}", "app::run::{shim:vtable}"},
	    {"app::{closure", "app::{closure"},
	    {"app::{closure#}", "app::{closure#}"},
	    {"_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..index..Index$GT$::index"
	     "::h0123456789abcdef",
	     "<alloc::vec::Vec as core::ops::index::Index>::index"},
	    {"app::f$LT$::h0123456789abcdef", "app::f"},
	    {"app::$u7f$$XX$$::h0123456789abcdef", "app::$u7f$$XX$$"},
	    {"operator$LT$", "operator$LT$"},
	    {"<alloc::vec::Vec<T> as core::ops::index::Index>::index",
	     "<alloc::vec::Vec as core::ops::index::Index>::index"},
	    /* texts that cannot be names, and unbalanced brackets */
	    {"(*f)(int)", "(*f)(int)"},
	    {"f<int", "f"},
	    {"f(int", "f"},
	    {"f)>]", "f)>]"},
	    {">>", ">>"},
	};
	char name[FRAME_NAME_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		frame_name(slice_of(t[i].printed), name);
		if (strcmp(name, t[i].name) != 0)
			fail_msg("'%s' is '%s', not '%s'", t[i].printed, name, t[i].name);
	}
}

static void any_length_and_bytes(void **state)
{
	char printed[4096], name[FRAME_NAME_MAX];
	static const char fills[] = {'a', '<', '(', ' ', '.', ':', '$', '\xff', '\0', '{', '['};

	(void)state;
	for (size_t i = 0; i < sizeof(fills); i++) {
		memset(printed, fills[i], sizeof(printed));
		frame_name((struct slice){printed, sizeof(printed)}, name);
		assert_true(strlen(name) < FRAME_NAME_MAX);
		for (const char *c = name; *c; c++)
			assert_true(*c >= ' ' && *c <= '~');
	}
}

static void as_printed_or_short(void **state)
{
	static const struct {
		const char *printed, *fits;
	} t[] = {
	    {"f<int>(char)", "f<int>(char)"},
	    {"a::ring<std::map<int, long> >::at(x)", "a::ring<...>::at(x)"},
	    {"a::operator<(a const&, a const&)", "a::operator<(a const"},
	    {"a_function_with_a_long_name(int)", "a_function_with_a_lo"},
	    {"<x as y>::z<aaaaaaaaaaaaaaaaaaaaa>", "<x as y>::z<...>"},
	};
	char buf[25];

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		frame_function(slice_of(t[i].printed), buf, sizeof(buf));
		if (strcmp(buf, t[i].fits) != 0)
			fail_msg("'%s' is '%s', not '%s'", t[i].printed, buf, t[i].fits);
	}
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(as_printed_or_short),
    cmocka_unit_test(names_without_what_differs),
    cmocka_unit_test(any_length_and_bytes),
};

UNIT_MAIN(tests)
