/* Lets the thread sanitizer see the locks of Swift's Synchronization.Mutex.
 *
 * When two threads want a Mutex at once, one of them takes it in the slow path, which lies in a library without the
 * sanitizer's instrumentation: it spins there, or the kernel hands it over (futex(2), FUTEX_LOCK_PI). The sanitizer
 * then takes for a race what a contended Mutex guards. A program of nothing but threads that count in a Mutex shows it.
 *
 * Loaded before that library, this tells the sanitizer of the two ways. Their names are part of Swift's stable
 * interface; the lock is what Swift calls "self". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

void __tsan_acquire(void *) __attribute__((weak));
void __tsan_release(void *) __attribute__((weak));

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef void (*Lock)(uint32_t, __attribute__((swift_context)) void *) __attribute__((swiftcall));
typedef void (*Unlock)(__attribute__((swift_context)) void *) __attribute__((swiftcall));

__attribute__((swiftcall)) void lock_slow(uint32_t thread, __attribute__((swift_context)) void *lock) __asm__(LOCK);
__attribute__((swiftcall)) void unlock_slow(__attribute__((swift_context)) void *lock) __asm__(UNLOCK);

__attribute__((swiftcall)) void lock_slow(uint32_t thread, __attribute__((swift_context)) void *lock) {
    ((Lock)dlsym(RTLD_NEXT, LOCK))(thread, lock);
    if (__tsan_acquire) __tsan_acquire(lock);
}

__attribute__((swiftcall)) void unlock_slow(__attribute__((swift_context)) void *lock) {
    if (__tsan_release) __tsan_release(lock);
    ((Unlock)dlsym(RTLD_NEXT, UNLOCK))(lock);
}
