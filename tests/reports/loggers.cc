// SPDX-License-Identifier: Apache-2.0
// Libraries that report a failure of their caller and end the process.
#include "tests/reports/bugs.h"

#include <absl/base/internal/raw_logging.h>
#include <glog/logging.h>
#include <llvm/Support/ErrorHandling.h>
#include <openssl/crypto.h>

static int glog_check()
{
	CHECK_GT(HIDE(1), 4) << "too short";
	return HIDE(1);
}

static int glog_fatal()
{
	LOG(FATAL) << "bad header " << HIDE(1);
	return HIDE(1);
}

static int glog_null()
{
	int *p = HIDE((int *)nullptr);

	CHECK_NOTNULL(p);
	return HIDE(1);
}

static int absl_check()
{
	ABSL_RAW_CHECK(HIDE(1) > 4, "too short");
	return HIDE(1);
}

static int openssl_assert()
{
	OPENSSL_assert(HIDE(1) > 4);
	return HIDE(1);
}

static int llvm_fatal()
{
	if (HIDE(1))
		llvm::report_fatal_error("bad bitcode header");
	return HIDE(1);
}

static int llvm_unreachable_kind()
{
	if (HIDE(1))
		llvm::llvm_unreachable_internal("no such kind", "/src/kinds.cc", 21);
	return HIDE(1);
}

static const bug bugs[] = {
    BUG(glog_check),
    BUG(glog_fatal),
    BUG(glog_null),
    BUG(absl_check),
    BUG(openssl_assert),
    BUG(llvm_fatal),
    BUG(llvm_unreachable_kind),
    BUG_END,
};

#include "tests/reports/one_table.h"
