#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks for banned functions, for headers that a room must not include (both with reasons), for
# missing SPDX lines, and for paths of a developer's machine.  Comments and strings do not count.  A
# line may opt out with /* allow: reason */ on it or above it.
#
# usage: ci/banned.sh    prints violations; then the status is 1
set -eu -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
code=$(mktemp)
trap 'rm -f "$code"' EXIT
bad=0

tracked() {
	git ls-files --cached --others --exclude-standard -- "$@" | while IFS= read -r f; do
		[[ ! -f $f ]] || printf '%s\n' "$f"
	done
}

# Prints FILE:LINE:CODE of every line without "allow:", without comments and strings.
# shellcheck disable=SC2016 # awk's
strip='
FNR == 1 { comment = above = 0 }
{
	line = $0
	out = ""
	waived = above || line ~ /\/\* allow: [^ *]/
	above = line ~ /^[ \t]*\/\* allow: [^ *].*\*\/$/
	if (!comment && line ~ /^#[ \t]*include/) { out = line; line = "" }
	while (line != "") {
		if (comment) {
			if (!match(line, /\*\//)) break
			line = substr(line, RSTART + 2)
			comment = 0
		} else if (match(line, /\/\*|"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047/)) {
			comment = substr(line, RSTART, 2) == "/*"
			out = out substr(line, 1, RSTART - 1) (comment ? " " : "\"\"")
			line = substr(line, RSTART + RLENGTH)
		} else {
			out = out line
			break
		}
	}
	if (!waived && out ~ /[^ \t]/)
		print FILENAME ":" FNR ":" out
}'
tracked 'base/*.[ch]' 'cgroups/*.[ch]' 'images/*.[ch]' 'cells/*.[ch]' 'runner/*.[ch]' |
	xargs awk "$strip" >"$code"

# forbid WHY REGEX [FILES]: lines that match, outside of FILES (a regex of paths).
forbid() {
	local hits

	hits=$(grep -E -- "$2" "$code" | grep -vE "^(${3:-none}):" || true)
	[[ -n $hits ]] || return 0
	printf '%s:\n%s\n' "$1" "$hits"
	bad=1
}

# calls WHY NAMES [FILES]: calls of functions; ".name(" and "->name(" are members.
calls() {
	forbid "$1" "^[^:]*:[0-9]*:(.*[^_.>[:alnum:]])?($2)[[:space:]]*\(" "${3:-}"
}

# knows ROOM ROOMS: files of ROOM (a regex of paths) include headers of ROOMS, no others of ours.
knows() {
	local hits

	hits=$(grep -E "^$1[^:]*:[0-9]*:#[[:space:]]*include[[:space:]]+\"" "$code" |
		grep -vE "include[[:space:]]+\"$2" || true)
	[[ -n $hits ]] || return 0
	printf '%s may include headers of %s alone:\n%s\n' "$1" "$2" "$hits"
	bad=1
}

# only LIBRARY HEADERS FILES: a library is known in one module.
only() {
	forbid "$1 belongs in $3" "^[^:]*:[0-9]*:#[[:space:]]*include[[:space:]]+<($2)>" "$3"
}

calls 'unbounded or lossy (snprintf, slices)' \
	'v?sprintf|st[rp]cpy|strcat|gets|strncpy|strtok(_r)?|alloca'
calls 'numbers by scan_u64, which has a maximum' \
	'ato(i|l|ll|f)|strto(l|ll|ul|ull|imax|umax|d|f|ld)|v?[fs]?scanf'
calls 'no shell' 'system|popen|wordexp'
calls 'use sys_*: tests make each fail' \
	'openat2?|open|creat|fopen|opendir|rename(at)?|f(data)?sync|mkdir(at)?|unlink(at)?|rmdir|remove|pipe2?' \
	'base/sys\.c'
calls 'base/memory.h ends the process when there is no memory' \
	'(m|c|re)alloc|reallocarray|strn?dup|v?asprintf' 'base/memory\.c'
# A call may take several lines.
waits=$(awk -F: '$1 ~ /^runner\// {
		code = substr($0, length($1 FS $2 FS) + 1)
		if (code ~ /sys_openat\(/) { at = $1 ":" $2; call = "" }
		if (at == "") next
		call = call code
		if (code !~ /;/) next
		if (call !~ /O_(DIRECTORY|PATH|NONBLOCK|EXCL)/) print at ":" call
		at = ""
	}' "$code")
if [[ -n $waits ]]; then
	printf 'a FIFO in its place would block: use fs_open_file\n%s\n' "$waits"
	bad=1
fi
calls 'no signal handlers: loop_add_signal' 'signal|sigaction|bsd_signal'
calls 'a number may be another process by now: proc_kill' 'kill|killpg|tgkill' 'base/proc\.c'
calls 'nothing waits but the loop' '(u|nano|clock_nano)?sleep|p?select|p?poll|epoll_p?wait' 'base/loop\.c'
calls 'return an error; only main ends the program' 'exit|quick_exit|abort|atexit|longjmp|siglongjmp' \
	'runner/main\.c'
calls 'paths are relative to a held directory' 'chdir|fchdir|realpath|mktemp|tempnam|tmpnam'
forbid 'ownership is scope: no goto' '[^_[:alnum:]]goto[^_[:alnum:]]'
forbid 'struct in the reader'"'"'s face: no typedef' '[^_[:alnum:]]typedef[[:space:]]+(struct|union|enum)[^_[:alnum:]]'
# Adapters are pure: text in, values out.
forbid 'an engine adapter has no clock' \
	'^runner/engine/[^:]*:[0-9]*:(.*[^_.>[:alnum:]])?(time|clock_[a-z_]*|gettimeofday)[[:space:]]*\('
forbid 'a policy is pure: times are arguments' \
	'^runner/policy/[^:]*:[0-9]*:(.*[^_.>[:alnum:]])?(time|clock_[a-z_]*|gettimeofday)[[:space:]]*\('

forbid 'a page is made from its model alone' \
	'^runner/serve/page/[^:]*:[0-9]*:(.*[^_.>[:alnum:]])?(time|clock_[a-z_]*|gettimeofday)[[:space:]]*\('
forbid 'health is judged by values alone: times are arguments' \
	'^runner/status/health/[^:]*:[0-9]*:(.*[^_.>[:alnum:]])?(time|clock_[a-z_]*|gettimeofday)[[:space:]]*\('

# Arrows: runner -> cells -> images -> cgroups -> base; only main.c knows command/.
knows base/ base/
knows cgroups/ '(base|cgroups)/'
knows images/ '(base|cgroups|images)/'
knows cells/ '(base|cgroups|images|cells)/'
knows runner/engine/ '(base|runner/engine)/'
knows runner/control/ '(base|runner/control)/'
knows runner/policy/ '(base/clock\.h|runner/policy/)'
knows runner/status/health/ '(base|runner/status/health)/'
# A page sees its model alone.
knows runner/serve/page/ '(base/(buf|cleanup|clock|json|memory|units|utf8)\.h|runner/serve/(internal\.h|page/))'
knows 'runner/(run|command)/' '(base|cgroups|images|cells|runner)/'
knows 'runner/([^rc]|r[^u]|c[^o]|con|cor)' '(base|runner)/'
knows 'runner/([^mc]|c[^o]|co[^m])' '(base|cgroups|images|cells|runner/([^c]|c[^o]|co[^m]))'

only libcgroup 'libcgroup\.h|libcgroup/.*' 'cgroups/group\.c'
only libseccomp 'seccomp\.h' 'images/seccomp\.c'
only jansson 'jansson\.h' 'base/json\.h'
only libsystemd 'systemd/.*' 'base/(loop|journal)\.c'
only libmd 'sha[0-9]*\.h|md[0-9]*\.h|rmd160\.h' 'base/digest\.c'
only libcurl 'curl/.*' 'runner/publish/http/http\.c'
only libmicrohttpd 'microhttpd\.h' 'runner/serve/http\.c'
only libyaml 'yaml\.h' 'runner/config/project\.c'
only libexpat 'expat\.h' 'runner/targets/bazel/graph\.c'
# What reads hostile archives is not what writes ours.
only libarchive 'archive(_entry)?\.h' '(runner/targets/seeds|base/pack)\.c'

# Rooms do not include each other in a circle.
circle=$(sed -nE 's|^runner/([a-z]+)/[^:]*:[0-9]*:#include "runner/([a-z]+)/.*|\1 \2|p' "$code" |
	awk '$1 != $2' | sort -u | tsort 2>&1 >/dev/null) || true
if [[ -n $circle ]]; then
	printf 'rooms include each other in a circle:\n%s\n' "$circle"
	bad=1
fi

# One writer: headings of struct job name the file that writes the members below them.
forbid 'job_step() alone sets the phase' '^runner/run/.*->phase[[:space:]]*=[^=]' 'runner/run/job/job\.c'
forbid 'only the policy writes its targets' '->fleet->[a-z_.]+[[:space:]]*([-+|&]?=[^=]|\+\+|--)' \
	'runner/policy/.*'
members=0
path='([.][a-z_0-9]+|\[[^]]*\])*' # of a member within the member
while read -r file names; do
	forbid "written by $file alone" \
		"^runner/run/.*[^[:alnum:]_]j->($names)${path}[[:space:]]*([-+|&]?=[^=]|\+\+|--)" \
		"runner/run/(job/)?${file//./\\.}"
	members=$((members + 1))
done < <(awk '
	/--- Written by / {
		if (names) print file, names
		file = $0; sub(/.*Written by /, "", file); sub(/\.c.*/, ".c", file); names = ""
	}
	/--- Each written by/ { print file, names; exit }
	{
		gsub(/\/\*[^*]*\*\//, "")
		if (comment) { if (!sub(/.*\*\//, "")) next; comment = 0 }
		if (sub(/\/\*.*/, "")) comment = 1
	}
	file && /^\t[^\t]/ && /;[ \t]*$/ {
		sub(/;[ \t]*$/, ""); sub(/^.*}/, "")
		n = split($0, part, ",")
		for (i = 1; i <= n; i++) {
			gsub(/\[[^]]*\]/, "", part[i]); sub(/[ \t]+$/, "", part[i])
			if (match(part[i], /[a-z_0-9]+$/))
				names = names (names ? "|" : "") substr(part[i], RSTART)
		}
	}' runner/run/job/job.h)
[[ $members -ge 8 ]] || { echo 'runner/run/job/job.h: no headings that name writers'; bad=1; }

while IFS= read -r f; do
	head -n 2 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' && continue
	echo "$f: no SPDX line"
	bad=1
done < <(tracked '*.c' '*.h' '*.inc' '*.sh' '*.bash' '*.bats' '*.mk' '*.awk' Makefile Dockerfile .ci/run)

# Written so that these lines do not match.
if git grep -nIE '(^|[^[:alnum:]_.$}-])/(wor[k]/(main|shared)|hom[e]/[a-z]+)/' -- . ':!LICENSE'; then
	echo 'a path of a developer'"'"'s machine'
	bad=1
fi
exit "$bad"
