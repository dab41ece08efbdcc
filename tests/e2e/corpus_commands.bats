# SPDX-License-Identifier: Apache-2.0
# fuzzcell corpus import, export, verify; seeding from hostile archives.
load lib
load repo
setup() {
	e2e_setup
	git_setup
}
teardown() {
	! mountpoint -q "$WORK/full" || umount -l "$WORK/full"
	e2e_teardown
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

# hostile: makes archives with forbidden entries in $WORK/h; each has one good entry "ok".
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

@test "import of hostile archives: only content is imported, and each bad entry is reported" {
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
	# Without --target the layout makes no entry a corpus.
	corpus import "$WORK/h/traversal.tar"
	[[ $output == *"0 new (0B), 0 known, 2 skipped"* ]]
	corpus verify
	[ "$status" -eq 0 ]
}

# bats test_tags=slow
@test "a run with a hostile seed archive reports it, and fuzzes with the other seeds" {
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

@test "verify finds damage, repairs it, and deletes nothing" {
	inputs png one two three
	corpus verify
	[ "$status" -eq 0 ]
	[[ $output == *"3 files, 1 corpora: all is well"* ]]
	echo damaged >"$STATE/corpus/png/$(sha one)"
	printf name >"$STATE/corpus/png/a user's"$'\n'"name"
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
	[[ $output == *"a user's\\x0aname: its name should be $(sha name)"* ]]
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
	# A target fuzzes with the remaining inputs.
	mv "$STATE/corpus/png" "$STATE/corpus/healthy_fuzzer"
	fuzz healthy_fuzzer 3
	[ "$status" -eq 0 ]
	corpus verify
	[ "$status" -eq 0 ]
}

@test "during a run corpus commands may read; writing is refused with 4" {
	repo "$WORK/r"
	manifest healthy_fuzzer "$WORK/r/in"
	inputs healthy_fuzzer new
	fuzz_background healthy_fuzzer 600
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

@test "a full disk is reported, complete files stay, and a second import adds the rest" {
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
	# An export on the full disk leaves no partial archive, and the old archive stays.
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
# bats test_tags=slow
@test "the commands of docs/corpus.md work as they stand there" {
	page=$BATS_TEST_DIRNAME/../../docs/corpus.md
	[ -e "$page" ] || return 0
	mkdir "$WORK/project"
	cd "$WORK/project"
	run_page "$page" 12
}
