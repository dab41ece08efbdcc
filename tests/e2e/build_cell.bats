# SPDX-License-Identifier: Apache-2.0
# A build in a cell sees only its work tree and the host's programs.  User 4321, without an
# account, owns the tree.
load lib

setup() {
	[ "$(id -u)" -eq 0 ] || skip 'not root'
	e2e_setup
	TREE=$WORK/tree
	mkdir -p "$TREE/out"
	MARK=1000.$$$RANDOM # a number of seconds that no other process sleeps
}

teardown() {
	# The server may have ended.
	[ -z "${SERVER:-}" ] || kill "$SERVER" 2>/dev/null || true
	e2e_teardown
}

# build SCRIPT [KEY VALUE...]: a build of this script in a cell, under small limits.
build() {
	local script=$1 key
	shift
	chown -R 4321:4321 "$TREE"
	jq --arg tree "$TREE" --arg script "$script" \
		'.discovery = [{type: "directory", path: ($tree + "/out"), build: ["sh", "-c", $script],
		  build_dir: $tree, build_time: "200s", build_memory: "512MiB", build_pids: 64,
		  build_isolation: "cell"}]' "$STATE/config.json" >"$WORK/c"
	while [ $# -gt 0 ]; do
		key=$1
		jq --arg k "$key" --argjson v "$2" '.discovery[0][$k] = $v' "$WORK/c" >"$WORK/d"
		mv "$WORK/d" "$WORK/c"
		shift 2
	done
	cp "$WORK/c" "$STATE/config.json"
	run timeout $((300 * SLOW)) "$FUZZCELL" build --state-dir "$STATE" 3>&-
	echo "$output"
	cat "$STATE"/logs/build-*.log
}

nothing_lives() {
	! pgrep -r D,R,S,T -f "sleep $MARK" >/dev/null && nothing_left &&
		! compgen -G "/run/fuzzcell/$(instance)*" >/dev/null
}

needs() { # PROGRAM...: the guest of ci/vm.sh has no compilers
	local name
	for name; do
		command -v "$name" >/dev/null || skip "no $name here"
	done
}

@test "build tools run in a build cell, and the tree's owner owns what they make" {
	needs gcc clang cmake ninja git
	cat >"$TREE/x_fuzzer.c" <<-'END'
		#include <stddef.h>
		int LLVMFuzzerTestOneInput(const unsigned char *p, size_t n) { return n > 9 && p[0] == 1; }
	END
	cat >"$TREE/CMakeLists.txt" <<-'END'
		cmake_minimum_required(VERSION 3.10)
		project(x C)
		add_executable(x_fuzzer x_fuzzer.c)
		target_compile_options(x_fuzzer PRIVATE -fsanitize=fuzzer)
		target_link_options(x_fuzzer PRIVATE -fsanitize=fuzzer)
	END
	printf 'all:\n\tgcc -c -o made.o x_fuzzer.c && ar rc made.a made.o\n' >"$TREE/Makefile"
	git -c init.defaultBranch=main init -q "$TREE"
	printf 'x' >"$TREE/packed" && tar -C "$TREE" --owner=77 --group=77 -czf "$TREE/packed.tgz" packed
	build "set -ex; make -j2; mkdir b; cd b; CC=clang cmake -G Ninja .. ; ninja; cp -a x_fuzzer ../out; cd ..; tar xzf packed.tgz; git log -1 || git status --short"
	[ "$status" -eq 0 ]
	[[ $output == *"1 target can be fuzzed"* ]]
	[ -x "$TREE/out/x_fuzzer" ] && [ -s "$TREE/made.a" ]
	[ -z "$(find "$TREE" ! -user 4321 -print -quit)" ]
	[ -z "$(find "$TREE" ! -group 4321 -print -quit)" ]
	nothing_lives
}

@test "a build cell reads and writes only its work tree, and has no network" {
	echo secret >"$WORK/secret"
	chmod 0666 "$WORK/secret" # for example of another project
	git -c init.defaultBranch=main init -q "$TREE"
	build "cat $WORK/secret && echo GOT-IT; echo x >$WORK/secret; ls $STATE && echo GOT-IT; ls /root && echo GOT-IT; touch /usr/x && echo GOT-IT; touch /etc/x && echo GOT-IT; echo x >.git/hooks/post-checkout && echo GOT-IT; mv .git gone && echo GOT-IT; kill -0 $$ && echo GOT-IT; echo made >made; mkdir -p out"
	log=$(cat "$STATE"/logs/build-*.log)
	[[ $log != *GOT-IT* ]]
	[ "$(cat "$WORK/secret")" = secret ]
	[ -e "$TREE/made" ] && [ ! -e "$TREE/.git/hooks/post-checkout" ]
	nothing_lives
}

