#!/bin/bash
# Runs a command in a VM with a real Linux Bluetooth subsystem, BlueZ and
# virtual controllers.  See README.md, or --help.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
usage() {
	cat <<'X'
usage: run-in-bluez-vm.sh [OPTION]... [--] COMMAND [ARG]...
Runs COMMAND in the VM; its output and exit status are this script's.
Exit status 124: over the time limit; 125: the VM itself failed.

Controllers
  --adapters N         virtual controllers (btvirt) in the VM; default 2
  --le                 make them LE-only ones, with 4.x features
  --user N[,N...]      leave hciN down, for COMMAND's HCI_CHANNEL_USER
  --controller SOCKET  a controller outside: it listens on the Unix socket
                       SOCKET (or tcp:HOST:PORT) and talks H4; hciN in the VM
                       after the virtual ones.  May be repeated
  --serve N=SOCKET     make hciN (as with --user) a controller for a host
                       outside, which connects to the Unix socket SOCKET and
                       talks H4.  May be repeated
BlueZ
  --dual               BR/EDR too; bluetoothd uses LE only without this
  --no-bluetoothd      controllers and kernel only
  --bluetoothd "ARGS"  more arguments for bluetoothd, e.g. "-d" or "-E"
  --modules "NAMES"    more kernel modules to load at the start
Files
  --share DIR[:ro]     DIR of this machine at the same path in the VM.  The
                       current folder is shared unless there is a --share.
                       With :ro the VM keeps what it has read, which is much
                       faster; changes made outside meanwhile it may not see
  --host-root          run COMMAND in this machine's whole file system,
                       read-only but for the shares and an own /tmp and /run
  --beside             run COMMAND in the VM, where "on-host PROGRAM ..." then
                       runs a program as with --host-root
  --chdir DIR          where COMMAND starts; default: the current folder
  --env NAME[=VALUE]   an environment variable for COMMAND
  --stdin              read standard input to its end, then give it to COMMAND
                       (otherwise COMMAND's standard input never ends)
  --logs DIR           leave logs of the VM there: dmesg, bluetoothd, btvirt,
                       console, and hci.btsnoop with --snoop
  --snoop              record all HCI traffic, user channels included
Run
  --timeout SECONDS    for everything; default 300
  --cpus N, --memory MIB  of the VM; default 2, 768
  --shell              a shell on this terminal instead of COMMAND
  --verbose            show the VM's console on standard error
Environment: BLUEZ_VM_SUITE, BLUEZ_VM_CACHE,
BLUEZ_VM_MIRROR (see build-image.sh), BLUEZ_VM_QEMU
(the QEMU program), BLUEZ_VM_ACCEL, BLUEZ_VM_CPU (its -accel and -cpu),
BLUEZ_VM_QEMU_ARGS, BLUEZ_VM_APPEND (more arguments for QEMU, for the kernel),
BLUEZ_VM_TRACE=1 (H4 packets into the logs)
X
}
die() { echo "run-in-bluez-vm: $*" >&2; exit 125; }

adapters=2 btvirt_args="" dual="" user="" bluetoothd=1 bluetoothd_args="" modules="" hostroot="" chdir=$PWD
stdin="" logs="" snoop="" limit=300 cpus=2 memory=768 shell="" verbose=""
controllers=() serves=() shares=() envs=()
while [ $# -gt 0 ]; do
	case $1 in
	--adapters) adapters=$2; shift ;;
	--le) btvirt_args=-L ;;
	--dual) dual=1 ;;
	--user) user="$user ${2//,/ }"; shift ;;
	--controller) controllers+=("$2"); shift ;;
	--serve) serves+=("$2"); shift ;;
	--no-bluetoothd) bluetoothd="" ;;
	--bluetoothd) bluetoothd_args=$2; shift ;;
	--modules) modules=$2; shift ;;
	--share) shares+=("$2"); shift ;;
	--host-root) hostroot=command ;;
	--beside) hostroot=beside ;;
	--chdir) chdir=$2; shift ;;
	--env) envs+=("$2"); shift ;;
	--stdin) stdin=1 ;;
	--logs) logs=$2; shift ;;
	--snoop) snoop=1 ;;
	--timeout) limit=$2; shift ;;
	--cpus) cpus=$2; shift ;;
	--memory) memory=$2; shift ;;
	--shell) shell=1 ;;
	--verbose) verbose=1 ;;
	--help|-h) usage; exit 0 ;;
	--) shift; break ;;
	-*) die "no option $1; see --help" ;;
	*) break ;;
	esac
	shift
