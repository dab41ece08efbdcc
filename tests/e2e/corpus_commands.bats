# SPDX-License-Identifier: Apache-2.0
# fuzzcell corpus update-intree, import, export, verify; seeding from hostile archives.
load lib
setup() {
	e2e_setup
	export GIT_CONFIG_GLOBAL=$WORK/gitconfig GIT_CONFIG_NOSYSTEM=1
	git config -f "$GIT_CONFIG_GLOBAL" user.name Someone
	git config -f "$GIT_CONFIG_GLOBAL" user.email some@one
	git config -f "$GIT_CONFIG_GLOBAL" init.defaultBranch main
	git config -f "$GIT_CONFIG_GLOBAL" protocol.file.allow always
}
teardown() {
	! mountpoint -q "$WORK/full" || umount -l "$WORK/full"
	e2e_teardown
}

corpus() { # SUBCOMMAND [OPTION...]
	run timeout $((120 * SLOW)) "$FUZZCELL" corpus "$1" --state-dir "$STATE" "${@:2}"
	echo "$output"
}

update() { corpus update-intree --targets "$WORK/m.json" "$@"; }

# inputs TARGET CONTENT...: in the persistent corpus.
inputs() {
	local dir=$STATE/corpus/$1 c
	mkdir -p "$dir"
	for c in "${@:2}"; do
		printf %s "$c" >"$dir/$(sha "$c")"
	done
}

count() { # DIR: of its entries
	find "$1" -mindepth 1 -maxdepth 1 | wc -l
}

names() { # DIR: sorted
	find "$1" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort
}

sha() { printf %s "$1" | sha1sum | cut -d' ' -f1; }

# manifest NAME SEEDS...: one target with these directories.
manifest() {
	jq -n --arg name "$1" --arg bin "$TARGETS/healthy_fuzzer" \
		'{targets: [{name: $name, binary: $bin, seeds: $ARGS.positional}]}' \
		--args "${@:2}" >"$WORK/m.json"
}

# repo DIR: a repository with in/ (a.png, "known").
repo() {
	git init -q "$1"
	mkdir -p "$1/in"
	printf 'known' >"$1/in/a.png"
	printf 'code' >"$1/code"
	git -C "$1" add .
	git -C "$1" commit -q -m first
}

# The commands that were printed, but for the last: there is no gh here.
printed() {
	sed -n 's/^  \(git .*\)/\1/p' <<<"$output"
}

@test "update-intree: new inputs by content, and the printed commands make the pull request" {
	repo "$WORK/r"
	git init -q --bare "$WORK/origin.git"
	git -C "$WORK/r" remote add origin "$WORK/origin.git"
	mkdir "$WORK/plain" # in no repository: the next one is taken
	manifest png "$WORK/plain" "$WORK/r/in"
	inputs png known new newer
	update --dry-run
	[ "$status" -eq 0 ]
	[[ $output == *"would be: 2 added (8B), 1 known"* ]]
	[ -z "$(git -C "$WORK/r" status --porcelain)" ]
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
	# Nothing is left to do, and no command to type.
	update
	[[ $output == *"0 added (0B), 3 known"* ]]
	[ -z "$(printed)" ]
	# The day's branch is there: the next one has another name.
	inputs png newest
	update
	printed | grep -q 'checkout -b fuzzing/corpus-update-[0-9]*-2$'
}

@test "update-intree --branch: what a person has changed is neither committed nor touched" {
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
	# Once more: the branch is there.
	update --branch fuzzing/x
	[ "$status" -eq 2 ]
	[[ $output == *"there is a branch 'fuzzing/x' already"* ]]
	update --branch 'no..name'
	[ "$status" -eq 2 ]
	# Without --branch it says that the commands would take these changes along.
	update
	[[ $output == *"not committed"* ]]
	[ "$(cat in/untracked)" = mine ]
}

