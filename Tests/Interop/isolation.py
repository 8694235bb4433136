"""Where the foreign stacks run: RootCanal listens on all addresses and has no option to do otherwise.

So the tests move into a network namespace that has a loopback interface and nothing else. Where the system does not
allow that (many containers), a small library put before RootCanal's own turns "all addresses" into the loopback."""
import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # sched.h
SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1  # net/if.h, linux/sockios.h

libc = ctypes.CDLL(None, use_errno=True)

LOOPBACK_ONLY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>
int bind(int fd, const struct sockaddr *address, socklen_t length) {
    static int (*system_bind)(int, const struct sockaddr *, socklen_t);
    if (!system_bind) *(void **)&system_bind = dlsym(RTLD_NEXT, "bind");
    struct sockaddr_in loopback;
    if (address && address->sa_family == AF_INET && length >= sizeof loopback) {
        loopback = *(const struct sockaddr_in *)address;
        loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address = (const struct sockaddr *)&loopback;
    }
    return system_bind(fd, address, length);
}
"""


def enter_private_network():
    """Moves this process into a namespace of its own. False if the system does not allow it."""
    # A child tries first: there is no way back out of a namespace that the system makes but does not let us set up.
    child = os.fork()
    if child == 0:
        try:
            move()
            os._exit(0)
        except OSError:
            os._exit(1)
    if os.waitpid(child, 0)[1] != 0:
        return False
    move()
    return True


def move():
    if libc.unshare(CLONE_NEWNET) != 0:
        user, group = os.getuid(), os.getgid()
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "no namespaces")
        for file, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            with open(f"/proc/self/{file}", "w") as out:
                out.write(text)
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def loopback_library(folder):
    """Builds the library and tells where it is; None if there is no C compiler."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return None
    source, library = os.path.join(folder, "loopback.c"), os.path.join(folder, "loopback.so")
    with open(source, "w") as out:
        out.write(LOOPBACK_ONLY)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library
