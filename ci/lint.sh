#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs format checks, rules and analysers, one test each, as TAP with durations.
#
# usage: [B=build] ci/lint.sh [quick|slow]    default: both
set -u

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
B=${B:-build}
make=${MAKE:-make}
unset MAKEFLAGS MFLAGS MAKELEVEL
export B
flags=(-std=c11 -I. -D_GNU_SOURCE '-DFUZZCELL_VERSION="lint"' '-DINIT_FILE="LICENSE"' -DANALYSE)
read -r -a package_flags < <(pkg-config --cflags libsystemd jansson libseccomp libcgroup libarchive libmd \
	libcurl libcrypto expat libmicrohttpd yaml-0.1)
flags+=("${package_flags[@]}")

n=0
bad=0

# check NAME COMMAND...: one test; the command's output goes to standard error.
check() {
	local name=$1 began=$SECONDS said
	shift

	n=$((n + 1))
	if said=$("$@" 2>&1); then
		echo "ok $n - $name ($((SECONDS - began)) s)"
	else
		bad=$((bad + 1))
		echo "not ok $n - $name"
		printf '%s\n' "$said" | sed 's/^/# /'
	fi
}

# The files in git, and new files that git does not ignore: they are linted before they are added.
files() {
	git ls-files -z --cached --others --exclude-standard -- "$@" |
		while IFS= read -r -d '' file; do
			[[ ! -f $file ]] || printf '%s\0' "$file"
		done
}

sources() {
	files 'base/*.c' 'cgroups/*.c' 'images/*.c' 'cells/*.c' 'runner/*.c'
}

formatted() {
	files '*.c' '*.h' | xargs -0 -r clang-format --dry-run -Werror
}

# Finds shell scripts by their first line.  SC2016 is off: some text is expanded by another shell.
# In bats files SC2030, SC2031, SC2034, SC2153 and SC2154 are off, too: their tests are subshells
# with variables from `run` and from lib.bash.
shell_clean() {
	local status=0

	files | xargs -0 grep -lIE -m 1 '^#!(/usr/bin/env |/bin/)(ba|da)?sh' -- | grep -v '\.bats$' |
		xargs -r shellcheck -x -e SC2016 || status=1
	files '*.bats' '*.bash' | xargs -0 -r shellcheck -x -s bats \
		-e SC2016,SC2030,SC2031,SC2034,SC2153,SC2154 || status=1
	return "$status"
}

header_alone() {
	gcc "${flags[@]}" -Wall -Wextra -Werror -fsyntax-only -include "$1" -x c /dev/null
}

headers_alone() {
	local status=0 h

	while IFS= read -r -d '' h; do
		header_alone "$h" || status=1
	done < <(files 'base/*.h' 'cgroups/*.h' 'images/*.h' 'cells/*.h' 'runner/*.h')
	return "$status"
}

sizes() {
	files '*.c' '*.h' '*.sh' '*.bats' | xargs -0 awk '
		FNR == 1001 { print FILENAME ": more than 1,000 lines"; bad = 1 }
		END { exit bad }'
}

# Written so that this line does not match itself.
no_todo() {
	! git grep -nE '\b((TO)DO|(FIX)ME)\b([^|]|$)' -- . ':!LICENSE' ':!*.md'
}

# Words that stand for contorted sentences; in documents also "who" of anything but people.  Bundled
# files and recorded output are not ours to change.
plain_words() {
	local ours=(':!LICENSE' ':!deb/copyright' ':!ci/lint.sh' ':!runner/serve/assets/vendor'
		':!tests/corpus' ':!tests/data' ':!tests/fleet')
	local names='(user|User|-R|id|history|ignore|chown|target) .?nobody|nobody:|@somebody|"nobody"'
	local people='(people|users?( [0-9]+)?|engineers?|maintainers?|developers?|readers?|authors?),? who'
	local words='whom|whose|nobody|somebody|one that'
	local status=0

	! git grep -nIiwE "$words" -- "${ours[@]}" | grep -vE "$names" || status=1
	! git grep -nIiwE 'who' -- '*.md' '*.1' '*.yaml' "${ours[@]}" |
		grep -viE "$people|who.a.build|who can connect" || status=1
	return "$status"
}

# Those that the branch adds, at least the last 30.
commit_subjects() {
	local n

	git rev-parse -q --verify HEAD >/dev/null 2>&1 || return 0
	n=$(git rev-list --count origin/main..HEAD 2>/dev/null || echo 0)
	git log -n "$((n > 30 ? n : 30))" --no-merges --format='%h %s' | awk '
		length($0) - length($1) - 1 > 72 { print "more than 72 characters: " $0; bad = 1 }
		END { exit bad }'
}

manual() {
	[[ -z $(mandoc -T lint -W warning docs/fuzzcell.1 | tee /dev/stderr) ]]
}

built() {
	"$make" -s -j2 "$@"
}

no_fault_points() {
	! nm "$B/fuzzcell" | grep fault_arm
}

# -O0, because with -O1 gcc 12's analyser misses a NULL from malloc and a leak (two of seven planted
# bugs).  Its check for uninitialised values is off: it often reports '<unknown>' (compound
# literals), and clang-tidy has that check, too.
analyse() {
	sources | xargs -0 -r -n 1 -P 2 gcc "${flags[@]}" -O0 -fanalyzer -Werror \
		-Wno-analyzer-use-of-uninitialized-value -c -o /dev/null
}

# clang-tidy takes longest by far, so it checks only the files of the last commits, more than a
# branch usually has.  LINT_COMMITS=all: all files.
TIDY_COMMITS=${LINT_COMMITS:-60}
tidied() {
	if [[ $TIDY_COMMITS == all || $(git rev-list --count HEAD 2>/dev/null || echo 0) -lt $TIDY_COMMITS ]]; then
		sources
	else
		comm -z -12 <(sources | sort -z) \
			<(git log -n "$TIDY_COMMITS" -z --format= --name-only | sort -zu)
	fi
}

tidy() {
	tidied | xargs -0 -r -P 2 -I '{}' clang-tidy --quiet '{}' -- "${flags[@]}"
}

quick() {
	check 'clang-format' formatted
	check 'shellcheck' shell_clean
	check 'banned calls and includes' ci/banned.sh
	check 'each header compiles alone' headers_alone
	check 'no file above 1,000 lines' sizes
	check 'no open ends' no_todo
	check 'plain words' plain_words
	check 'commit subjects' commit_subjects
	[[ ! -e docs/fuzzcell.1 ]] || check 'man page' manual
}

slow() {
	check 'gcc build' built B="$B" all
	check 'measuring programs build' built B="$B" bench-programs
	check 'no fault points in the product' no_fault_points
	check 'gcc -fanalyzer' analyse
	check 'clang-tidy' tidy
}

case ${1:-all} in
quick) quick ;;
slow) slow ;;
all)
	quick
	slow
	;;
*)
	echo "usage: ci/lint.sh [quick|slow]" >&2
	exit 2
	;;
esac
echo "1..$n"
[[ $bad -eq 0 ]]