done
[ $# -gt 0 ] || [ -n "$shell" ] || { usage >&2; exit 125; }
qemu=${BLUEZ_VM_QEMU:-qemu-system-x86_64}
command -v "$qemu" >/dev/null || die "no $qemu; see README.md for the packages"

image=$("$here/build-image.sh") || exit 125

tmp=$(mktemp -d "${TMPDIR:-/tmp}/bluez-vm.XXXXXX") || die "no temporary folder"
qemu_pid="" tail_pid=""
cleanup() {
	[ -z "$qemu_pid" ] || kill "$qemu_pid" 2>/dev/null
	[ -z "$tail_pid" ] || kill "$tail_pid" 2>/dev/null
	if [ -n "$logs" ] && mkdir -p "$logs"; then
		cp -r "$tmp/ctl/logs/." "$logs/"
		cat "$tmp/console" "$tmp/qemu-errors" >"$logs/console.txt"
	fi 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir "$tmp/ctl"

quote() { # arguments, quoted for sh
	local a s="'\\''"
	for a in "$@"; do printf "'%s' " "${a//\'/$s}"; done
}

# --- QEMU's devices and the VM's configuration
devices=() config=()
port() { # name, chardev options...
	devices+=(-chardev "$2,id=$1" -device "virtserialport,chardev=$1,name=$1")
}
share() { # tag, folder, read-only
	[[ $2 != *,* ]] || die "QEMU takes no comma in the name of a shared folder: $2"
	devices+=(-fsdev "local,id=$1,path=$2,security_model=none,multidevs=remap${3:+,readonly=on}"
		-device "virtio-9p-pci,fsdev=$1,mount_tag=$1")
}
share ctl "$tmp/ctl" ""
[ ${#shares[@]} -gt 0 ] || shares=("$PWD")
n=0
for s in "${shares[@]}"; do
	ro=""; [[ $s == *:ro ]] && { ro=1; s=${s%:ro}; }
	s=$(cd "$s" 2>/dev/null && pwd -P) || die "no folder $s to share"
	case $s in
	/) die "share no /; see --host-root" ;;
	/bin|/dev|/etc|/lib|/lib64|/proc|/run|/sbin|/sys|/tmp|/usr|/var) die "sharing $s would hide the VM's own" ;;
	esac
	share "share$n" "$s" "$ro"
	mode=cache=mmap; [ -z "$ro" ] || mode=ro,cache=loose
	config+=("SHARE_$n=$(quote "$s")" "SHARE_MODE_$n=$mode")
	n=$((n + 1))
done
config+=("SHARES=$n")
[ -z "$hostroot" ] || share hostroot / 1

n=0 controller_ports=""
for c in "${controllers[@]}"; do
	case $c in
	tcp:*) rest=${c#tcp:}; port "controller$n" "socket,host=${rest%:*},port=${rest##*:},server=off,nodelay=on" ;;
	*) port "controller$n" "socket,path=${c#unix:},server=off" ;;
	esac
	controller_ports="$controller_ports controller$n"
	n=$((n + 1))
done
n=0 user_ports=""
for s in "${serves[@]}"; do
	port "serve$n" "socket,path=${s#*=},server=on,wait=off"
	user="$user ${s%%=*}" user_ports="$user_ports ${s%%=*}:serve$n"
	n=$((n + 1))
done
merge=""; [ /dev/fd/1 -ef /dev/fd/2 ] && merge=1
config+=("ADAPTERS=$adapters" "BTVIRT_ARGS=$btvirt_args" "USER_ADAPTERS=$(quote "$user")" "MODULES=$(quote "$modules")"
	"HOST_PATH=$(quote "$PATH")" "HOST_HOME=$(quote "$HOME")" "DUAL=$dual" "BLUETOOTHD=$bluetoothd" "BLUETOOTHD_ARGS=$(quote "$bluetoothd_args")" "HOSTROOT=$hostroot" "SNOOP=$snoop"
	"CONTROLLER_PORTS=$(quote "$controller_ports")" "USER_PORTS=$(quote "$user_ports")"
	"BRIDGE_ARGS=${BLUEZ_VM_TRACE:+-v}" "CWD=$(quote "$chdir")" "STDIN_FILE=$stdin" "MERGE=$merge" "SHELL_MODE=$shell")
printf '%s\n' "${config[@]}" >"$tmp/ctl/config"
{
	[ "$hostroot" != command ] || printf 'export PATH=%s HOME=%s; cd %s || exit 126\n' "$(quote "$PATH")" "$(quote "$HOME")" "$(quote "$chdir")"
	for e in "${envs[@]}"; do
		case $e in *=*) ;; *) e="$e=${!e-}" ;; esac
		printf 'export %s=%s\n' "${e%%=*}" "$(quote "${e#*=}")"
	done
	printf 'exec %s\n' "$(quote "$@")"
} >"$tmp/ctl/command"
[ -z "$stdin" ] || cat >"$tmp/ctl/stdin"

