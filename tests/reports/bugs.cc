// SPDX-License-Identifier: Apache-2.0
// Planted bugs in functions with names that only C++ has.
#include "tests/reports/bugs.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace
{

struct in_anonymous {
	int size;

	NOINLINE int peek(const int *p) const
	{
		int got = p[size];

		return HIDE(got);
	}
};

NOINLINE int hidden_over_read(const int *p)
{
	int r = in_anonymous{4}.peek(p);

	return HIDE(r);
}

} // namespace

namespace outer
{
namespace inner
{

// Templates: types, numbers, functions and packs as arguments.
template <class T, int N> struct ring {
	T *items;

	NOINLINE T at(int i) const
	{
		T got = items[i];

		return HIDE(got);
	}

	template <class U> NOINLINE U at_as(int i) const
	{
		U got = static_cast<U>(at(i + N));

		return HIDE(got);
	}
};

template <class... A> NOINLINE int sum(const int *p, A... rest)
{
	int r = p[sizeof...(rest) + 1];

	return HIDE(r);
}

NOINLINE int over_read(const int *p)
{
	int got = p[4];

	return HIDE(got);
}

template <int (*F)(const int *)> NOINLINE int apply(const int *p)
{
	int r = F(p);

	return HIDE(r);
}

// Operators.
struct cursor {
	const int *p;

	NOINLINE int operator()(int i) const
	{
		int got = p[i];

		return HIDE(got);
	}
	NOINLINE int operator[](int i) const
	{
		int got = p[i];

		return HIDE(got);
	}
	NOINLINE const int *operator->() const
	{
		int got = p[4];

		return got == 77 ? p : p + HIDE(1);
	}
	NOINLINE bool operator<(const cursor &o) const
	{
		bool r = p[4] < o.p[0];

		return r;
	}
	NOINLINE cursor &operator<<(int n)
	{
		const_cast<int *>(p)[n] = n;
		return *this;
	}
	NOINLINE operator int() const
	{
		int got = p[4];

		return HIDE(got);
	}
	NOINLINE explicit operator std::vector<int>() const
	{
		return {p[4]};
	}
};

NOINLINE int operator""_over(unsigned long long n)
{
	int *p = HIDE(new int[4]);
	int got = p[n];

	delete[] p;
	return HIDE(got);
}

// Virtual calls through the second base, so through a thunk.
struct reader {
	virtual ~reader() = default;
	virtual int read(const int *p) = 0;
};

struct named {
	virtual ~named() = default;
	long more[2] = {};
};

struct file_reader : named, reader {
	NOINLINE int read(const int *p) override
	{
		int got = p[4];

		return HIDE(got);
	}
};

} // namespace inner
} // namespace outer

using namespace outer::inner;

template <class F> static int with_four(F f)
{
	int *p = HIDE(new int[4]());
	int r = f(p);

	delete[] p;
	return HIDE(r);
}

static int *four()
{
	return HIDE(new int[4]());
}

static int anonymous_over()
{
	int r = hidden_over_read(four());

	return HIDE(r);
}

static int template_over()
{
	int r = ring<int, 2>{four()}.at(4);

	return HIDE(r);
}

static int template_nested_over()
{
	long r = ring<int, 2>{four()}.at_as<long>(2);

	return static_cast<int>(HIDE(r));
}

static int template_pack_over()
{
	int r = sum(four(), 'a', 2L, "three");

	return HIDE(r);
}

static int template_function_over()
{
	int r = apply<over_read>(four());

	return HIDE(r);
}

static int template_of_templates_over()
{
	std::map<std::string, std::vector<std::unique_ptr<int>>> m;
	ring<decltype(m) *, 3> r{HIDE(new decltype(m) *[2]())};
	auto *got = r.at(2);

	return HIDE(got) != nullptr;
}

static int call_operator_over()
{
	int r = cursor{four()}(4);

	return HIDE(r);
}

static int index_operator_over()
{
	int r = cursor{four()}[4];

	return HIDE(r);
}

static int arrow_operator_over()
{
	auto r = cursor{four()}.operator->();

	return HIDE(r) == nullptr;
}

static int less_operator_over()
{
	bool r = cursor{four()} < cursor{four()};

	return HIDE(static_cast<int>(r));
}

static int shift_operator_over()
{
	cursor{four()} << 4;
	return HIDE(0);
}

static int conversion_over()
{
	int r = cursor{four()};

	return HIDE(r);
}