@test "update-intree: paths of any bytes, and what is printed can be pasted" {
	top="$WORK/it's \$(touch $WORK/ran); a"$'\n'"[re]po"
	repo "$top"
	mkdir "$top/in *"$'\n'"[x]"
	printf y >"$top/in *"$'\n'"[x]/y"
	git -C "$top" add .
	git -C "$top" commit -q -m second
	manifest png "$top/in *"$'\n'"[x]"
	inputs png new
	update --dry-run
	[[ $output == *"a\\x0a[re]po"* ]] # for people: one line
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
	# A build's directory that git ignores is not where inputs belong.
	mkdir "$WORK/r/out"
	echo /out/ >"$WORK/r/.gitignore"
	manifest png "$WORK/r/out" "$WORK/r/in"
	update --branch x
	[ "$status" -eq 0 ]
	[[ $output == *": $WORK/r/in"* ]]
	manifest png "$WORK/plain"
	update
	[ "$status" -eq 0 ]
	[[ $output == *"1 added"*"no git work tree"* ]]
	[ "$(cat "$WORK/plain/$(sha new)")" = new ]
	mkdir "$WORK/bin"
	manifest png "$WORK/r/in"
	PATH=$WORK/bin run "$FUZZCELL" corpus update-intree --state-dir "$STATE" --targets "$WORK/m.json"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"start 'git'"* ]]
	# No in-tree directory at all.
	manifest png
	update
	[ "$status" -eq 2 ]
	[[ $output == *"no in-tree directory"* ]]
}

@test "update-intree --prune: says each, keeps its content, and leaves what others need" {
	repo "$WORK/r"
	manifest png "$WORK/r/in"
	printf precious >"$WORK/r/in/untracked"
	update --prune # no corpus: nothing is removed
	[ -e "$WORK/r/in/a.png" ]
	inputs png new
	update --prune --dry-run --json
	jq -e '.targets[0] | (.removed | sort) == ["a.png", "untracked"] and
		(.notes[0] | test("never minimised"))' <<<"$output"
	[ "$(count "$WORK/r/in")" -eq 2 ]
	mkdir -p "$STATE/stats"
	echo '{"v": 1, "target": "png", "verdict": "unchanged"}' >"$STATE/stats/corpus_history.jsonl"
	update --prune
	[ "$status" -eq 0 ]
	[[ $output != *"never minimised"* ]]
	[[ $output == *"removed a.png"* && $output == *"removed untracked"* ]]
	[ "$(names "$WORK/r/in")" = "$(sha new)" ]
	[ "$(cat "$STATE/pruned/png/$(sha precious)")" = precious ]
	[ "$(cat "$STATE/pruned/png/$(sha known)")" = known ]
	# Another target starts from there, too.
	jq --arg bin "$TARGETS/healthy_fuzzer" --arg in "$WORK/r" \
		'.targets += [{name: "other", binary: $bin, seeds: [$in]}]' "$WORK/m.json" >"$WORK/m2.json"
	mv "$WORK/m2.json" "$WORK/m.json"
	printf other >"$WORK/r/in/other"
	update --prune --filter png
	[ "$status" -eq 0 ]
	[[ $output == *"not pruned: target other"* ]]
	[ -e "$WORK/r/in/other" ]
}

