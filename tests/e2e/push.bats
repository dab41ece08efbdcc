# SPDX-License-Identifier: Apache-2.0
# A push never runs anything as root.  The work tree of user 4321 is built as this user.  If it
# has a link to a directory of root's, the build is refused.  User 4321 has no account.
load lib
load repo

setup() {
	[ "$(id -u)" -eq 0 ] || skip 'not root'
	e2e_setup
	TREE=$WORK/tree ROOT=$WORK/root WHO=$WORK/who
	mkdir -p "$TREE/src" "$ROOT/src" "$WORK/out"
	install -d -m 1777 "$WHO" # a build leaves its user's number there
	cp "$TARGETS/healthy_fuzzer" "$WORK/out/"
	chown 4321 "$TREE" "$TREE/src"
}

teardown() { e2e_teardown; }

# source_at DIR [MORE]: configures a build in DIR, with MORE keys in JSON.
source_at() {
	jq --arg out "$WORK/out" --arg dir "$1" --arg who "$WHO" --argjson more "${2:-{\}}" \
		'. + {discovery: [{type: "directory", path: $out, build_dir: $dir,
		  build: ["sh", "-c", "touch \($who)/$(id -u)"]} + $more]}' \
		"$STATE/config.json" >"$WORK/c" && mv "$WORK/c" "$STATE/config.json"
}

fuzzcell() { # COMMAND [OPTION...]
	run timeout $((120 * SLOW)) "$FUZZCELL" "$1" --state-dir "$STATE" "${@:2}"
	echo "$output"
}

link_to() { # TARGET NAME: makes a link as the tree's owner
	ln -s "$1" "$2"
	chown -h 4321 "$2"
}

built_by() { # USER: built by this user and by no other
	[ "$(find "$WHO" -type f -printf '%f is of %U\n')" = "$1 is of $1" ]
}

not_built() { [ -z "$(ls -A "$WHO")" ]; }

push() { # MESSAGE: pushes all files of the developer's clone
	git -C "$WORK/dev" add -A
	git -C "$WORK/dev" commit -q -m "$1"
	git -C "$WORK/dev" push -q origin HEAD:main
	chown -R 4321 "$WORK/up.git"
}

@test "a pushed link in the place of build_dir is not built as root" {
	git_setup
	config '"max_time": "1s", "merge_time": "off"'
	git config -f "$GIT_CONFIG_GLOBAL" safe.directory '*'
	git init -q --bare "$WORK/up.git"
	git clone -q "$WORK/up.git" "$WORK/dev"
	mkdir "$WORK/dev/src"
	echo one >"$WORK/dev/src/file"
	push first
	rm -r "$TREE"
	git clone -q "$WORK/up.git" "$TREE"
	chown -R 4321 "$TREE"
	source_at "$TREE/src"
	jq --arg t "$TREE" '. + {trigger: {repository: $t, interval: "1s"}}' \
		"$STATE/config.json" >"$WORK/c" && mv "$WORK/c" "$STATE/config.json"
	rm -r "$WORK/dev/src"
	ln -s "$ROOT" "$WORK/dev/src"
	push attack
	fuzzcell trigger
	[ "$status" -ne 0 ]
	[ -L "$TREE/src" ] # the link is in the work tree
	[[ $output == *"cannot run programs in '$TREE/src': '$TREE' belongs to user 4321, and leads to a directory of user 0 (root)"*chown* ]]
	not_built
	rm "$WORK/dev/src"
	mkdir "$WORK/dev/src"
	echo two >"$WORK/dev/src/file"
	push mended
	fuzzcell trigger --force
	built_by 4321
	[ "$(stat -c %u "$TREE/src/file")" -eq 4321 ]
}

@test "a link on the way to build_dir is not followed as root" {
	source_at "$TREE/src"
	fuzzcell build
	[ "$status" -eq 0 ]
	built_by 4321
	rm "$WHO/4321"
	source_at "$TREE/a/src"
	link_to "$ROOT" "$TREE/a" # $ROOT has a src directory
	fuzzcell build
	[ "$status" -ne 0 ]
	[[ $output == *"belongs to user 4321, and leads to a directory of user 0"* ]]
	not_built
	# Root's link into the user's tree is built as the user.  The user's link in root's tree is
	# refused.
	ln -s "$TREE/src" "$WORK/short"
	source_at "$WORK/short"
	fuzzcell build
	built_by 4321
	rm "$WHO/4321"
	link_to "$ROOT" "$ROOT/link"
	source_at "$ROOT/link" '{"build_as_root": true}'
	fuzzcell build
	[[ $output == *"'$ROOT/link' belongs to user 4321"* ]]
	not_built
	# The same holds for a third user's directory in the tree.
	install -d -o 4322 "$TREE/third"
	source_at "$TREE/third"
	fuzzcell build
	[[ $output == *"'$TREE' belongs to user 4321 and '$TREE/third' to user 4322"* ]]
	not_built
}