@test "a build cell has the machine's network only with build_network" {
	local port
	perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1") or die;
		open my $f, ">", $ARGV[0]; print $f $s->sockport; close $f;
		while ($c = $s->accept) { print $c "HELLO\n"; close $c }' "$WORK/port" 3>&- &
	SERVER=$!
	wait_until 30 test -s "$WORK/port"
	port=$(cat "$WORK/port")
	ask="perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(\"127.0.0.1:$port\")->getline' >answer 2>&1; true"
	build "$ask"
	[ "$(grep -c HELLO "$TREE/answer")" -eq 0 ]
	build "$ask" build_network true
	grep -q HELLO "$TREE/answer"
}

@test "a build cell refuses system calls that no build needs" {
	needs gcc
	cat >"$TREE/try.c" <<-'END'
		#define _GNU_SOURCE
		#include <errno.h>
		#include <sched.h>
		#include <stdio.h>
		#include <sys/mount.h>
		#include <sys/ptrace.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		static void try(const char *name, long r) { if (r >= 0 || errno != EPERM) printf("PASSED %s %ld %d\n", name, r, errno); }
		int main(void)
		{
			static const struct { const char *name; long nr; } v[] = {
				{"bpf", SYS_bpf}, {"keyctl", SYS_keyctl}, {"add_key", SYS_add_key},
				{"io_uring_setup", SYS_io_uring_setup}, {"perf_event_open", SYS_perf_event_open},
				{"userfaultfd", SYS_userfaultfd}, {"setns", SYS_setns}, {"init_module", SYS_init_module},
				{"process_vm_readv", SYS_process_vm_readv}, {"process_vm_writev", SYS_process_vm_writev},
				{"kexec_load", SYS_kexec_load}, {"pivot_root", SYS_pivot_root}, {"chroot", SYS_chroot},
				{"open_by_handle_at", SYS_open_by_handle_at}, {"fsopen", SYS_fsopen}, {"syslog", SYS_syslog},
			};
			for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
				try(v[i].name, syscall(v[i].nr, 0, 0, 0, 0, 0, 0));
			try("ptrace", ptrace(PTRACE_TRACEME, 0, 0, 0));
			try("unshare", unshare(CLONE_NEWUSER));
			try("mount", mount("tmpfs", "/tmp", "tmpfs", 0, ""));
			puts("tried");
			return 0;
		}
	END
	build "gcc -o try try.c && ./try >tried"
	cat "$TREE/tried"
	[ "$(cat "$TREE/tried")" = tried ]
	grep -q 'refused the system call ptrace' "$STATE"/logs/build-*.log
}

# bats test_tags=slow
@test "each bomb in a build cell ends it with its reason, and leaves no process" {
	build "for i in \$(seq 300); do setsid sleep $MARK & done; wait"
	[ "$status" -eq 6 ]
	[[ $output == *"the build passed its limit of 64 processes (build_pids)"* ]]
	nothing_lives
	build "head -c 1000000000 /dev/zero | tail >/dev/null; sleep $MARK" build_memory '"96MiB"'
	[ "$status" -eq 6 ]
	[[ $output == *"the build passed its memory limit of 96MiB (build_memory)"* ]]
	nothing_lives
	build "head -c 300000000 /dev/zero >big; sync big; sleep $MARK" build_disk '"64MiB"'
	[ "$status" -eq 6 ]
	[[ $output == *"the build passed its disk limit of 64MiB (build_disk)"* ]]
	nothing_lives
	build "trap '' HUP INT TERM; setsid sleep $MARK & sleep $MARK" build_time 1
	[ "$status" -eq 6 ]
	[[ $output == *"took more than 1s"* ]]
	nothing_lives
	build "(setsid sleep $MARK >/dev/null 2>&1 &) ; exit 7"
	[[ $output == *"sh ended with 7"* ]]
	nothing_lives
}