# --- KVM only where it runs an unchanged kernel: /dev/kvm alone does not say so
# (PVM, for one, offers it and takes only guest kernels of its own)
accel=(-accel tcg,thread=multi)
if [ -n "${BLUEZ_VM_ACCEL:-}" ]; then
	accel=(-accel "$BLUEZ_VM_ACCEL")
elif [ -w /dev/kvm ] && { [ -d /sys/module/kvm_intel ] || [ -d /sys/module/kvm_amd ]; }; then
	accel=(-accel kvm "${accel[@]}")
fi

# What QEMU's emulation has translated of a program it uses again only at the
# same address (norandmaps); it walks a fifth level of page tables, and emulates
# AVX, which the C library would use wherever it is offered, at great cost.
# tsc=reliable: all processors of QEMU read one counter. A kernel that does not trust it patches its own code while both
# run, and QEMU was seen to run a half patched place (Oops: int3 in sched_clock_cpu).
append="${BLUEZ_VM_APPEND:-} tsc=reliable norandmaps console=ttyS0 quiet panic=-1 cryptomgr.notests random.trust_cpu=on mitigations=off audit=0 apparmor=0"
command=("$qemu" -M pc "${accel[@]}" -cpu "${BLUEZ_VM_CPU:-max,la57=off,avx=off,avx2=off}" -smp "$cpus" -m "$memory"
	-nodefaults -no-user-config -no-reboot -display none
	-kernel "$image/vmlinux" -initrd "$image/initrd.cpio" -append "$append"
	-drive "if=none,id=root,file=$image/root.ext4,format=raw,snapshot=on,cache=unsafe" -device virtio-blk-pci,drive=root
	-device virtio-serial-pci "${devices[@]}" ${BLUEZ_VM_QEMU_ARGS:-})
if [ -n "$shell" ]; then
	exec 6<&0
	"${command[@]}" -chardev stdio,id=console,signal=off -serial chardev:console <&6 &
	qemu_pid=$!
else
	touch "$tmp/console"
	[ -z "$verbose" ] || { tail -f "$tmp/console" >&2 & tail_pid=$!; }
	# The VM's output goes straight to this script's own descriptors.
	exec 6>&1 7>&2
	timeout --foreground "$limit" "${command[@]}" -serial "file:$tmp/console" \
		-add-fd fd=6,set=1 -add-fd fd=7,set=2 \
		-chardev file,id=out,path=/dev/fdset/1,append=on -device virtserialport,chardev=out,name=out \
		-chardev file,id=err,path=/dev/fdset/2,append=on -device virtserialport,chardev=err,name=err \
		</dev/null 2>"$tmp/qemu-errors" >&2 &
	qemu_pid=$!
fi
wait "$qemu_pid"
status=$?
qemu_pid=""
if [ -s "$tmp/ctl/rc" ]; then
	read -r rc <"$tmp/ctl/rc"
	exit "$rc"
fi
[ -n "$shell" ] && exit 0
if [ "$status" = 124 ]; then
	echo "run-in-bluez-vm: stopped after $limit s" >&2
	exit 124
fi
{
	echo "run-in-bluez-vm: the VM failed (QEMU's exit status $status): $(cat "$tmp/ctl/failed" 2>/dev/null)"
	cat "$tmp/qemu-errors"
	tail -n 40 "$tmp/console"
} >&2
exit 125
