#!/bin/bash
# Builds the VM image (kernel, initrd, root disk) from Debian packages into a
# cache folder, once for each state of this folder; prints the image's folder.
#
#   build-image.sh [--force]
#
# Nothing is installed on this machine: packages are downloaded and unpacked.
# Environment: BLUEZ_VM_CACHE   the cache folder (default: the project's
#                               .cache/bluez-vm)
#              BLUEZ_VM_SUITE   the Debian release for the VM's packages:
#                               bookworm (the default) or trixie
#              BLUEZ_VM_MIRROR  where to get them (default: the Debian mirror
#                               of this machine's apt, else deb.debian.org)
# Exit status: 3 if the packages cannot be had.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
suite=${BLUEZ_VM_SUITE:-bookworm}
cache=${BLUEZ_VM_CACHE:-$here/../../.cache/bluez-vm}/$suite
# What the tests were written against. A stable release changes these only if
# something is badly wrong with them, and then somebody must look.
case $suite in
bookworm) BLUEZ=5.66 BLEAK=0.20.2 ;;
trixie) BLUEZ=5.82 BLEAK=0.22.3 ;;
*) echo "build-image: no release $suite; there are bookworm and trixie" >&2; exit 2 ;;
esac

PACKAGES="bluez bluez-test-tools bluez-test-scripts busybox-static kmod dbus util-linux libstdc++6
	python3 python3-bleak python3-dbus-fast python3-dbus python3-gi"
# Dependencies that nothing in the VM runs.
UNNEEDED='^(adduser|debconf|dpkg|gcc-12-base|init-system-helpers|libasound2-data|libaudit-common
|libdb5\.3|libfile-find-rule-perl|libgdbm.*|libgssapi-krb5-2|libjs-.*|libk5crypto3|libkrb5.*|libnsl2|libnumber-compare-perl
|libpam-modules.*|libperl.*|libsemanage.*|libsepol2|libsqlite3-0|libtext-glob-perl|libtirpc.*|lsb-base|media-types|passwd|perl.*
|readline-common|sysvinit-utils|tar|udev|usrmerge)$'
UNNEEDED=${UNNEEDED//$'\n'/}
ROOT_MODULES="virtio_pci virtio_blk ext4 crc32c_generic"
MODULES="virtio_console 9p 9pnet_virtio bluetooth hci_vhci hci_uart rfcomm bnep hidp bluetooth_6lowpan
	uhid uinput algif_hash algif_skcipher ecb cmac ccm ctr drbg jitterentropy_rng sha512_generic seqiv"

say() { echo "build-image: $*" >&2; }
die() { say "$*"; exit 1; }
unreachable() { say "$*: check the network and apt's sources, then try again"; exit 3; }
for tool in apt-get apt-cache dpkg-deb cpio xz mke2fs flock gcc sha256sum od; do
	PATH=$PATH:/sbin:/usr/sbin command -v $tool >/dev/null || die "$tool is missing; see Scripts/bluez-vm/README.md for the packages"
done
PATH=$PATH:/sbin:/usr/sbin

key=$(cd "$here" && cat build-image.sh $(find guest -type f ! -name '*.pyc' | sort) | sha256sum | cut -c1-16)
image=$cache/image-$key
mkdir -p "$cache"
exec 8>"$cache/lock"
flock 8
[ "${1:-}" = --force ] && rm -rf "$image"
if [ -e "$image/done" ]; then
	echo "$image"
	exit 0
fi
started=$(date +%s)
work=$cache/work
rm -rf "$work" "$image"
mkdir -p "$work/root" "$work/kernel" "$image" "$cache/debs/partial"

# --- packages: apt resolves as for an empty system, and only downloads
mirror=${BLUEZ_VM_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
	grep -m 1 '/debian/$' || true)}
