#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# make deb, and the package on a copy of this machine.  The tests in the VM (systemd/) install and
# purge the package with systemd as the first process.

setup_file() {
	export DEBFULLNAME='A builder' DEBEMAIL=builder@example.org
	export TOP DEBS=$BATS_FILE_TMPDIR/debs

	TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	mkdir "$DEBS"
	cd "$TOP" || return
	make_deb "$DEBS/first.deb"
}

setup() {
	cd "$TOP" || return
}

make_deb() { # FILE
	mv "$(make -s B="${B:-build}" deb | tail -n 1)" "$1"
}

# on_a_copy COMMAND: runs as root on a copy-on-write view of this machine, with the packages in
# /mnt.  Then prints the remaining files of fuzzcell, and the changed files.
on_a_copy() {
	# shellcheck disable=SC2016
	unshare --mount --propagation private bash -e -c '
		mount -t tmpfs tmpfs "$1"
		mkdir "$1"/{up,work,root}
		mount -t overlay -o "lowerdir=/,upperdir=$1/up,workdir=$1/work" overlay "$1/root"
		mount --bind "$2" "$1/root/mnt"
		mount --rbind /dev "$1/root/dev"
		DEBIAN_FRONTEND=noninteractive chroot "$1/root" bash -e -x -c "$3"
		cd "$1/up"
		echo "== left"
		find . ! -type d ! -path ./var/lib/man-db/auto-update ! -path "./var/lib/dpkg/*" ! -path "./var/log/*" ! -path "./var/cache/*"
		find . -type d -name "*fuzzcell*"
	' on_a_copy "$BATS_TEST_TMPDIR" "$DEBS" "$1" 2>&1
}

@test "the package builds reproducibly, and lintian accepts it" {
	make_deb "$BATS_TEST_TMPDIR/again.deb"
	cmp "$DEBS/first.deb" "$BATS_TEST_TMPDIR/again.deb"
	run lintian --fail-on error,warning "$DEBS/first.deb"
	echo "$output"
	[ "$status" -eq 0 ]
	run grep -v 'running with root privileges' <<<"$output"
	[ "$output" = '' ]
	# The only overridden tag is for the mode of the secrets' directory.
	[ "$(grep -vc '^#' "$TOP/deb/lintian-overrides")" -eq 1 ]
}

@test "the package names its dependencies, and has program, units, completion and documents" {
	depends=$(dpkg-deb -f "$DEBS/first.deb" Depends)
	echo "$depends"
	for p in ca-certificates crun git libc6 libcgroup2 libjansson4 libseccomp2; do
		[[ ", $depends," == *", $p"[\ ,]* ]]
	done
	make -s B="${B:-build}" install DESTDIR="$BATS_TEST_TMPDIR/made" PREFIX=/usr SYSTEMD_DIR=/lib/systemd/system
	dpkg-deb -x "$DEBS/first.deb" "$BATS_TEST_TMPDIR/root"
	cd "$BATS_TEST_TMPDIR/root"
	run comm -23 <(cd ../made && find . | sed 's/\.1$/.1.gz/' | sort) <(find . | sort)
	echo "missing: $output"
	[ "$output" = '' ]
	grep -q '^ExecStart=/usr/bin/fuzzcell serve ' lib/systemd/system/fuzzcell-serve.service
	zcat usr/share/man/man1/fuzzcell.1.gz | cmp - "$TOP/docs/fuzzcell.1"
	zcat usr/share/doc/fuzzcell/changelog.gz | grep -q "^fuzzcell ($(dpkg-deb -f "$DEBS/first.deb" Version)) "
	# The documents that the README and the pages refer to exist.
	for page in usr/share/doc/fuzzcell/README.md usr/share/doc/fuzzcell/docs/*.md; do
		while IFS= read -r link; do
			echo "$page: $link"
			[ -e "$(dirname "$page")/$link" ]
		done < <(grep -o '](\(\.\./\)*[A-Za-z/_-]*\.\(md\|yml\|json\|1\)' "$page" | sed 's/^](//' | grep -v '^\.\./tests/' | sort -u)
	done
}

@test "a release sorts after the commits before its tag, and before later commits" {
	git() { command git -C "$BATS_TEST_TMPDIR/clone" -c user.name=a -c user.email=a@b "$@"; }
	version() { "$BATS_TEST_TMPDIR/clone/deb/build.sh" --version; }

	mkdir -p "$BATS_TEST_TMPDIR/clone/deb"
	cp "$TOP/Makefile" "$BATS_TEST_TMPDIR/clone/"
	cp "$TOP/deb/build.sh" "$BATS_TEST_TMPDIR/clone/deb/"
	release=$(version) # without git
	[ "fuzzcell $release" = "$("${B:-build}/fuzzcell" version)" ]
	git init -q
	git add .
	git commit -q -m one
	before=$(version)
	git tag -a "v$release" -m "fuzzcell $release"
	[ "$(version)" = "$release" ]
	echo >>"$BATS_TEST_TMPDIR/clone/Makefile" # not committed
	changed=$(version)
	git commit -q -a -m two
	after=$(version)
	echo "$before, $release, $changed, $after"
	dpkg --compare-versions "$before" lt "$release"
	dpkg --compare-versions "$release" lt "$changed"
	dpkg --compare-versions "$release" lt "$after"
	[[ $after == "$release+git"*".$(git rev-parse --short=12 HEAD)" ]]
}

@test "the package is installed, upgraded and purged: it works, keeps changed files, and leaves no other" {
	dpkg-deb -R "$DEBS/first.deb" "$BATS_TEST_TMPDIR/second"
	sed -i 's/^Version: .*/Version: 999/' "$BATS_TEST_TMPDIR/second/DEBIAN/control"
	dpkg-deb --root-owner-group -b "$BATS_TEST_TMPDIR/second" "$DEBS/second.deb"
	run on_a_copy '
		rm -f /var/lib/man-db/auto-update # would index all pages again, which takes long
		dpkg -i /mnt/first.deb
		fuzzcell version
		. /usr/share/bash-completion/completions/fuzzcell
		complete -p fuzzcell
		[ "$(stat -c %a:%u /etc/fuzzcell/secrets)" = 700:0 ]
		[ -z "$(find /etc/systemd -name "fuzzcell*")" ]
		systemctl enable fuzzcell.timer fuzzcell-serve.service
		[ "$(find /etc/systemd -name "fuzzcell*" | wc -l)" -eq 2 ]
		echo SERVE=--listen=8090 >>/etc/default/fuzzcell
		echo {} >/etc/fuzzcell/config.json
		echo secret >/etc/fuzzcell/secrets/github-token
		dpkg -i /mnt/second.deb
		grep -qx SERVE=--listen=8090 /etc/default/fuzzcell
		[ "$(find /etc/systemd -name "fuzzcell*" | wc -l)" -eq 2 ]
		dpkg -r fuzzcell
		! command -v fuzzcell
		[ -s /etc/default/fuzzcell ]
		dpkg --purge fuzzcell'
	echo "$output"
	[ "$status" -eq 0 ]
	# The administrator's changes stay.
	[ "$(sed '1,/^== left/d' <<<"$output" | sort)" = "$(printf '%s\n' ./etc/fuzzcell \
		./etc/fuzzcell/config.json ./etc/fuzzcell/secrets/github-token)" ]
}
