# SPDX-License-Identifier: Apache-2.0
# fuzzcell corpus update-intree.
load lib
load repo
setup() {
	e2e_setup
	git_setup
}
teardown() {
	e2e_teardown
}

# unneeded TARGET CONTENT...: records inputs that the last merge measured and did not need.
unneeded() {
	local c
	mkdir -p "$STATE/stats/merged"
	for c in "${@:2}"; do
		echo "$(sha "$c") ${#c}"
	done >"$STATE/stats/merged/$1.unneeded"
}

# The printed commands without the last one: gh is not installed.
printed() {
	sed -n 's/^  \(git .*\)/\1/p' <<<"$output"
}

@test "update-intree: new inputs by content, and the printed commands make the pull request" {
	repo "$WORK/r"
	git init -q --bare "$WORK/origin.git"
	git -C "$WORK/r" remote add origin "$WORK/origin.git"
	mkdir "$WORK/plain" # in no repository: the next directory is taken
	manifest png "$WORK/plain" "$WORK/r/in"
	inputs png known new newer
	update --dry-run
	[ "$status" -eq 0 ]
	[[ $output == *"would be: 2 added (8B), 1 known"* ]]
	[ -z "$(git -C "$WORK/r" status --porcelain)" ]
	day=$(date -u +%j)
	update
	[ "$status" -eq 0 ]
	[[ $output == *"png: 2 added (8B), 1 known: $WORK/r/in"* ]]
	[ "$(cat "$WORK/r/in/$(sha new)")" = new ]
	[ "$(count "$WORK/r/in")" -eq 3 ]
	commands=$(printed)
	[ "$(wc -l <<<"$commands")" -eq 4 ]
	sh -euxc "$commands"
	git -C "$WORK/origin.git" log --format=%s --all | grep -qx 'fuzzing: update corpus from continuous fuzzing run'
	[ -z "$(git -C "$WORK/r" status --porcelain)" ]
	# The second call has nothing to do, and prints no command.
	update
	[[ $output == *"0 added (0B), 3 known"* ]]
	[ -z "$(printed)" ]
	# The day's branch exists: the next branch has another name.
	inputs png newest
	update
	[ "$day" != "$(date -u +%j)" ] || printed | grep -q 'checkout -b fuzzing/corpus-update-[0-9]*-2$'
}