mirror=${mirror:-http://deb.debian.org/debian/}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e $keyring ] || die "$keyring is missing: install debian-archive-keyring"
mkdir -p "$cache/lists/partial"
echo "deb [signed-by=$keyring] $mirror $suite main" >"$cache/sources.list"
# The release's lists are kept apart from this machine's.
options=(-o Dir::State::status=/dev/null -o Dir::Cache::archives="$cache/debs" -o Debug::NoLocking=1
	-o APT::Sandbox::User=root -o APT::Install-Recommends=0 -o APT::Architecture=amd64
	-o Dir::Etc::sourcelist="$cache/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$cache/lists"
	-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Dir::Etc::preferencesparts=/dev/null -o APT::Default-Release=
	-o Acquire::Retries=2 -o Acquire::http::Timeout=20)
apt() { apt-get -qq "${options[@]}" "$@"; }
resolve_kernel() {
	apt-cache "${options[@]}" depends linux-image-amd64 2>/dev/null |
		sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1
}
fetch() {
	kernel=$(resolve_kernel)
	[ -n "$kernel" ] || return 1
	rm -f "$cache"/debs/*.deb
	apt -y --download-only install $PACKAGES >&2 && (cd "$cache/debs" && apt download "$kernel" >&2)
}
if ! apt -y -s install $PACKAGES >/dev/null 2>&1 || ! fetch; then
	apt update >&2 || unreachable "Debian's package lists cannot be had from $mirror"
	fetch || unreachable "Debian's packages cannot be had from $mirror"
fi
pinned() { # package version
	compgen -G "$cache/debs/$1_$2-*.deb" >/dev/null ||
		die "$suite has another $1 than $2, which the tests were written against: $(cd "$cache/debs" && echo $1_*)"
}
pinned bluez $BLUEZ
pinned python3-bleak $BLEAK
say "packages there after $(($(date +%s) - started)) s"

# --- root tree
root=$work/root
mkdir -p "$root"/usr/{bin,sbin,lib,lib64,local/bin,local/lib} "$root"/{proc,sys,dev,run,tmp,root,home,mnt,host,etc,var/lib/bluetooth,var/lib/dbus}
for d in bin sbin lib lib64; do ln -s usr/$d "$root/$d"; done
ln -s /run "$root/var/run"
for deb in "$cache"/debs/*.deb; do
	name=${deb##*/}; name=${name%%_*}
	case $name in linux-image-*) continue ;; esac
	[[ $name =~ $UNNEEDED ]] && continue
	echo "${deb##*/}" >>"$image/packages.txt"
	dpkg-deb --fsys-tarfile "$deb" | tar -x --no-same-owner --keep-directory-symlink -C "$root" \
		--exclude='./usr/share/man' --exclude='./usr/share/locale' --exclude='./usr/share/info' \
		--exclude='./usr/share/lintian' --exclude='./usr/share/doc/*/copyright' --exclude='./usr/share/doc/*/*.gz'
done
lib=$root/usr/lib/x86_64-linux-gnu
# Programs of the tree are run with the tree's own loader and libraries.
in_root() { # argv0 program args...
	local argv0=$1; shift
	"$lib/ld-linux-x86-64.so.2" --argv0 "$argv0" --library-path "$lib" "$root$@"
}
python=$(cd "$root/usr/bin" && ls -d python3.?? | head -1)
PYTHONHOME=$root/usr in_root python3 /usr/bin/$python -m compileall -q -s "$root" -p / "$root/usr/lib/python3" "$root/usr/lib/$python" >&2 || true

cat >"$root/etc/passwd" <<'X'
root:x:0:0:root:/root:/bin/sh
messagebus:x:100:100::/nonexistent:/bin/false
nobody:x:65534:65534::/nonexistent:/bin/false
X
cat >"$root/etc/group" <<'X'
root:x:0:
messagebus:x:100:
bluetooth:x:101:
netdev:x:102:
nogroup:x:65534:
X
echo 00000000000000000000000000000001 >"$root/etc/machine-id"
ln -s /etc/machine-id "$root/var/lib/dbus/machine-id"
echo bluez-vm >"$root/etc/hostname"
for applet in $("$root/usr/bin/busybox" --list); do
	[ -e "$root/usr/bin/$applet" ] || [ -L "$root/usr/bin/$applet" ] ||
		[ -e "$root/usr/sbin/$applet" ] || [ -L "$root/usr/sbin/$applet" ] || ln -s busybox "$root/usr/bin/$applet"