@test "update-intree by root in a person's repository leaves nothing of root's there" {
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

@test "import and export: the same corpora are the same archive, on another machine, too" {
	mkdir -p "$WORK/in/d"
	printf one >"$WORK/in/any name"
	printf two >"$WORK/in/d/two.png"
	ln -s /etc/passwd "$WORK/in/link"
	: >"$WORK/in/empty"
	corpus import --target png "$WORK/in"
	[ "$status" -eq 0 ]
	[[ $output == *"2 new (6B), 0 known, 1 skipped"* ]]
	corpus import --target css "$WORK/in/any name"
	corpus import --target png "$WORK/in"
	[[ $output == *"0 new (0B), 2 known"* ]]
	corpus export -o "$WORK/all.tar.gz"
	[ "$status" -eq 0 ]
	[ "$(tar tzf "$WORK/all.tar.gz" | sort)" = "$(
		printf '%s\n' "css/$(sha one)" "png/$(sha one)" "png/$(sha two)" | sort
	)" ]
	corpus export --filter 'p*' --seed-corpus -o "$WORK/seeds"
	[ "$(names "$WORK/seeds")" = png_seed_corpus.zip ]
	STATE=$WORK/other
	corpus import "$WORK/all.tar.gz"
	[ "$status" -eq 0 ]
	corpus import "$WORK/seeds/png_seed_corpus.zip"
	[[ $output == *"0 new (0B), 2 known"* ]]
	TZ=Asia/Tokyo corpus export -o "$WORK/again.tar.gz"
	cmp "$WORK/all.tar.gz" "$WORK/again.tar.gz"
	corpus export -o "$WORK/tree"
	[ "$(cat "$WORK/tree/png/$(sha two)")" = two ]
	corpus verify
	[ "$status" -eq 0 ]
	corpus import "$WORK/in/any name"
	[ "$status" -eq 2 ]
	[[ $output == *"--target"* ]]
	corpus import --target ../x "$WORK/in"
	[ "$status" -eq 2 ]
	corpus export
	[ "$status" -eq 2 ]
	corpus export -o "$WORK/x.tar.xz"
	[ "$status" -eq 2 ]
}

# hostile: archives in $WORK/h that must not get anywhere; each has one good entry "ok".
hostile() {
	mkdir -p "$WORK/h/src"
	cd "$WORK/h/src" || return
	printf ok >ok
	printf evil >evil
	ln -s /etc/passwd symlink
	ln evil hardlink
	mkfifo fifo
	mknod device c 1 3
	tar -cPf ../links.tar ok symlink evil hardlink fifo device
	tar -cPf ../absolute.tar --transform "s|^evil|$WORK/h/absolute|" ok evil
	tar -cPf ../traversal.tar --transform 's|^evil|../../../../../../../../tmp/fuzzcell-evil|' ok evil
	truncate -s 5G bomb
	printf x >>bomb
	tar -cSzf ../bomb.tar.gz ok bomb
	zip -q -P secret ../encrypted.zip evil
	zip -q ../encrypted.zip ok
	tar -czf ../cut.tar.gz ok
	head -c 200000 /dev/urandom >much
	tar -czf ../cut.tar.gz ok much
	truncate -s 100000 ../cut.tar.gz
	printf 'no archive at all' >../text.zip
	cd "$WORK" || return
}

@test "import of hostile archives: only content gets in, and each is told" {
	hostile
	for a in links absolute traversal bomb; do
		corpus import --target t "$WORK/h/$a".tar*
		[ "$status" -eq 0 ]
	done
	[[ $output == *"larger"* || $output == *"more than"* ]] # the bomb
	corpus import --target t "$WORK/h/encrypted.zip"
	[ "$status" -eq 0 ]
	[[ $output == *"1 skipped: entry 'evil'"* ]]
	for a in cut.tar.gz text.zip; do
		corpus import --target t "$WORK/h/$a"
		[ "$status" -eq 2 ]
		[[ $output == *"$a"* ]]
	done
	[ "$(names "$STATE/corpus/t")" = "$(printf '%s\n' "$(sha ok)" "$(sha evil)" | sort)" ]
	[ ! -e "$WORK/h/absolute" ]
	[ ! -e /tmp/fuzzcell-evil ]
	[ ! -s "$WORK/h/absolute" ]
	# By the layout alone nothing of them is a corpus.
	corpus import "$WORK/h/traversal.tar"
	[[ $output == *"0 new (0B), 0 known, 2 skipped"* ]]
	corpus verify
	[ "$status" -eq 0 ]
}

@test "a run with a hostile seed archive: it is told, and fuzzes with the rest" {
	hostile
	mkdir "$WORK/out"
	cp "$TARGETS/healthy_fuzzer" "$WORK/out"
	mkdir "$WORK/out/healthy_fuzzer_seed_corpus"
	printf 'in-tree' >"$WORK/out/healthy_fuzzer_seed_corpus/readable"
	TARGETS=$WORK/out
	for a in traversal.tar links.tar encrypted.zip cut.tar.gz bomb.tar.gz text.zip; do
		rm -f "$WORK"/out/*_seed_corpus.*
		cp "$WORK/h/$a" "$WORK/out/healthy_fuzzer_seed_corpus.${a#*.}"
		fuzz healthy_fuzzer 3
		[ "$(value fuzzed)" = true ]
		case $a in
		encrypted.zip | cut.tar.gz | bomb.tar.gz | text.zip)
			grep -q 'seed_corpus\|entry\|more than' "$LOGS/healthy_fuzzer.stats" \
				"$LOGS/healthy_fuzzer.log" ;;
		esac
	done
	[ ! -e /tmp/fuzzcell-evil ]
}

@test "verify: finds what is wrong, repairs it, deletes nothing" {
	inputs png one two three
	corpus verify
	[ "$status" -eq 0 ]
	[[ $output == *"3 files, 1 corpora: all is well"* ]]
	echo damaged >"$STATE/corpus/png/$(sha one)"
	printf name >"$STATE/corpus/png/a person's"$'\n'"name"
	: >"$STATE/corpus/png/empty"
	ln -s /etc/passwd "$STATE/corpus/png/link"
	chmod 0600 "$STATE/corpus/png/$(sha two)"
	printf rest >"$STATE/corpus/png/.x.new"
	mkdir -p "$STATE/generations/gone/1" "$STATE/merge/gone"
	echo '{"s1": {"fuzzer": "png", "crash_type": "x", "crash_file": "crashes/s1/input"}}' \
		>"$STATE/known_crashes.json"
	corpus verify
	[ "$status" -eq 1 ]
	[ "$(grep -c : <<<"$output")" -eq 10 ]
	[[ $output == *"a person's\\x0aname: its name should be $(sha name)"* ]]
	[[ $output == *"s1: crashes/s1/input is gone"* ]]
	[[ $output == *"9 wrong"* ]]
	corpus verify --repair
	[ "$status" -eq 1 ]
	[[ $output == *"9 wrong, 7 of them repaired"* ]]
	[ "$(cat "$STATE/damaged/corpus/png/$(sha one)")" = damaged ]
	[ "$(cat "$STATE/corpus/png/$(sha name)")" = name ]
	rm "$STATE/known_crashes.json"
	rmdir "$STATE/generations/gone/1" "$STATE/generations/gone"
	corpus verify
	[ "$status" -eq 0 ]
	# A target fuzzes with what is left.
	mv "$STATE/corpus/png" "$STATE/corpus/healthy_fuzzer"
	fuzz healthy_fuzzer 3
	[ "$status" -eq 0 ]
	corpus verify
	[ "$status" -eq 0 ]
}

@test "while a run goes on: reading works, writing is refused with 4" {
	repo "$WORK/r"
	manifest healthy_fuzzer "$WORK/r/in"
	inputs healthy_fuzzer new
	fuzz_background healthy_fuzzer 60
	wait_until 60 fuzzing_began
	corpus import --target t "$WORK/r/in"
	[ "$status" -eq 4 ]
	corpus verify
	[ "$status" -eq 4 ]
	corpus export -o "$WORK/x.zip"
	[ "$status" -eq 0 ]
	update --branch b
	[ "$status" -eq 0 ]
	kill "$PID"
	wait "$PID" || [ $? -le 5 ]
}

@test "a full disk: told, what is there is whole, and a second try adds the rest" {
	mkdir "$WORK/full"
	mount -t tmpfs -o size=4m tmpfs "$WORK/full"
	mkdir "$WORK/many"
	for i in $(seq 60); do head -c 100000 /dev/urandom >"$WORK/many/$i"; done
	STATE=$WORK/full/state
	corpus import --target png "$WORK/many"
	[ "$status" -eq 70 ]
	[[ $output == *"No space left"* ]]
	n=$(count "$STATE/corpus/png")
	[ "$n" -ge 10 ]
	(cd "$STATE/corpus/png" && sha1sum -- * | awk '$1 != $2 { exit 1 }')
	corpus verify
	[ "$status" -eq 0 ]
	# An export beside it: no half of one, the old one stays.
	printf old >"$WORK/full/x.tar.gz" || true
	corpus export -o "$WORK/full/x.tar.gz"
	[ "$status" -eq 70 ]
	[ "$(names "$WORK/full")" = "$(printf 'state\nx.tar.gz')" ]
	mount -o remount,size=16m "$WORK/full"
	corpus import --target png "$WORK/many"
	[ "$status" -eq 0 ]
	[[ $output == *"$((60 - n)) new"*"$n known"* ]]
	# A repository on a full disk.
	umount "$WORK/full"
	mount -t tmpfs -o size=4m tmpfs "$WORK/full"
	STATE=$WORK/state
	repo "$WORK/full/r"
	corpus import --target png "$WORK/many"
	manifest png "$WORK/full/r/in"
	update
	[ "$status" -eq 70 ]
	[[ $output == *"No space left"* ]]
	(cd "$WORK/full/r/in" && rm a.png && sha1sum -- * | awk '$1 != $2 { exit 1 }')
	git -C "$WORK/full/r" clean -qfd
	git -C "$WORK/full/r" checkout -q .
	update --branch b
	[ "$status" -ne 0 ]
	[ -z "$(git -C "$WORK/full/r" branch --list b)" ]
	[ -z "$(git -C "$WORK/full/r" status --porcelain)" ]
	git -C "$WORK/full/r" fsck
}

# The page is not where the tests run in a VM.
@test "the commands of docs/corpus.md work as they stand there" {
	page=$BATS_TEST_DIRNAME/../../docs/corpus.md
	[ -e "$page" ] || return 0
	mkdir "$WORK/project"
	cd "$WORK/project"
	run_page "$page" 12
}