@test "update-intree --branch: the user's own changes are neither committed nor touched" {
	repo "$WORK/r"
	manifest png "$WORK/r/in"
	inputs png known new
	cd "$WORK/r"
	printf changed >code
	printf staged >in/staged
	git add in/staged
	printf mine >in/untracked
	rm in/a.png
	git checkout -q --detach
	before=$(git status --porcelain=v2 --branch; git diff; git diff --cached; sha1sum .git/index in/* code)
	update --branch fuzzing/x
	[ "$status" -eq 0 ]
	[ "$before" = "$(git status --porcelain=v2 --branch; git diff; git diff --cached; sha1sum .git/index in/* code)" ]
	[ "$(git diff --name-status HEAD fuzzing/x)" = "A	in/$(sha new)" ]
	[ "$(git rev-parse fuzzing/x^)" = "$(git rev-parse HEAD)" ]
	# A second time: the branch exists.
	update --branch fuzzing/x
	[ "$status" -eq 2 ]
	[[ $output == *"there is a branch 'fuzzing/x' already"* ]]
	update --branch 'no..name'
	[ "$status" -eq 2 ]
	# Without --branch a warning says that the commands would include these changes.
	update
	[[ $output == *"not committed"* ]]
	[ "$(cat in/untracked)" = mine ]
}

@test "update-intree: paths of any bytes, and the printed commands can be pasted" {
	top="$WORK/it's \$(touch $WORK/ran); a"$'\n'"[re]po"
	repo "$top"
	mkdir "$top/in *"$'\n'"[x]"
	printf y >"$top/in *"$'\n'"[x]/y"
	git -C "$top" add .
	git -C "$top" commit -q -m second
	manifest png "$top/in *"$'\n'"[x]"
	inputs png new
	update --dry-run
	[[ $output == *"a\\x0a[re]po"* ]] # for users: one line
	update --json
	[ "$status" -eq 0 ]
	jq -e --arg top "$top" '.targets[0].repository == $top' <<<"$output"
	commands=$(jq -r '.repositories[0].commands[:3] | join("\n")' <<<"$output")
	sh -euxc "$commands"
	[ ! -e "$WORK/ran" ]
	[ "$(git -C "$top" log -1 --format=%s)" = 'fuzzing: update corpus from continuous fuzzing run' ]
	[ -z "$(git -C "$top" status --porcelain)" ]
}

@test "update-intree: submodule, bare repository, ignored directory, no repository, no git" {
	repo "$WORK/r"
	git init -q "$WORK/super"
	git -C "$WORK/super" submodule --quiet add ../r sub
	git -C "$WORK/super" commit -q -m first
	inputs png new
	manifest png "$WORK/super/sub/in"
	update
	[ "$status" -eq 0 ]
	[[ $output == *"git -C $WORK/super/sub checkout"* ]]
	[[ $output == *"submodule"*"$WORK/super"* ]]
	git clone -q --bare "$WORK/r" "$WORK/bare.git"
	mkdir "$WORK/bare.git/in" "$WORK/plain"
	manifest png "$WORK/bare.git/in"
	update --branch x
	[ "$status" -eq 2 ]
	[[ $output == *"in no git work tree"* ]]
	[ "$(count "$WORK/bare.git/in")" -eq 0 ]
	# Inputs do not belong in a build directory that git ignores.
	mkdir "$WORK/r/out"
	echo /out/ >"$WORK/r/.gitignore"
	manifest png "$WORK/r/out" "$WORK/r/in"
	update --branch x
	[ "$status" -eq 0 ]
	[[ $output == *": $WORK/r/in"* ]]
	for d in "$WORK/plain" "$WORK/r/out"; do
		manifest png "$d"
		update
		[ "$status" -eq 2 ]
		[[ $output == *"'$d' is in no git work tree"*"nothing is written; name a"*'"seeds": [DIR]'* ]]
		[ "$(count "$d")" -eq 0 ]
	done
	mkdir "$WORK/bin"
	manifest png "$WORK/r/in"
	PATH=$WORK/bin run "$FUZZCELL" corpus update-intree --state-dir "$STATE" --targets "$WORK/m.json"
	echo "$output"
	[ "$status" -eq 2 ]
	[[ $output == *"start 'git'"* ]]
	# No in-tree directory at all.
	manifest png
	update
	[ "$status" -eq 2 ]
	[[ $output == *"no in-tree directory"* ]]
}

@test "update-intree: a committed symlink leads to no directory outside" {
	repo "$WORK/r"
	repo "$WORK/other"
	mkdir "$WORK/plain"
	ln -s ../plain "$WORK/r/out"
	ln -s ../other/in "$WORK/r/over"
	ln -s in "$WORK/r/inside"
	git -C "$WORK/r" add .
	git -C "$WORK/r" commit -q -m links
	inputs png new
	for d in out over; do
		manifest png "$WORK/r/$d"
		for how in --dry-run '--branch b' ''; do
			# shellcheck disable=SC2086
			update $how
			[ "$status" -eq 2 ]
			[[ $output == *"the symlink '$WORK/r/$d' leads out of '$WORK/r'"* ]]
		done
	done
	[ "$(count "$WORK/plain")" -eq 0 ]
	[ "$(count "$WORK/other/in")" -eq 1 ]
	manifest png "$WORK/r/out" "$WORK/r/inside"
	update
	[ "$status" -eq 0 ]
	[[ $output == *"passed over: the symlink '$WORK/r/out' leads out"* ]]
	[ "$(cat "$WORK/r/in/$(sha new)")" = new ]
	printed | grep -q "add -- in$"
}

# reaches DIR: edges and features, by the engine.
reaches() {
	ASAN_OPTIONS=detect_leaks=0 "$TARGETS/healthy_fuzzer" -runs=0 "$1" 2>&1 |
		sed -nE 's/.*INITED cov: ([0-9]+) ft: ([0-9]+) .*/\1 \2/p'
}

# bats test_tags=slow
@test "only the cover leaves the state directory: fewer inputs with the same coverage" {
	local all cover spare at=stats/merged/healthy_fuzzer.cover
	config ''
	fuzz healthy_fuzzer 20
	repo "$WORK/r"
	manifest healthy_fuzzer "$WORK/r/in"
	corpus minimize --targets "$WORK/m.json"
	[ "$status" -eq 0 ]
	[[ $output == *", cover: "* ]]
	all=$(names "$STATE/corpus/healthy_fuzzer" | wc -l)
	cover=$(wc -l <"$STATE/$at")
	spare=$((all - cover))
	[ "$spare" -gt $((all / 20)) ]
	corpus export -o "$WORK/cover"
	[[ $output == *"healthy_fuzzer: $cover inputs "*", $spare spare ones left out (--all)"* ]]
	corpus export --all -o "$WORK/all"
	[[ $output == *"healthy_fuzzer: $all inputs "* && $output != *spare* ]]
	[ -n "$(reaches "$WORK/cover/healthy_fuzzer")" ]
	[ "$(reaches "$WORK/cover/healthy_fuzzer")" = "$(reaches "$WORK/all/healthy_fuzzer")" ]
	"$FUZZCELL" regress --targets "$WORK/m.json" --state-dir "$STATE" --json >"$WORK/json"
	jq -e ".from.corpus <= $cover and .spare == $spare" "$WORK/json"
	"$FUZZCELL" regress --targets "$WORK/m.json" --state-dir "$STATE" --json --all >"$WORK/json"
	jq -e ".inputs >= $all and .spare == 0" "$WORK/json"
	# The same in a work tree with a commit; spare inputs there are pruned.
	cp "$STATE/corpus/healthy_fuzzer/"* "$WORK/r/in"
	git -C "$WORK/r" add .
	git -C "$WORK/r" commit -q -m 'all of it'
	update --dry-run
	[[ $output == *"0 added"*"$cover known, $spare spare ones left out (--all)"* ]]
	update --all --dry-run
	[[ $output == *"$all known:"* ]]
	update --prune --branch pruned
	[ "$status" -eq 0 ]
	[ "$(git -C "$WORK/r" ls-tree --name-only pruned:in | grep -cE '^[0-9a-f]{40}$')" -eq "$cover" ]
	update --prune
	[ "$status" -eq 0 ]
	[ "$(names "$WORK/r/in" | grep -cE '^[0-9a-f]{40}$')" -eq "$cover" ]
	# When an input of the cover is missing, no input is spare.
	rm "$STATE/corpus/healthy_fuzzer/$(head -n 1 "$STATE/$at" | cut -d' ' -f1)"
	corpus export -o "$WORK/rest"
	[[ $output == *"healthy_fuzzer: $((all - 1)) inputs "* && $output != *spare* ]]
}

# Pruning removes only inputs that a merge found unnecessary, also while the user edits the tree.
@test "update-intree --prune: what no merge has measured stays" {
	repo "$WORK/r"
	printf aaaa >"$WORK/r/in/long"
	printf a >"$WORK/r/in/short"
	git -C "$WORK/r" add .
	git -C "$WORK/r" commit -q -m seeds
	manifest healthy_fuzzer "$WORK/r/in"
	corpus minimize --targets "$WORK/m.json"
	[ "$status" -eq 0 ]
	sort "$STATE/stats/merged/healthy_fuzzer.unneeded"
	printf 'a new seed' >"$WORK/r/in/dev_new_seed"
	git -C "$WORK/r" add .
	git -C "$WORK/r" commit -q -m 'a new seed'
	update --prune --branch p1
	[ "$status" -eq 0 ]
	[[ $output == *"kept: dev_new_seed: not measured yet"* ]]
	[[ $output == *", 1 kept"* ]]
	git -C "$WORK/r" cat-file -e p1:in/dev_new_seed
	update --prune
	[ "$status" -eq 0 ]
	[[ $output == *"kept: dev_new_seed"* ]]
	[ "$(cat "$WORK/r/in/dev_new_seed")" = 'a new seed' ]
	# These are not the seeds of the merge.
	mkdir "$WORK/r/in2"
	printf 'never seen' >"$WORK/r/in2/x"
	git -C "$WORK/r" add .
	git -C "$WORK/r" commit -q -m 'more seeds'
	manifest healthy_fuzzer "$WORK/r/in2"
	update --prune
	[ "$status" -eq 0 ]
	[ "$(cat "$WORK/r/in2/x")" = 'never seen' ]
	# A measured input may be pruned.
	manifest healthy_fuzzer "$WORK/r/in" "$WORK/r/in2"
	corpus minimize --targets "$WORK/m.json"
	[ "$status" -eq 0 ]
	update --prune --json
	[ "$status" -eq 0 ]
	jq -e '.targets[0].kept == []' <<<"$output"
	# Every file there is now an input of the corpus.
	[ -z "$(comm -23 <(find "$WORK/r/in" -type f -exec sha1sum {} + | cut -d' ' -f1 | sort -u) \
		<(names "$STATE/corpus/healthy_fuzzer"))" ]
}

@test "update-intree --prune reports each file, keeps its content, and leaves files of other targets" {
	repo "$WORK/r"
	manifest png "$WORK/r/in"
	printf precious >"$WORK/r/in/untracked"
	update --prune # no corpus: nothing is removed
	[ -e "$WORK/r/in/a.png" ]
	inputs png new
	for damaged in 0 1; do
		[ "$damaged" = 0 ] || { mkdir -p "$STATE/stats/merged" && echo x >"$STATE/stats/merged/png.unneeded"; }
		update --prune --dry-run --json
		[ "$status" -eq 0 ]
		jq -e '.targets[0] | .removed == [] and (.notes[0] | test("not pruned: .*corpus minimize"))' <<<"$output"
	done
	unneeded png known precious
	update --prune --dry-run --json
	jq -e '.targets[0] | (.removed | sort) == ["a.png", "untracked"] and .notes == []' <<<"$output"
	[ "$(count "$WORK/r/in")" -eq 2 ]
	update --prune
	[ "$status" -eq 0 ]
	[[ $output == *"removed a.png"* && $output == *"removed untracked"* ]]
	[ "$(names "$WORK/r/in")" = "$(sha new)" ]
	[ "$(cat "$STATE/pruned/png/$(sha precious)")" = precious ]
	[ "$(cat "$STATE/pruned/png/$(sha known)")" = known ]
	# Another target uses the same seeds.
	jq --arg bin "$TARGETS/healthy_fuzzer" --arg in "$WORK/r" \
		'.targets += [{name: "other", binary: $bin, seeds: [$in]}]' "$WORK/m.json" >"$WORK/m2.json"
	mv "$WORK/m2.json" "$WORK/m.json"
	printf other >"$WORK/r/in/other"
	update --prune --filter png
	[ "$status" -eq 0 ]
	[[ $output == *"not pruned: target other"* ]]
	[ -e "$WORK/r/in/other" ]
}

@test "update-intree by root in a user's repository leaves no file of root's there" {
	repo "$WORK/r"
	git config -f "$WORK/r/.git/config" user.name N
	git config -f "$WORK/r/.git/config" user.email e
	printf '#!/bin/sh\nid -u >>%s\n' "$WORK/r/ran" >"$WORK/r/.git/h"
	chmod +x "$WORK/r/.git/h"
	cp "$WORK/r/.git/h" "$WORK/r/.git/hooks/reference-transaction"
	git config -f "$WORK/r/.git/config" core.fsmonitor "$WORK/r/.git/h"
	git config -f "$WORK/r/.git/config" filter.x.clean "$WORK/r/.git/h"
	echo '* filter=x' >"$WORK/r/.gitattributes"
	chown -R 65534:65534 "$WORK/r"
	manifest png "$WORK/r/in"
	inputs png new
	update
	[ "$status" -eq 0 ]
	rm "$WORK/r/.gitattributes"
	update --branch b
	[ "$status" -eq 0 ]
	[ -z "$(find "$WORK/r" ! -uid 65534)" ]
	ran=$(sort -u "$WORK/r/ran" 2>/dev/null || :)
	[ -z "$ran" ] || [ "$ran" = 65534 ]
}
