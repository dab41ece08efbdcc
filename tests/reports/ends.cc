// SPDX-License-Identifier: Apache-2.0
// More bugs of C++ only: destructors, new and delete, exceptions, casts, threads.
#include "tests/reports/bugs.h"

#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <vector>

static int *four()
{
	return HIDE(new int[4]());
}

// --- new and delete -----------------------------------------------------------

// Deleted twice, by its own destructor the second time.
struct owner {
	int *p = four();

	NOINLINE ~owner()
	{
		delete[] p;
		(void)HIDE(0);
	}
};

static int destructor_double_free()
{
	auto *o = HIDE(new owner);

	delete[] o->p;
	delete o;
	return HIDE(0);
}

static int free_of_new()
{
	free(HIDE(new int));
	return HIDE(0);
}

static int delete_of_new_array()
{
	delete HIDE(new int[4]);
	return HIDE(0);
}

struct small {
	char c;
};

struct large : small {
	char more[63];
};

static int delete_wrong_size()
{
	delete HIDE(static_cast<small *>(new large));
	return HIDE(0);
}

static int new_leak()
{
	int *p = four();

	p = HIDE(static_cast<int *>(nullptr));
	return p != nullptr;
}

static int make_leak()
{
	auto p = std::make_unique<std::vector<int>>(100);
	auto *raw = HIDE(p.release());

	raw = HIDE(static_cast<std::vector<int> *>(nullptr));
	return raw != nullptr;
}

// --- ends that only C++ has --------------------------------------------------

NOINLINE static void check(int version)
{
	if (HIDE(version) != 2)
		throw std::runtime_error("unknown version");
}

static int exception_uncaught()
{
	check(3);
	return HIDE(0);
}

static int exception_of_int()
{
	if (HIDE(1))
		throw 42;
	return 0;
}

NOINLINE static void may_not_throw() noexcept
{
	check(3);
	(void)HIDE(0);
}

static int exception_in_noexcept()
{
	may_not_throw();
	return HIDE(0);
}

static int std_terminate()
{
	std::terminate();
}

static int out_of_range()
{
	std::vector<int> v(3);

	return v.at(HIDE(static_cast<size_t>(7)));
}

struct abstract {
	NOINLINE abstract()
	{
		call();
		(void)HIDE(0);
	}
	virtual ~abstract() = default;
	NOINLINE void call()
	{
		HIDE(this)->pure();
		(void)HIDE(0);
	}
	virtual void pure() = 0;
};

struct concrete : abstract {
	NOINLINE concrete()
	{
		(void)HIDE(0);
	}
	void pure() override
	{
	}
};

static int pure_virtual()
{
	concrete c;

	return HIDE(&c) == nullptr;
}

static int bad_alloc()
{
	std::vector<char> v(HIDE(static_cast<size_t>(1) << 46));

	return v[0];
}

// --- undefined behaviour that only C++ has -----------------------------------

struct animal {
	virtual ~animal() = default;
	virtual int legs()
	{
		return 4;
	}
};

struct bird : animal {
	NOINLINE int legs() override
	{
		return HIDE(2);
	}
};

struct plant {
	virtual ~plant() = default;
	virtual int leaves()
	{
		return 9;
	}
};

static int bad_cast()
{
	auto *a = HIDE(new animal);
	int r = static_cast<bird *>(a)->legs();

	return HIDE(r);
}

static int bad_member_call()
{
	auto *a = HIDE(reinterpret_cast<animal *>(new plant));
	int r = a->legs();

	return HIDE(r);
}

enum colour { RED, GREEN, BLUE };

static int enum_value()
{
	int raw = 77;
	colour *c = HIDE(reinterpret_cast<colour *>(&raw));

	return *c == BLUE ? 1 : 2;
}

NOINLINE static int forgets_to_return(int n)
{
	if (HIDE(n) == 5)
		return 1;
}

static int no_return_value()
{
	int r = forgets_to_return(HIDE(4));

	return HIDE(r);
}

static int null_reference()
{
	int &r = *HIDE(static_cast<int *>(nullptr));

	return HIDE(&r) == nullptr;
}

NOINLINE static int takes_int(int n)
{
	return HIDE(n);
}

static int wrong_function_type()
{
	auto *f = HIDE(reinterpret_cast<int (*)(long, long)>(takes_int));
	int r = f(1, 2);

	return HIDE(r);
}

template <class T> NOINLINE T add(T a, T b)
{
	T r = a + b;

	return HIDE(r);
}

static int template_overflow()
{
	int r = add<int>(HIDE(0x7fffffff), HIDE(1));

	return HIDE(r);
}

static int lambda_shift()
{
	auto f = [](int n) NOINLINE {
		int r = 1 << n;

		return HIDE(r);
	};
	int r = f(HIDE(40));

	return HIDE(r);
}

struct counter {
	int n = 0;

	NOINLINE int next()
	{
		int r = n + 1;

		return HIDE(r);
	}
};

static int null_member_call()
{
	auto *c = HIDE(static_cast<counter *>(nullptr));
	int r = c->next();

	return HIDE(r);
}

// --- threads ------------------------------------------------------------------

struct counters {
	int n = 0;

	// libFuzzer's coverage counters race as well, and first: not here.
	__attribute__((noinline, no_sanitize("coverage"))) void operator++()
	{
		n = n + 1;
	}
};

// Two types of lambdas, so that the library's template instances are not shared either.  TSan can
// miss two accesses at the very same moment; it sees no order in the sleep.
static int template_race()
{
	counters c;
	std::thread a([&c] {
		++c;
		(void)HIDE(0);
	});
	std::thread b([&c] {
		usleep(50000);
		++c;
		(void)HIDE(1);
	});

	a.join();
	b.join();
	return HIDE(c.n);
}

extern const bug kind_bugs[] = {
    BUG(destructor_double_free),
    BUG(free_of_new),
    BUG(delete_of_new_array),
    BUG(delete_wrong_size),
    BUG(new_leak),
    BUG(make_leak),
    BUG(exception_uncaught),
    BUG(exception_of_int),
    BUG(exception_in_noexcept),
    BUG(std_terminate),
    BUG(out_of_range),
    BUG(pure_virtual),
    BUG(bad_alloc),
    BUG(bad_cast),
    BUG(bad_member_call),
    BUG(enum_value),
    BUG(no_return_value),
    BUG(null_reference),
    BUG(wrong_function_type),
    BUG(template_overflow),
    BUG(lambda_shift),
    BUG(null_member_call),
    BUG(template_race),
    BUG_END,
};
