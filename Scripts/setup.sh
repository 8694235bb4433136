# Sourced by ./ble, ./test and the benchmarks: finds the toolchain, installs what is missing, builds what changed.
# Whatever it cannot do ends in one sentence that says what to do, and exit status 3.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }
stop() { say "$*"; exit 3; }

# --- Long commands: shown, bounded, ended

child=""
scratch=""

end_child() {
    [ -n "$child" ] || return 0
    # The command is a process group of its own, so that its helpers end with it.
    kill -TERM -- "-$child" 2>/dev/null || true
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        kill -0 -- "-$child" 2>/dev/null || break
        sleep 0.2
    done
    kill -KILL -- "-$child" 2>/dev/null || true
    child=""
}

leave() {
    end_child
    [ -z "$scratch" ] || rm -rf "$scratch"
    scratch=""
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

scratch_folder() {
    [ -n "$scratch" ] || scratch=$(mktemp -d)
}

# attend SECONDS LOG COMMAND... : runs a command with its output in LOG, shows how far it is, and ends it after
# SECONDS. Its exit status, or 124 if the time was up.
attend() {
    local limit=$1 log=$2 begin=$SECONDS shown=$SECONDS status=0
    shift 2
    set -m
    "$@" >"$log" 2>&1 </dev/null &
    child=$!
    set +m
    while kill -0 "$child" 2>/dev/null; do
        sleep 0.1
        if [ $((SECONDS - begin)) -gt "$limit" ]; then
            end_child
            printf '\nIt did not end within %d s and was stopped.\n' "$limit" >>"$log"
            status=124
            break
        fi
        if [ -t 2 ]; then
            [ "$SECONDS" = "$shown" ] || printf '\r\033[K   %4d s  %s' $((SECONDS - begin)) "$(last_line "$log")" >&2
            shown=$SECONDS
        elif [ $((SECONDS - shown)) -ge 20 ]; then
            say "   $((SECONDS - begin)) s  $(last_line "$log")"
            shown=$SECONDS
        fi
    done
    [ ! -t 2 ] || printf '\r\033[K' >&2
    [ $status -ne 0 ] || wait "$child" || status=$?
    child=""
    return $status
}

last_line() { tail -c 2000 "$1" | tr '\r' '\n' | grep -v '^[[:space:]]*$' | tail -n 1 | cut -c 1-90 || true; }

# --- The toolchain

find_toolchain() {
    local folder
    if ! command -v swift >/dev/null 2>&1; then
        for folder in "$HOME/.local/share/swiftly/bin" /opt/swift/usr/bin /usr/share/swift/usr/bin \
            /usr/local/swift/usr/bin /usr/libexec/swift/bin "$HOME/swift/usr/bin"; do
            if [ -x "$folder/swift" ]; then
                PATH="$folder:$PATH"
                break
            fi
        done
    fi
    command -v swift >/dev/null 2>&1 ||
        stop "There is no Swift toolchain: install Swift 6.3 or later (swift.org/install) and put its usr/bin on PATH."
    # A crashing program would otherwise wait for its backtrace for minutes.
    export SWIFT_BACKTRACE=enable=no
}

check_toolchain() {
    local version
    version=$(swift --version 2>&1 && swift build --version 2>&1) ||
        stop "Swift does not start ($(tail -n 1 <<<"$version")): install what swift.org/install lists for this system."
    [[ $version =~ Swift\ version\ ([0-9]+)\.([0-9]+) ]] || return 0
    [ $((BASH_REMATCH[1] * 100 + BASH_REMATCH[2])) -ge 602 ] ||
        stop "Swift ${BASH_REMATCH[1]}.${BASH_REMATCH[2]} is too old: install Swift 6.3 or later (swift.org/install)."
}

# --- System packages

has_command() { command -v "$1" >/dev/null 2>&1; }
has_library() { /sbin/ldconfig -p | grep -qF "$1"; }
has_header() { [ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ]; }
has_cxx_library() { compgen -G '/usr/lib/gcc/*/*/libstdc++.*' >/dev/null; }
has_python() { python=$(find_python) && "$python" -c 'import ensurepip, venv' 2>/dev/null; }

# Prints the name of a Python that the foreign stacks accept.
find_python() {
    local name
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return 0
        fi
    done
    return 1
}

missing=()
# need PACKAGE TEST... : notes a package as missing unless the test says that what it brings is there.
need() {
    local package=$1
    shift
    "$@" || missing+=("$package")
}

need_for_build() {
    need g++ has_cxx_library
    need pkg-config has_command pkg-config
    need libssl-dev has_header openssl/evp.h
    need libsqlite3-dev has_library libsqlite3.so.0  # The toolchain's own builder needs it.
}

prepare_build() {
    need_for_build
    install_missing
    check_toolchain
}

# Installs what is noted as missing.
install_missing() {
    [ ${#missing[@]} -gt 0 ] || return 0
    local packages="${missing[*]}" log
    local install="apt-get install -y --no-install-recommends $packages" as_root=()
    missing=()
    has_command apt-get || stop "This system has no apt: install what corresponds to $packages by hand, then try again."
    if [ "$(id -u)" -ne 0 ]; then
        has_command sudo || stop "Packages are missing and there is no sudo: as root, run: $install"
        sudo -n true 2>/dev/null || [ -t 0 ] ||
            stop "Packages are missing and sudo wants a password: run: sudo $install"
        sudo -v || stop "Packages are missing and sudo does not let you: as root, run: $install"
        as_root=(sudo -n)
    fi
    say "Installing $packages ..."
    scratch_folder
    log="$scratch/apt"
    local options=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=1 -o Acquire::http::Timeout=20)
    attend 120 "$log.update" "${as_root[@]}" apt-get "${options[@]}" update || true
    # shellcheck disable=SC2086 # The packages are words.
    attend 900 "$log" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get "${options[@]}" install -y --no-install-recommends $packages && return 0
    grep -E '^(E|Err):?' "$log" | tail -n 3 >&2 || tail -n 3 "$log" >&2
    if grep -qiE 'failed to fetch|could not resolve|cannot initiate|connection failed|unable to connect' "$log"*; then
        stop "The package servers cannot be reached for $packages: check the network and apt's sources, then try again."
    fi
    stop "apt could not install $packages: the lines above say why; put that right, or run as root: $install"
}

# --- Building

# What a build depends on: each file's name, size and time of change, and the toolchain's.
fingerprint() {
    stat -L -c '%n %s %Y' "$(command -v swift)"
    cd "$root" && { find Package.swift Sources Examples -type f -printf '%p %s %T@\n' 2>/dev/null || true; } | LC_ALL=C sort
}

# build_product CONFIGURATION PRODUCT : builds it if a file changed since it was built. SwiftPM, which takes seconds
# to find out, is not asked otherwise.
build_product() { build_in "$root/.build" "$1" "$2"; }

# build_static PRODUCT : an optimised build with the Swift libraries linked into it, at a fixed address, in a folder of
# its own. It starts faster and needs a third less memory; $static_products is where it lies.
static_products="$root/.build/static/release"
build_static() { build_in "$root/.build/static" release "$1" --static-swift-stdlib -Xlinker -no-pie; }

# build_in FOLDER CONFIGURATION PRODUCT OPTION...
build_in() {
    local folder=$1 configuration=$2 product=$3 now stamp
    shift 3
    stamp="$folder/$product-$configuration.fingerprint"
    now=$(fingerprint)
    if [ -x "$folder/$configuration/$product" ] && [ -e "$stamp" ] && [ "$now" = "$(<"$stamp")" ]; then
        return 0
    fi
    prepare_build
    scratch_folder
    say "Building $product ($configuration; from scratch it takes a few minutes) ..."
    attend 3600 "$scratch/build" swift build --package-path "$root" --scratch-path "$folder" -c "$configuration" \
        --product "$product" "$@" ||
        { show_build_errors "$scratch/build"; stop "$product could not be built: the lines above say where."; }
    printf '%s\n' "$now" >"$stamp"
}

show_build_errors() { grep -E 'error:' "$1" | sort -u | head -n 20 >&2 || tail -n 20 "$1" >&2; }

# --- The foreign stacks, for the tests and the benchmarks

# Leaves the interpreter that has them in $peers_python.
install_peers() {
    local folder="$root/.cache/peers" requirements="$root/Tests/Interop/requirements.txt"
    peers_python="$folder/bin/python"
    if cmp -s "$requirements" "$folder/requirements.txt" && "$peers_python" -c 'import bumble, rootcanal' 2>/dev/null
    then
        return 0
    fi
    need python3 find_python >/dev/null
    need python3-venv has_python
    install_missing
    has_python || stop "The foreign stacks need Python 3.11 or later with venv: install python3.11 and python3.11-venv."
    say "Installing the foreign stacks (Bumble, RootCanal) into .cache/peers ..."
    scratch_folder
    rm -rf "$folder"
    mkdir -p "$root/.cache"
    attend 120 "$scratch/venv" "$python" -m venv "$folder" ||
        { tail -n 3 "$scratch/venv" >&2; stop "Python could not make an environment in .cache/peers: see above."; }
    attend 600 "$scratch/pip" "$folder/bin/pip" install -q --disable-pip-version-check --retries 1 -r "$requirements" ||
        { tail -n 3 "$scratch/pip" >&2; stop "pip could not install the foreign stacks: check the network, try again."; }
    cp "$requirements" "$folder/requirements.txt"
}

# --- What reads captures, for the tests

prepare_tshark() {
    need tshark has_command tshark
    install_missing
}

# --- The virtual machines with BlueZ, for the tests

# Installs what they need and builds their images, into .cache/bluez-vm.
prepare_machines() {
    local suite status
    need qemu-system-x86 has_command qemu-system-x86_64
    need cpio has_command cpio
    need xz-utils has_command xz
    need e2fsprogs test -x /sbin/mke2fs
    need gcc has_command gcc
    need libc6-dev has_header stdio.h
    need debian-archive-keyring test -e /usr/share/keyrings/debian-archive-keyring.gpg
    need python3 has_command python3
    need tshark has_command tshark
    install_missing
    scratch_folder
    for suite in bookworm trixie; do
        status=0
        BLUEZ_VM_SUITE=$suite attend 600 "$scratch/machine" "$root/Scripts/bluez-vm/build-image.sh" || status=$?
        [ $status -ne 0 ] || continue
        tail -n 3 "$scratch/machine" >&2
        [ $status -ne 3 ] || stop "The virtual machine with BlueZ needs Debian's packages: check the network, try again."
        stop "The virtual machine with BlueZ ($suite) could not be built: the lines above say why."
    done
}
