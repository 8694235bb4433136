#!/bin/bash
# selftest.sh: checks run-in-bluez-vm.sh itself and the links between its adapters.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
run=$here/../run-in-bluez-vm.sh
work=$(mktemp -d /var/tmp/bluez-vm-selftest.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/a folder" && cd "$work/a folder" || exit 1
passed=0 failed=0
check() { # name, wanted, got
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1)); echo "ok   $1"
	else
		failed=$((failed + 1)); printf 'FAIL %s\n  wanted: %s\n  got:    %s\n' "$1" "$2" "$3"
	fi
}
t() { SECONDS=0; }

check "output, arguments, status" "a b|it's|\$x 7" "$("$run" -- sh -c 'printf "%s|%s|%s" "$@"; exit 7' - 'a b' "it's" '$x' 2>/dev/null; echo " $?")"
check "errors apart" "err" "$("$run" -- sh -c 'echo out; echo err >&2' 2>&1 >/dev/null)"
check "order kept where both go to one place" "1 2 3 4" "$("$run" -- sh -c 'for i in 1 3; do echo $i; echo $((i+1)) >/dev/stderr; done' 2>&1 | xargs)"
check "standard input" "3" "$(printf '1\n2\n3\n' | "$run" --stdin -- wc -l | xargs)"
check "no such command" "127" "$("$run" -- no-such-command 2>/dev/null; echo $?)"
check "killed by a signal" "137" "$("$run" -- sh -c 'kill -9 $$' 2>/dev/null; echo $?)"
t; check "time limit" "124" "$("$run" --timeout 8 -- sleep 100 2>/dev/null; echo $?)"
check "time limit kept" "yes" "$([ $SECONDS -le 12 ] && echo yes || echo "$SECONDS s")"
check "a kernel panic" "125" "$("$run" -- sh -c 'echo c >/proc/sysrq-trigger' 2>/dev/null; echo $?)"
check "shared folder, same path, written from the VM" "from the VM" "$("$run" -- sh -c 'echo from the VM >"$PWD/f"' && cat f)"
mkdir -p "$work/ro"; echo x >"$work/ro/f"
check "read-only share" "x 1" "$("$run" --share "$work/ro:ro" --chdir "$work/ro" -- sh -c 'cat f; echo y 2>/dev/null >f || echo 1' 2>/dev/null | xargs)"
check "environment" "b c" "$(A="b c" "$run" --env A -- sh -c 'echo "$A"')"
check "large output" "$(seq 1 200000 | sha256sum)" "$("$run" -- seq 1 200000 | sha256sum)"
head -c 3000000 /dev/urandom >random
check "binary output" "$(sha256sum <random)" "$("$run" -- cat random | sha256sum)"
check "the host's root" "$(sha256sum </bin/bash) $(id -u)" "$("$run" --host-root -- bash -c 'echo "$(sha256sum </bin/bash) $(id -u)"; echo no >/etc/bluez-vm-selftest' 2>/dev/null)"
check "... is not written to" "no" "$([ -e /etc/bluez-vm-selftest ] && echo yes || echo no)"
check "the host's programs beside the VM's" "$(sha256sum </bin/bash) bluez-vm" "$("$run" --beside -- sh -c 'echo "$(on-host bash -c "sha256sum </bin/bash") $(cat /etc/hostname)"')"
check "two adapters, powered" "2" "$("$run" -- sh -c 'for a in $VM_ADAPTERS; do bluetoothctl show $(cat /sys/class/bluetooth/$a/address 2>/dev/null); done | grep -c "Powered: yes"')"
check "four adapters, LE only" "4 4" "$("$run" --adapters 4 --le -- sh -c 'bluetoothctl list | wc -l; btmgmt info | grep "current settings" | grep -vc br/edr' | xargs)"
check "kernel only" "UP" "$("$run" --no-bluetoothd --adapters 1 -- sh -c 'hciconfig hci0 | grep -ow UP')"
gcc -static -o user-channel "$here/user-channel.c"
check "HCI_CHANNEL_USER on an adapter kept for it" "00:AA:01:01:00:01" "$("$run" --user 1 -- ./user-channel 1)"
check "... again, and not on one in use" "00:AA:01:01:00:01 00:AA:01:01:00:01 1" "$("$run" --user 1 -- sh -c './user-channel 1; ./user-channel 1; ./user-channel 0 2>/dev/null; echo $?' | xargs)"
"$run" --snoop --logs logs --user 1 -- ./user-channel 1 >/dev/null
check "logs" "yes" "$([ -s logs/dmesg.txt ] && [ -s logs/bluetoothd.log ] && [ -s logs/hci.btsnoop ] && echo yes)"
("$run" -- sh -c 'sleep 2; echo one' >one) & ("$run" -- sh -c 'sleep 2; echo two' >two) & wait
check "two VMs at once" "one two" "$(cat one two | xargs)"
# --serve: hci1 for a host outside, here socat's stead: a Reset and its answer
if command -v python3 >/dev/null; then
	"$run" --serve 1="$work/s" -- sleep 30 & vm=$!
	check "--serve: Reset from outside" "040e0401030c00" "$(python3 - "$work/s" <<'P'
import socket, sys, time
for _ in range(300):
    try:
        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); break
    except OSError:
        time.sleep(0.1)
s.settimeout(20); s.send(bytes([1, 3, 12, 0])); print(s.recv(100).hex())
P
)"
	kill $vm; wait $vm 2>/dev/null
	check "... ended by a signal, leaves nothing behind" "0" "$(ls -d "${TMPDIR:-/tmp}"/bluez-vm.* 2>/dev/null | wc -l)"
fi
cat >links.sh <<'X'
gatt-peripheral --secure >/tmp/p.log 2>&1 &
until grep -q READY /tmp/p.log; do sleep 0.1; done
for i in 1 2 3 4; do gatt-central >/tmp/c.log 2>&1 || { cat /tmp/c.log; exit 1; }; done
pairing-agent >/dev/null & sleep 1
gatt-central --pair >/tmp/c.log 2>&1 || { cat /tmp/c.log; exit 1; }
echo linked
X
for option in "" --le; do
	check "BlueZ to BlueZ ${option:-dual mode}: 4 GATT sessions, one with pairing" "linked" "$("$run" $option -- sh links.sh)"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