@test "a workspace that is a link to root's is neither queried nor built as root" {
	printf '#!/bin/sh\ntouch %s/$(id -u)\n' "$WHO" >"$WORK/bazel"
	chmod 0755 "$WORK/bazel"
	touch "$ROOT/WORKSPACE" "$TREE/src/WORKSPACE"
	link_to "$ROOT" "$TREE/ws"
	jq --arg b "$WORK/bazel" --arg ws "$TREE/ws" \
		'. + {discovery: [{type: "bazel", path: $ws, bazel: $b}]}' \
		"$STATE/config.json" >"$WORK/c" && mv "$WORK/c" "$STATE/config.json"
	for command in list build run; do
		fuzzcell "$command"
		[ "$status" -ne 0 ]
		[[ $output == *"'$TREE' belongs to user 4321, and leads to a directory of user 0"* ]]
		not_built
	done
	rm "$TREE/ws"
	link_to src "$TREE/ws"
	fuzzcell list
	built_by 4321
}

@test "while build_dir is exchanged all the time, no build runs as root" {
	link_to "$ROOT" "$TREE/link"
	source_at "$TREE/src"
	touch "$TREE/go"
	(
		while [ -e "$TREE/go" ]; do
			mv -T "$TREE/src" "$TREE/real" && mv -T "$TREE/link" "$TREE/src"
			mv -T "$TREE/src" "$TREE/link" && mv -T "$TREE/real" "$TREE/src"
		done
	) 3>&- &
	swapper=$! built=0 refused=0 n=0
	while [ "$n" -lt 400 ] && { [ "$built" -lt 10 ] || [ "$refused" -lt 10 ]; }; do
		n=$((n + 1))
		fuzzcell build >/dev/null
		if [ "$status" -eq 0 ]; then built=$((built + 1)); else refused=$((refused + 1)); fi
		[ ! -e "$WHO/0" ] || break
	done
	rm "$TREE/go"
	wait "$swapper"
	echo "$built built, $refused refused"
	built_by 4321
	[ "$refused" -ge 10 ]
}

@test "a tree that root owns is built only with build_as_root, with a warning" {
	source_at "$ROOT"
	for command in build check doctor; do
		if [ "$command" = check ]; then fuzzcell config check; else fuzzcell "$command"; fi
		[ "$status" -ne 0 ]
		[[ $output == *"'$ROOT' belongs to root, and builds do not run as root by default: give it to a user of its own (chown -R USER '$ROOT'), or set \"build_as_root\": true"* ]]
		not_built
	done
	source_at "$ROOT" '{"build_as_root": true}'
	fuzzcell config check
	[ "$status" -eq 0 ]
	[[ $output == *"note: the build of $WORK/out runs as root"* ]]
	fuzzcell doctor --json
	jq -e '.service.findings[] | select(.code == "build-as-root").severity == "warning"' <<<"$output"
	fuzzcell build
	[ "$status" -eq 0 ]
	built_by 0
	rm "$WHO/0"
	# It is refused where other users may exchange it.
	chmod 0777 "$ROOT"
	fuzzcell build
	[[ $output == *"other users may write to '$ROOT'"*"chmod go-w '$ROOT'"* ]]
	not_built
	chmod 0755 "$ROOT"
	chown 4321 "$ROOT" # as the message says
	source_at "$ROOT"
	fuzzcell build
	built_by 4321
}

@test "files in another user's tree are opened with that user's rights" {
	mkdir "$ROOT/seeds" "$TREE/seeds"
	printf TOP-SECRET >"$ROOT/seeds/key"
	printf 'a seed' >"$TREE/seeds/one"
	chmod 0700 "$ROOT/seeds"
	config "\"seeds\": [\"$TREE/seeds\"], \"merge_time\": \"off\""
	fuzz blind_fuzzer 2
	[ "$(value seeds)" -eq 1 ]
	rm -r "$TREE/seeds" "$STATE/corpus"
	link_to "$ROOT/seeds" "$TREE/seeds"
	fuzz blind_fuzzer 2
	[ "$(value seeds)" -eq 0 ]
	run grep -rl TOP-SECRET "$STATE"
	[ "$status" -eq 1 ]
	# If root does not own the root of cells, no cell starts.
	link_to / "$TREE/rootfs"
	sed -i 's#^ "run"# "rootfs": "'"$TREE/rootfs"'", "run"#' "$STATE/config.json"
	fuzz blind_fuzzer 2
	[ "$status" -ne 0 ]
	[[ $output == *"'$TREE' belongs to user 4321, who could put another directory in its place"* ]]
}

# As git makes them when it runs as root in a tree of root's.
@test "seeds and a dictionary that the configuration names in a work tree stay in that tree" {
	git init -q "$ROOT"
	mkdir -m 0700 "$WORK/secret"
	printf TOP-SECRET >"$WORK/secret/key"
	printf '"TOP-SECRET"\n' >"$WORK/secret/words"
	mkdir "$ROOT/seeds"
	printf 'a seed' >"$ROOT/seeds/one"
	config "\"seeds\": [\"$ROOT/seeds\"], \"merge_time\": \"off\""
	fuzz blind_fuzzer 2
	[ "$(value seeds)" -eq 1 ]
	rm -r "$ROOT/seeds" "$STATE/corpus"
	ln -s "$WORK/secret" "$ROOT/seeds"
	fuzz blind_fuzzer 2
	[ "$(value seeds)" -eq 0 ]
	[[ $output == *"leads out of the work tree"* ]] || grep -q 'leads out of the work tree' "$LOGS"/blind_fuzzer.*
	config "\"dictionary\": \"$ROOT/seeds/words\", \"merge_time\": \"off\""
	fuzz blind_fuzzer 2
	[ "$status" -ne 0 ]
	run grep -rl TOP-SECRET "$STATE"
	[ "$status" -eq 1 ]
}
