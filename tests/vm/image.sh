#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds what ci/vm.sh boots: a Debian 12 with systemd, on an ext4 disk, with
# Debian's cloud kernel.  Prints the directory that holds
#
#	vmlinuz    the kernel
#	initrd     virtio modules and a small /init that mounts the disk
#	root.img   the root file system, a sparse raw ext4 image
#
# usage: tests/vm/image.sh [CACHE_DIR]
#
# CACHE_DIR is ${XDG_CACHE_HOME:-~/.cache}/fuzzcell/vm unless given.  Its subdirectory is named by a
# hash of this script: an unchanged script builds once, a changed script builds a second directory.
# The build happens under another name and is renamed at its end, so a killed build leaves no
# directory that looks finished.  The next build removes its remains.
#
# Packages come from the machine's own apt sources.  Needs root (mmdebstrap
# and mke2fs -d have to keep owners), but mounts nothing that outlives it:
# everything runs in a private mount namespace.
set -euo pipefail

SUITE=bookworm
ROOT_SIZE=8G # sparse: only used blocks take space

# Libraries and programs that fuzzcell and the planted targets need, and the tools of the tests.  No
# compiler and no symbolizer: they are too big.
PACKAGES=(
	systemd systemd-sysv udev dbus kmod
	ca-certificates crun bats jq strace procps util-linux iproute2 zip unzip busybox-static
	git libarchive13 libcgroup2 libcurl4 libexpat1 libjansson4 libmd0 libmicrohttpd12
	libseccomp2 libssl3 libstdc++6 libsystemd0 libyaml-0-2
)

# Modules for the root disk; ext4 is built in.
INITRD_MODULES=(virtio_pci virtio_blk)

# Units that a test machine does not need and that cost emulated seconds.
MASK=(
	apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer
	e2scrub_reap.service fstrim.timer systemd-tmpfiles-clean.timer
	getty.target getty@tty1.service serial-getty@ttyS0.service
	systemd-logind.service systemd-user-sessions.service
	systemd-ask-password-console.path systemd-ask-password-wall.path
	systemd-binfmt.service proc-sys-fs-binfmt_misc.automount
	systemd-firstboot.service systemd-journal-flush.service
	systemd-machine-id-commit.service systemd-networkd.service systemd-pcrphase.service
	systemd-pcrphase-sysinit.service systemd-random-seed.service systemd-repart.service
	systemd-resolved.service systemd-sysusers.service systemd-timesyncd.service
	systemd-update-utmp.service systemd-update-utmp-runlevel.service
	dev-hugepages.mount dev-mqueue.mount sys-fs-fuse-connections.mount
	sys-kernel-config.mount sys-kernel-debug.mount sys-kernel-tracing.mount
	modprobe@configfs.service modprobe@drm.service modprobe@efi_pstore.service
	modprobe@fuse.service
)

HERE=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/vm/need.sh
. "$HERE/need.sh"

# Files of a small Debian that only users read.
exclude_options() {
	local dir

	for dir in doc man locale info lintian; do
		printf '%s\n' "--dpkgopt=path-exclude=/usr/share/$dir/*"
	done
}

# The machine's own sources, in the two formats of apt.
apt_sources() {
	local file

	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
		/etc/apt/sources.list.d/*.sources; do
		[[ -s $file ]] && printf '%s\n' "$file"
	done
	return 0
}

# The kernel is unpacked, not installed: its maintainer scripts would build an
# initramfs that is never booted.  Runs outside the chroot with the chroot's apt.
kernel_hook() {
	cat <<-'HOOK'
		set -eu
		export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
		kernel=$(apt-cache depends linux-image-cloud-amd64 |
			sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
		mkdir "$1/kernel"
		cd "$1/kernel"
		apt-get -q download "$kernel"
		dpkg-deb --fsys-tarfile ./*.deb | tar -x
		rm ./*.deb
	HOOK
}

# install_kernel ROOT OUT: modules into the root, the kernel beside it.
install_kernel() {
	local root=$1 out=$2 version

	version=$(ls "$root/kernel/lib/modules")
	mv "$root/kernel/boot/vmlinuz-$version" "$out/vmlinuz"
	mkdir -p "$root/usr/lib/modules"
	mv "$root/kernel/lib/modules/$version" "$root/usr/lib/modules/"
	rm -r "$root/kernel"
	chroot "$root" depmod "$version"
}

# build_initrd ROOT OUT: the few modules that the root disk needs.
build_initrd() {
	local root=$1 out=$2 version file
	local dir=$out/initrd.d
	local names=()

	mkdir -p "$dir/bin" "$dir/lib" "$dir/proc" "$dir/dev" "$dir/root"
	cp "$root/bin/busybox" "$dir/bin/busybox"
	version=$(ls "$root/usr/lib/modules")
	# In load order: "insmod FILE" for each module after its dependencies.
	while read -r _ file; do
		cp "$root$file" "$dir/lib/"
		names+=("${file##*/}")
	done < <(chroot "$root" modprobe --set-version "$version" --show-depends \
		--all "${INITRD_MODULES[@]}" | awk '!seen[$2]++')
	cat >"$dir/init" <<-INIT
		#!/bin/busybox sh
		/bin/busybox mount -t proc proc /proc
		/bin/busybox mount -t devtmpfs dev /dev
		for module in ${names[*]}; do
			/bin/busybox insmod /lib/\$module
		done
		until [ -b /dev/vda ]; do
			/bin/busybox usleep 10000
		done
		/bin/busybox mount -t ext4 /dev/vda /root
		/bin/busybox umount /proc
		/bin/busybox mount --move /dev /root/dev
		exec /bin/busybox switch_root /root /lib/systemd/systemd
	INIT
	chmod 755 "$dir/init"
	(cd "$dir" && find . | bin/busybox cpio -o -H newc 2>/dev/null) >"$out/initrd"
	rm -r "$dir"
}

