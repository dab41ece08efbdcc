#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the real targets of the demo: examples/build.sh OUT_DIR [VARIANT]...
#
# Each folder with a recipe.sh beside this script is one library.  Its source is the
# distribution's own source package, fetched with apt.  Its recipe.sh has the
# sources and flags; its *_fuzzer.c are the targets.  OUT_DIR becomes an output
# directory in the OSS-Fuzz layout; sources, objects and logs go to OUT_DIR.work.
# VARIANT is OSS-Fuzz's name of a sanitizer: address, undefined, memory, coverage.
# Then OUT_DIR/VARIANT is the output directory.  Only files that are missing or older than their source are built.
#
# apt reads deb-src lines from a private copy of this machine's sources: /etc and
# the machine's package lists stay as they are.  Environment: FUZZCC (clang).
set -eu

usage() {
	echo 'usage: examples/build.sh OUT_DIR [address|undefined|memory|coverage]...' >&2
	exit 2
}
[ $# -ge 1 ] || usage
case $1 in -*) usage ;; esac

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" "$1.work"
top=$(cd "$1" && pwd)
work=$(cd "$1.work" && pwd)
cc=${FUZZCC:-clang}
shift

say() {
	printf 'examples: %s\n' "$*"
}

fail() {
	printf 'examples: %s\n' "$*" >&2
	exit 1
}

# Runs a command with its output in a log; shows the log's end when it fails.
logged() { # logged LOG COMMAND...
	log=$1
	shift
	"$@" >>"$log" 2>&1 && return 0
	tail -n 15 "$log" >&2
	fail "'$1' failed, all of its output is in $log"
}

need() { # need COMMAND PACKAGE
	command -v "$1" >/dev/null || fail "$1 is missing; install $2 (ci/deps.sh demo does)"
}

# Writes this machine's apt sources, of both formats, as deb-src.
apt_sources() {
	mkdir -p "$work/apt/parts" "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
	: >"$work/apt/sources.list"
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ -f "$f" ] || continue
		sed -n 's/^[[:space:]]*deb\([[:space:]]\)/deb-src\1/p' "$f" |
			grep -v '[[:space:]]cdrom:' >>"$work/apt/sources.list" || true
	done
	for f in /etc/apt/sources.list.d/*.sources; do
		[ -f "$f" ] || continue
		sed 's/^[Tt]ypes:.*/Types: deb-src/' "$f" >"$work/apt/parts/${f##*/}"
	done
}

private_apt() { # private_apt apt-get|apt-cache ARGUMENT...
	tool=$1
	shift
	"$tool" -q -o "Dir::Etc::sourcelist=$work/apt/sources.list" \
		-o "Dir::Etc::sourceparts=$work/apt/parts" \
		-o "Dir::State::lists=$work/apt/lists" -o "Dir::Cache=$work/apt/cache" \
		-o APT::Sandbox::User=root -o Acquire::Languages=none "$@"
}

apt_update() {
	[ ! -e "$work/apt/updated" ] || return 0
	need apt-get apt
	need dpkg-source dpkg-dev
	say 'reading the list of source packages'
	apt_sources
	# A source without deb-src is no error here: showsrc below decides.
	private_apt apt-get update >"$work/apt/update.log" 2>&1 || true
	: >"$work/apt/updated"
}

# Prints the available versions, newest first.  The newest one cannot always be
# fetched: a mirror may have the index of a security archive without its files.
versions() { # versions PACKAGE
	private_apt apt-cache showsrc --only-source "$1" 2>/dev/null |
		sed -n 's/^Version: //p' | sort -u -V -r
}

fetch() { # fetch PACKAGE: unpacks it into $work/src/PACKAGE
	[ ! -e "$work/src/$1/.version" ] || return 0
	apt_update
	rm -rf "$work/src/$1" "$work/fetch/$1"
	mkdir -p "$work/src" "$work/fetch/$1"
	log=$work/fetch/$1.log
	: >"$log"
	for v in $(versions "$1"); do
		if (cd "$work/fetch/$1" &&
			private_apt apt-get source --only-source --download-only "$1=$v") >>"$log" 2>&1; then
			say "$1: source package $v"
			logged "$log" dpkg-source --no-check -x "$work/fetch/$1/"*.dsc "$work/src/$1"
			echo "$v" >"$work/src/$1/.version"
			return 0
		fi
		say "$1: version $v cannot be fetched, trying an older one"
	done
	rm -f "$work/apt/updated" # read the lists again next time
	fail "$1: no source package could be fetched, see $log and $work/apt/update.log"
}

