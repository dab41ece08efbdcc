# SPDX-License-Identifier: Apache-2.0
# Planted targets built with AFL++.

# built DIRECTORY NAME...
built() {
	local dir=$1 name planted=$BATS_TEST_DIRNAME/../targets
	local -a more
	shift
	mkdir -p "$dir"
	for name in "$@"; do
		more=()
		[ "$name" != escape_fuzzer ] || more=("$planted"/escape_files.c "$planted"/escape_kernel.c)
		AFL_QUIET=1 afl-clang-fast -std=c11 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address \
			-I "$planted" -o "$dir/$name" "$planted/$name.c" "${more[@]}"
	done
}