# configure ROOT: sets up a quick boot into the one unit that runs the payload disk's command.
configure() {
	local root=$1 unit

	for unit in "${MASK[@]}"; do
		ln -sf /dev/null "$root/etc/systemd/system/$unit"
	done
	echo fuzzcell-vm >"$root/etc/hostname"
	echo '127.0.0.1 localhost fuzzcell-vm' >"$root/etc/hosts"
	echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
	echo virtio_console >"$root/etc/modules-load.d/vm.conf"
	# vda and vdb in the order of ci/vm.sh: this image and the payload.
	cat >"$root/etc/fstab" <<-FSTAB
		/dev/vda / ext4 defaults,noatime,noinit_itable 0 0
		/dev/vdb /fuzzcell ext4 defaults,noatime,noinit_itable 0 0
	FSTAB
	mkdir -p "$root/fuzzcell" "$root/etc/systemd/system/multi-user.target.wants"
	cat >"$root/etc/systemd/system/vm-run.service" <<-UNIT
		[Unit]
		Description=Runs the payload and switches the machine off
		RequiresMountsFor=/fuzzcell
		After=multi-user.target

		[Service]
		Type=exec
		ExecStart=/bin/bash /fuzzcell/.vm/guest.sh
		TimeoutStartSec=infinity
	UNIT
	ln -s ../vm-run.service "$root/etc/systemd/system/multi-user.target.wants/"
}

# build OUT: fills the directory OUT.
build() {
	local out=$1
	local root=$out/root
	local options sources

	mapfile -t options < <(exclude_options)
	mapfile -t sources < <(apt_sources)
	mmdebstrap --quiet --mode=root --variant=minbase --format=directory \
		--aptopt='APT::Install-Recommends "false"' \
		--dpkgopt=force-unsafe-io "${options[@]}" \
		--include="$(IFS=, && echo "${PACKAGES[*]}")" \
		--customize-hook="$(kernel_hook)" \
		"$SUITE" "$root" "${sources[@]}" >&2
	install_kernel "$root" "$out"
	build_initrd "$root" "$out"
	configure "$root"
	# No journal: the disk is thrown away after each run.
	mke2fs -q -t ext4 -O ^has_journal -m 0 -d "$root" "$out/root.img" "$ROOT_SIZE" >&2
	rm -r --one-file-system "$root"
}

main() {
	local cache=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/fuzzcell/vm}
	local key

	key=$(sha256sum <"$HERE/image.sh" | cut -c 1-16)
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock 9
	if [[ ! -d $cache/$key ]]; then
		[[ $EUID -eq 0 ]] || { echo 'vm: building the image needs root' >&2 && exit 1; }
		need mmdebstrap e2fsprogs
		# Only the lock's holder builds here: any remains are of killed builds.
		rm -rf --one-file-system "$cache"/building.*
		# Not local: the exit trap reads it.
		building=$(mktemp -d "$cache/building.XXXXXX")
		trap 'rm -rf --one-file-system "$building"' EXIT
		trap 'exit 130' INT
		trap 'exit 143' TERM
		echo "vm: building the image in $cache/$key" >&2
		chmod 755 "$building"
		build "$building"
		mv "$building" "$cache/$key"
		echo "vm: image built in ${SECONDS} s" >&2
	fi
	echo "$cache/$key"
}

if [[ $EUID -eq 0 && -z ${FUZZCELL_VM_UNSHARED-} ]]; then
	export FUZZCELL_VM_UNSHARED=1
	exec unshare --mount --propagation private -- "$0" "$@"
fi
main "$@"