done
cp "$here/guest/main.conf" "$root/etc/bluetooth/main.conf"
install -m 755 "$here/guest/vm-init" "$root/usr/sbin/vm-init"
for tool in "$here"/guest/tools/*; do [ -f "$tool" ] && install -m 755 "$tool" "$root/usr/local/bin/"; done
for tool in h4bridge hcisnoop; do
	gcc -O2 -static -o "$root/usr/local/bin/$tool" "$here/guest/$tool.c"
done
gcc -O2 -shared -fPIC -o "$root/usr/local/lib/one_event.so" "$here/guest/one_event.c"

# --- kernel: modules wanted, with what they need, in loading order
mkdir -p "$work/kernel/usr/lib"
ln -s usr/lib "$work/kernel/lib"
dpkg-deb --fsys-tarfile "$cache"/debs/linux-image-*.deb | tar -x --keep-directory-symlink -C "$work/kernel" --wildcards \
	'*/boot/vmlinuz-*' '*/modules.*' '*/kernel/net/*' '*/kernel/crypto/*' '*/kernel/lib/*' '*/kernel/fs/*' \
	'*/kernel/drivers/bluetooth/*' '*/kernel/drivers/virtio/*' '*/kernel/drivers/block/virtio_blk*' \
	'*/kernel/drivers/char/*' '*/kernel/drivers/hid/*' '*/kernel/drivers/input/misc/*'
version=$(ls "$work/kernel/lib/modules")
find "$work/kernel/usr/lib" -name '*.ko.xz' -exec xz -d {} +
from=$work/kernel/lib/modules/$version
in_root depmod /usr/bin/kmod -b "$work/kernel" "$version"
with_needs() { # module names -> files, in an order in which insmod works
	local m
	for m in "$@"; do
		# (One that the kernel has built in has no file.)
		{ grep -E "/$m\.ko:" "$from/modules.dep" || true; } | tr -d : | tr ' ' '\n' | tac
	done | awk 'NF && !seen[$0]++'
}
mkdir -p "$root/usr/lib/modules/$version"
with_needs $MODULES $ROOT_MODULES >"$work/modules"
grep -q /hci_vhci.ko "$work/modules" || die "$kernel has no hci_vhci module"
(cd "$from" && cpio -pdm --quiet "$root/usr/lib/modules/$version" <"$work/modules")
for f in modules.builtin modules.builtin.modinfo modules.order; do cp "$from/$f" "$root/usr/lib/modules/$version/"; done
in_root depmod /usr/bin/kmod -b "$root" "$version"

# --- initrd: busybox and the way to the root disk
initrd=$work/initrd
mkdir -p "$initrd"/{bin,dev,lib,newroot}
cp "$root/usr/bin/busybox" "$initrd/bin/"
ln -s busybox "$initrd/bin/sh"
install -m 755 "$here/guest/initrd-init" "$initrd/init"
with_needs $ROOT_MODULES | while read -r m; do
	cp "$from/$m" "$initrd/lib/"
	echo "${m##*/}" >>"$initrd/modules.order"
done
(cd "$initrd" && find . | sort | cpio -o -H newc --quiet --owner 0:0) >"$image/initrd.cpio"

# --- kernel image: the payload of the bzImage as an ELF file, which QEMU starts
# by its PVH entry, without the guest unpacking anything
bzimage=$(ls "$work"/kernel/boot/vmlinuz-*)
field() { od -An -t "u$2" -j "$1" -N "$2" "$bzimage" | tr -d ' '; }
offset=$((($(field 497 1) + 1) * 512 + $(field 584 4)))
cp "$bzimage" "$image/vmlinux"
length=$(field 588 4)
if head -c $((offset + length)) "$bzimage" | tail -c "$length" >"$work/payload"; then
	case $(od -An -t x1 -N 4 "$work/payload" | tr -d ' ') in
	fd377a58) xz -dc --single-stream <"$work/payload" >"$work/vmlinux" 2>/dev/null || true ;;
	28b52ffd) zstd -dc <"$work/payload" >"$work/vmlinux" 2>/dev/null || true ;;
	1f8b*) gzip -dc <"$work/payload" >"$work/vmlinux" 2>/dev/null || true ;;
	esac
	if [ "$(od -An -t x1 -N 4 "$work/vmlinux" 2>/dev/null | tr -d ' ')" = 7f454c46 ]; then
		mv "$work/vmlinux" "$image/vmlinux"
	else
		say "the kernel could not be unpacked; it is started as it is, which is slower"
	fi
fi

# --- root disk, sparse, without a journal (each run writes to a throw-away layer)
size=$(($(du -s --apparent-size -B 1M "$root" | cut -f1) * 5 / 4 + 96))
rm -f "$image/root.ext4"
truncate -s ${size}M "$image/root.ext4"
mke2fs -q -F -t ext4 -O ^has_journal -m 0 -E root_owner=0:0 -d "$root" "$image/root.ext4"
echo "$version" >"$image/kernel-version"
touch "$image/done"
rm -rf "$work" "$cache"/debs
for old in "$cache"/image-*; do [ "$old" = "$image" ] || rm -rf "$old"; done
say "built in $(($(date +%s) - started)) s: kernel $version, $(du -sh "$image" | cut -f1) in $image"
echo "$image"
