# SPDX-License-Identifier: Apache-2.0
# Reads TAP files and prints one line "PASSED FAILED SKIPPED".  A file with no plan, with two plans
# or with another number of tests than planned counts as failed.  Each failure is printed on
# standard error with its file.
function bad(n, why) {
	failed += n
	print "# " file ": " why > "/dev/stderr"
}

function finish() {
	if (file == "")
		return
	if (plans != 1)
		bad(1, plans ? "more than one plan" : "no plan")
	else if (seen < plan)
		bad(plan - seen, "planned " plan " tests, " seen " ran")
	else if (seen > plan)
		bad(1, "planned " plan " tests, " seen " ran")
}

function skip(text) {
	skipped++
	sub(/^.*# *[Ss][Kk][Ii][Pp][^ ]* */, "", text)
	if (reasons)
		print file ": " text > reasons
}

FNR == 1 { finish(); file = FILENAME; sub(/^.*\//, "", file); plans = seen = plan = 0 }
/^1\.\.[0-9]+/ {
	plans++
	plan = substr($1, 4) + 0
	if (plan == 0)
		skip($0)
	next
}
/^Bail out!/ { bad(1, $0); next }
# cmocka 1.1.5 prints "not ok N # SKIP name"; prove also treats this as a skip.
/^(not )?ok .*# *[Ss][Kk][Ii][Pp]/ { seen++; skip($0); next }
/^not ok/ { seen++; bad(1, $0); next }
/^ok( |$)/ { seen++; passed++ }
END { finish(); print passed + 0, failed + 0, skipped + 0 }
