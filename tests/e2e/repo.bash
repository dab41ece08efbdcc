# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Repositories with in-tree corpora, and persistent corpora with known content.  Needs lib.bash.

# In setup().
git_setup() {
	export GIT_CONFIG_GLOBAL=$WORK/gitconfig GIT_CONFIG_NOSYSTEM=1
	git config -f "$GIT_CONFIG_GLOBAL" user.name Someone
	git config -f "$GIT_CONFIG_GLOBAL" user.email some@one
	git config -f "$GIT_CONFIG_GLOBAL" init.defaultBranch main
	git config -f "$GIT_CONFIG_GLOBAL" protocol.file.allow always
}

corpus() { # SUBCOMMAND [OPTION...]
	run timeout $((120 * SLOW)) "$FUZZCELL" corpus "$1" --state-dir "$STATE" "${@:2}"
	echo "$output"
}

update() { corpus update-intree --targets "$WORK/m.json" "$@"; }

# inputs TARGET CONTENT...: adds inputs to the persistent corpus.
inputs() {
	local dir=$STATE/corpus/$1 c
	mkdir -p "$dir"
	for c in "${@:2}"; do
		printf %s "$c" >"$dir/$(sha "$c")"
	done
}

count() { # DIR: prints the number of its entries
	find "$1" -mindepth 1 -maxdepth 1 | wc -l
}

names() { # DIR: sorted
	find "$1" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort
}

sha() { printf %s "$1" | sha1sum | cut -d' ' -f1; }

# manifest NAME SEEDS...: a manifest of one target with these directories.
manifest() {
	jq -n --arg name "$1" --arg bin "$TARGETS/healthy_fuzzer" \
		'{targets: [{name: $name, binary: $bin, seeds: $ARGS.positional}]}' \
		--args "${@:2}" >"$WORK/m.json"
}

# repo DIR: makes a repository with in/ (a.png, "known").
repo() {
	git init -q "$1"
	mkdir -p "$1/in"
	printf 'known' >"$1/in/a.png"
	printf 'code' >"$1/code"
	git -C "$1" add .
	git -C "$1" commit -q -m first
}