@test "a work tree that root owns, or behind a link, is not built in a cell" {
	mkdir "$WORK/other"
	chown 4321:4321 "$WORK/other"
	ln -s "$WORK/other" "$TREE/sub"
	build 'touch made' build_dir "\"$TREE/sub\""
	[ "$status" -eq 6 ]
	[[ $output == *"'$TREE/sub' leads to '$WORK/other': a build cell follows no links"* ]]
	# The same holds when trigger.repository, which the cell shows, is the work tree.
	git -c init.defaultBranch=main init -q "$TREE"
	jq --arg r "$TREE" '.trigger.repository = $r' "$STATE/config.json" >"$WORK/c" &&
		cp "$WORK/c" "$STATE/config.json"
	build 'touch made' build_dir "\"$TREE/sub\""
	[ "$status" -eq 6 ]
	[ ! -e "$WORK/other/made" ]
	rm "$TREE/sub"
	build 'touch made'
	chown root:root "$TREE"
	jq '.discovery[0].build_as_root = true' "$STATE/config.json" >"$WORK/c" &&
		cp "$WORK/c" "$STATE/config.json"
	run "$FUZZCELL" build --state-dir "$STATE"
	echo "$output"
	[ "$status" -eq 6 ]
	[[ $output == *"a build cell is never root on the host, and '$TREE' is root's: give the work tree to a user"* ]]
}

@test "a repository that a build cell could write is not built in a cell" {
	git -c init.defaultBranch=main init -q --separate-git-dir "$TREE/.repository" "$TREE"
	build 'touch .repository/made'
	[ "$status" -eq 6 ]
	[[ $output == *"the repository '$TREE/.repository' is in '$TREE', which a build cell can write"* ]]
	[ ! -e "$TREE/.repository/made" ]
	printf 'gitdir: .repository\n' >"$TREE/.git"
	build 'touch made'
	[ "$status" -eq 6 ]
	mv "$TREE/.repository" "$WORK/repository"
	printf 'gitdir: ../repository\n' >"$TREE/.git"
	build 'touch made; echo x >.git'
	[ -e "$TREE/made" ]
	[ "$(cat "$TREE/.git")" = 'gitdir: ../repository' ]
	nothing_lives
}

@test "git runs no command of a repository that a build cell made in its work tree" {
	needs git
	local seeds=$TREE/out/healthy_fuzzer_seed_corpus
	mkdir -m 1777 "$WORK/drop" # the cell does not see it
	git init -q "$TREE"
	install "$TARGETS/healthy_fuzzer" "$TREE/out"
	mkdir -p "$seeds" "$STATE/corpus/healthy_fuzzer"
	printf new >"$STATE/corpus/healthy_fuzzer/$(printf new | sha1sum | cut -d' ' -f1)"
	cat >"$TREE/build.sh" <<-END
		set -e
		touch out/healthy_fuzzer
		cd $seeds
		git init -q .
		echo seed >a
		echo '* filter=x' >.gitattributes
		git add .
		git -c user.name=x -c user.email=x@y commit -q -m x
		git config filter.x.clean 'touch $WORK/drop/ran; cat'
		echo beet >a # of the same size: only the content shows the change
	END
	build 'sh ./build.sh'
	[ "$status" -eq 0 ]
	run timeout $((60 * SLOW)) "$FUZZCELL" corpus update-intree --state-dir "$STATE"
	echo "$output"
	[ "$status" -ne 0 ]
	[[ $output == *'in a directory that a build cell can write'* ]]
	[ ! -e "$WORK/drop/ran" ]
}

@test "a build cell may not write a repository above its tree, or by another mount" {
	needs git
	git init -q "$TREE"
	chown -R 4321:4321 "$TREE"
	build 'touch made' build_dir "\"$TREE/out\""
	[ "$status" -eq 6 ]
	[[ $output == *"'$TREE/out' is in the repository of '$TREE'"* ]]
	build 'touch made' build_writable "[\"$TREE/.git/hooks\"]"
	[ "$status" -eq 6 ]
	[[ $output == *"'$TREE/.git/hooks' is in a repository"* ]]
	# A mount that covers the tree does not cover its .git.
	build "echo x >$TREE/.git/config; touch made" build_writable "[\"$TREE\"]"
	echo "$output"
	[ "$(head -c 1 "$TREE/.git/config")" != x ]
	nothing_lives
}