static int conversion_template_over()
{
	auto r = static_cast<std::vector<int>>(cursor{four()});

	return static_cast<int>(HIDE(r.size()));
}

static int literal_over()
{
	int r = 4_over;

	return HIDE(r);
}

static int lambda_over()
{
	auto f = [](const int *p) NOINLINE {
		int got = p[4];

		return HIDE(got);
	};
	int r = f(four());

	return HIDE(r);
}

static int lambda_generic_over()
{
	auto f = [](auto *p, auto n) NOINLINE {
		int got = p[n];

		return HIDE(got);
	};
	int r = f(four(), 4L);

	return HIDE(r);
}

inline NOINLINE int lambda_in_inline()
{
	auto f = [n = HIDE(4)](const int *p) NOINLINE {
		int got = p[n];

		return HIDE(got);
	};
	int r = f(four());

	return HIDE(r);
}

static int lambda_inline_over()
{
	int r = lambda_in_inline();

	return HIDE(r);
}

static int lambda_argument_over()
{
	int r = with_four([](const int *p) {
		int got = p[4];

		return HIDE(got);
	});

	return HIDE(r);
}

static int std_function_over()
{
	std::function<int(const int *)> f = over_read;
	int r = f(four());

	return HIDE(r);
}

static int std_function_lambda_over()
{
	std::function<int(const int *)> f = [](const int *p) {
		int got = p[4];

		return HIDE(got);
	};
	int r = f(four());

	return HIDE(r);
}

static int virtual_over()
{
	file_reader f;
	reader *r = HIDE(static_cast<reader *>(&f));
	int got = r->read(four());

	return HIDE(got);
}

static int member_pointer_over()
{
	int (cursor::*m)(int) const = &cursor::operator();
	cursor c{four()};
	int r = (c.*m)(HIDE(4));

	return HIDE(r);
}

struct local_type_user {
	static int run()
	{
		struct local {
			NOINLINE int peek(const int *p)
			{
				int got = p[4];

				return HIDE(got);
			}
		};
		int r = local{}.peek(four());

		return HIDE(r);
	}
};

static int local_type_over()
{
	int r = local_type_user::run();

	return HIDE(r);
}

static int string_over()
{
	std::string s(40, 'x');
	const char *p = HIDE(s.data());
	std::string copy(p, HIDE(static_cast<size_t>(64)));

	return copy[HIDE(50)];
}

static int sort_over()
{
	std::vector<int> v{3, 1, 2};
	const int *p = four();

	std::sort(v.begin(), v.end(), [p](int a, int b) { return p[a + 3] < p[b + 3]; });
	return HIDE(v[0]);
}

static int vector_over()
{
	std::vector<int> v;

	v.reserve(16);
	v.push_back(1);
	return HIDE(v.data())[5];
}

static int iterator_after_free()
{
	std::vector<int> v(4);
	auto it = v.begin();

	v.resize(4000);
	return *HIDE(&*it);
}

static int thread_body_over()
{
	int got = 0;

	std::thread([&got] {
		int *p = four();

		got = p[4];
	}).join();
	return HIDE(got);
}

static const bug name_bugs[] = {
    BUG(anonymous_over),
    BUG(template_over),
    BUG(template_nested_over),
    BUG(template_pack_over),
    BUG(template_function_over),
    BUG(template_of_templates_over),
    BUG(call_operator_over),
    BUG(index_operator_over),
    BUG(arrow_operator_over),
    BUG(less_operator_over),
    BUG(shift_operator_over),
    BUG(conversion_over),
    BUG(conversion_template_over),
    BUG(literal_over),
    BUG(lambda_over),
    BUG(lambda_generic_over),
    BUG(lambda_inline_over),
    BUG(lambda_argument_over),
    BUG(std_function_over),
    BUG(std_function_lambda_over),
    BUG(virtual_over),
    BUG(member_pointer_over),
    BUG(local_type_over),
    BUG(string_over),
    BUG(sort_over),
    BUG(vector_over),
    BUG(iterator_after_free),
    BUG(thread_body_over),
    BUG_END,
};

NOINLINE static int dispatch(const bug *b)
{
	int r = b->run();

	return HIDE(r);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int r = 0;

	for (const bug *table : {name_bugs, kind_bugs})
		for (const bug *b = table; b->name; b++)
			if (strlen(b->name) == size && memcmp(b->name, data, size) == 0)
				r = dispatch(b);
	return HIDE(r) & 0;
}
