// SPDX-License-Identifier: Apache-2.0
// Bugs that libc++'s hardening stops, in its fast and extensive modes: the message is in the name
// of a frame.
#include "tests/reports/bugs.h"

#include <optional>
#include <string>
#include <vector>

static int index_past_end()
{
	std::vector<int> v(3);
	int r = v[HIDE(std::size_t(5))];

	return HIDE(r);
}

static int front_of_empty()
{
	std::vector<int> v;
	int r = v.front();

	return HIDE(r);
}

static int value_of_none()
{
	std::optional<int> o;
	int r;

	if (HIDE(0))
		o = 3;
	r = *o;
	return HIDE(r);
}

static int pop_of_empty()
{
	std::string s;

	s.pop_back();
	return HIDE(1);
}

static const bug bugs[] = {
    BUG(index_past_end), BUG(front_of_empty), BUG(value_of_none), BUG(pop_of_empty), BUG_END,
};

#include "tests/reports/one_table.h"
