/* Preloaded into btvirt: epoll_wait hands out one event at a time.
 *
 * btvirt's main loop takes several at once. When what one of them brings (LE Set Extended Advertising Enable) ends the
 * timer that another one is of, the loop calls what it has just freed, and btvirt 5.82 ends with a general protection
 * fault. Events that are left are handed out by the next call. */
#define _GNU_SOURCE
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

int epoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout)
{
	return syscall(SYS_epoll_wait, epfd, events, maxevents > 1 ? 1 : maxevents, timeout);
}