# Runs the compiler once.
compile() { # compile OUTPUT ARGUMENT...
	# shellcheck disable=SC2086 # flags are words
	logged "$obj/log" "$cc" $cflags $flags -o "$@"
}

# A recipe sets sources (below the package's source) and flags, and may define
# prepare(), which writes the files that ./configure would write.
recipe() { # recipe LIBRARY
	src=$work/src/$1
	obj=$work/obj/$variant/$1
	sources='' flags=''
	prepare() {
		:
	}
	# shellcheck source=/dev/null
	. "$here/$1/recipe.sh"
}

library() { # library LIBRARY: makes $obj/lib.a
	[ -n "$(find "$obj/lib.a" -newer "$here/$1/recipe.sh" -newer "$src/.version" 2>/dev/null)" ] &&
		return 0
	say "$1: compiling the library"
	rm -rf "$obj"
	mkdir -p "$obj"
	prepare
	# shellcheck disable=SC2016,SC2086 # the inner shell expands; sources and flags are words
	(cd "$src" && printf '%s\n' $sources |
		logged "$obj/log" xargs -P "$(nproc)" -I '{}' sh -c '
			source=$1
			shift
			exec "$@" -c -o "$0/$(echo "$source" | tr / _).o" "$source"
		' "$obj" '{}' "$cc" $cflags -w $instrument $flags)
	logged "$obj/log" "${AR:-ar}" rcs "$obj/lib.a" "$obj"/*.o
}

# A target and its side files: a dictionary, options, seeds.
target() { # target LIBRARY NAME
	if [ -z "$(find "$out/$2" -newer "$obj/lib.a" -newer "$here/$1/$2.c" 2>/dev/null)" ]; then
		say "$2: building the target"
		compile "$out/$2.new" -std=c11 -Wall -Wextra -fsanitize=fuzzer "$here/$1/$2.c" "$obj/lib.a"
		mv "$out/$2.new" "$out/$2"
	fi
	for side in dict options; do
		[ ! -f "$here/$1/$2.$side" ] || cp "$here/$1/$2.$side" "$out/"
	done
	[ -d "$here/$1/$2_seeds" ] || return 0
	[ -z "$(find "$here/$1/$2_seeds" -newer "$out/$2_seed_corpus.zip" 2>&1)" ] && return 0
	rm -f "$out/$2_seed_corpus.zip"
	if command -v zip >/dev/null; then
		(cd "$here/$1/$2_seeds" && logged "$obj/log" zip -q -X -r "$out/$2_seed_corpus.zip" .)
	else
		need bsdtar 'zip, or libarchive-tools'
		logged "$obj/log" bsdtar -a -cf "$out/$2_seed_corpus.zip" -C "$here/$1/$2_seeds" .
	fi
}

need "$cc" clang
need ar binutils

variant() { # variant NAME OUT_DIR: builds all targets
	variant=$1
	out=$2
	mkdir -p "$out"
	instrument=-fsanitize=fuzzer-no-link
	case $variant in
	address | memory) cflags="-fsanitize=$variant" ;;
	undefined) cflags='-fsanitize=undefined -fno-sanitize-recover=all' ;;
	coverage)
		cflags='-fprofile-instr-generate -fcoverage-mapping'
		instrument=''
		;;
	*) usage ;;
	esac
	cflags="-g -O1 -fno-omit-frame-pointer $cflags"
	for dir in "$here"/*/; do
		[ -e "${dir}recipe.sh" ] || continue
		name=$(basename "$dir")
		fetch "$name"
		recipe "$name"
		library "$name"
		for f in "$dir"*_fuzzer.c; do
			target "$name" "$(basename "$f" .c)"
		done
	done
	say "$(find "$out" -name '*_fuzzer' | wc -l) targets are in $out"
}

[ $# -gt 0 ] || variant address "$top"
for v; do
	variant "$v" "$top/$v"
done
