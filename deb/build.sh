#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds $B/fuzzcell_VERSION_ARCHITECTURE.deb from what `make install` installs, and prints its
# path.  The package is reproducible for the same program and commit.
#
# usage: [B=build] deb/build.sh        `make deb`; B is relative to the project's directory
#        deb/build.sh --version        only prints the version
#
# The version is the Makefile's VERSION at its tag, VERSION+gitTIME.COMMIT after the tag, and
# VERSION~gitTIME.COMMIT before it.  With uncommitted changes it ends in ".changed".  Without git it
# is VERSION.
#
# DEBFULLNAME and DEBEMAIL name the maintainer (default: the author of the commit).
set -euo pipefail

cd "$(dirname "$0")/.."
B=${B:-build}
make=${MAKE:-make}
unset MAKEFLAGS MFLAGS MAKELEVEL

git_says() {
	git "$@" 2>/dev/null
}

version() {
	local version commit

	version=$(sed -n 's/^VERSION := //p' Makefile)
	if commit=$(TZ=UTC git_says log -1 --date=format-local:%Y%m%d.%H%M%S --format=git%cd.%h --abbrev=12); then
		git_says diff --quiet HEAD || commit+=.changed
		if [[ $commit != *.changed && $(git_says tag --points-at HEAD "v$version") ]]; then
			commit=
		elif [[ $(git_says tag --list "v$version") ]]; then
			commit=+$commit
		else
			commit=\~$commit
		fi
	fi
	echo "$version$commit"
}

maintainer() {
	local name=${DEBFULLNAME:-} mail=${DEBEMAIL:-}

	[[ $name ]] || name=$(git_says log -1 --format=%an) || name=root
	[[ $mail ]] || mail=$(git_says log -1 --format=%ae) || mail=root@localhost
	echo "$name <$mail>"
}

# Prints the changelog; for a release it is the text of the tag.
changes() {
	local commit

	if [[ $1 != *git* ]] && git_says tag --list --format='%(contents)' "v$1" | grep . | sed 's/^/  /'; then
		return
	fi
	commit=$(git_says rev-parse HEAD) || commit='an archive'
	echo "  * Built from $commit."
}

changelog() { # VERSION
	printf 'fuzzcell (%s) unstable; urgency=medium\n\n' "$1"
	changes "$1"
	printf '\n -- %s  %s\n' "$(maintainer)" "$(date -R -u -d "@$SOURCE_DATE_EPOCH")"
}

# Makes all installed files of the package below the directory $root.
tree() { # VERSION
	local doc=$root/usr/share/doc/fuzzcell

	"$make" -s B="$B" install DESTDIR="$root" PREFIX=/usr SYSTEMD_DIR=/lib/systemd/system >&2
	strip --remove-section=.comment --remove-section=.note "$root/usr/bin/fuzzcell"
	install -m 0644 -t "$doc" {README,CONTRIBUTING,SECURITY,CHANGELOG}.md deb/copyright
	install -D -m 0644 -t "$doc/docs" docs/*.md docs/alerts.yml docs/grafana.json docs/dashboard.png
	mkdir "$doc/examples"
	cp -r examples/recipes "$doc/examples/"
	changelog "$1" >"$doc/changelog"
	gzip -9n "$doc/changelog" "$root/usr/share/man/man1/fuzzcell.1"
	install -D -m 0644 deb/default "$root/etc/default/fuzzcell"
	install -D -m 0644 deb/lintian-overrides "$root/usr/share/lintian/overrides/fuzzcell"
}

# Makes the package's control files; its dependencies are the libraries that the program links.
control() { # VERSION
	local debian=$work/debian

	mkdir "$debian" "$root/DEBIAN"
	sed "s/@MAINTAINER@/$(maintainer | sed 's/[&/\]/\\&/g')/" deb/control >"$debian/control"
	changelog "$1" >"$debian/changelog"
	(
		cd "$work"
		dpkg-shlibdeps "$root/usr/bin/fuzzcell"
		dpkg-gencontrol -pfuzzcell -P"$root"
	)
	install -m 0755 -t "$root/DEBIAN" deb/{postinst,prerm,postrm}
	echo /etc/default/fuzzcell >"$root/DEBIAN/conffiles"
	(cd "$root" && find usr lib -type f -printf '%p\n' | sort | xargs md5sum >DEBIAN/md5sums)
}

main() {
	local version file

	version=$(version)
	if [[ ${1:-} == --version ]]; then
		echo "$version"
		return
	fi
	[[ $# -eq 0 ]] || { echo 'usage: deb/build.sh [--version]' >&2 && exit 2; }
	SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git_says log -1 --format=%ct || stat -c %Y Makefile)}
	export SOURCE_DATE_EPOCH
	umask 022
	work=$(mktemp -d "${TMPDIR:-/tmp}/fuzzcell-deb.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	root=$work/root
	tree "$version"
	control "$version"
	file=$B/fuzzcell_${version}_$(dpkg --print-architecture).deb
	dpkg-deb --root-owner-group --build "$root" "$file" >/dev/null
	echo "$file"
}

main "$@"
