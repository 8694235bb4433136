# Sourced by ./ble, ./test and the benchmarks: finds the toolchain, installs what is missing. Every failure is one
# sentence that says what to do, and exit status 3.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }
stop() { say "$*"; exit 3; }

find_toolchain() {
    local folder
    if ! command -v swift >/dev/null 2>&1; then
        for folder in /opt/swift/usr/bin /usr/share/swift/usr/bin "$HOME/.local/share/swiftly/bin" "$HOME/swift/usr/bin"; do
            if [ -x "$folder/swift" ]; then PATH="$folder:$PATH"; break; fi
        done
    fi
    command -v swift >/dev/null 2>&1 ||
        stop "No Swift toolchain found: install Swift 6.2 or later from swift.org/install and put its usr/bin on PATH."
    # A crashing program would otherwise wait in the backtracer.
    export SWIFT_BACKTRACE=enable=no
}

# need_packages PACKAGE... : installs those that dpkg does not know as installed.
need_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    local install="apt-get install -y --no-install-recommends ${missing[*]}" as_root=""
    command -v apt-get >/dev/null 2>&1 ||
        stop "This system has no apt; install the equivalents of ${missing[*]} by hand and try again."
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 || stop "Packages are missing and there is no sudo; as root, run: $install"
        as_root="sudo"
    fi
    say "Installing ${missing[*]} ..."
    local log
    log=$(mktemp)
    if ! { $as_root apt-get update && DEBIAN_FRONTEND=noninteractive $as_root $install; } >"$log" 2>&1; then
        tail -3 "$log" >&2
        rm -f "$log"
        stop "apt could not install ${missing[*]}: check the network and apt's sources, then try again, or run: $install"
    fi
    rm -f "$log"
}

# Whether any file that a build depends on is newer than the stamp.
is_stale() {
    local stamp=$1
    [ -e "$stamp" ] || return 0
    [ -n "$(cd "$root" && find Package.swift Sources Examples -newer "$stamp" -print -quit 2>/dev/null)" ]
}

# build_product CONFIGURATION PRODUCT... : builds what changed, and says so only when it takes time.
build_product() {
    local configuration=$1 stamp="$root/.build/stamp-$1-$(echo "${*:2}" | tr ' ' -)"
    shift
    is_stale "$stamp" || return 0
    need_packages libssl-dev pkg-config
    local product marker log
    marker=$(mktemp)
    log=$(mktemp)
    for product in "$@"; do
        say "Building $product ($configuration; the first time takes a few minutes) ..."
        if ! (cd "$root" && swift build -c "$configuration" --product "$product") >"$log" 2>&1; then
            grep -E 'error:|warning:' "$log" >&2 || tail -20 "$log" >&2
            rm -f "$log" "$marker"
            stop "Building $product failed; the lines above say where."
        fi
    done
    mkdir -p "$root/.build"
    mv "$marker" "$stamp"
    rm -f "$log"
}
