// Package diskfault makes the disk of a program slow, or full, without root, without a file
// system of its own and without a change to the program: ours or somebody else's.
//
//	agent ── starts ──▶ locklab node disk ── seccomp filter, then exec ──▶ the server
//	  ▲                        │ the filter's listener, over a socket          │ fsync, write
//	  └─ Disk.Serve ◀──────────┘                                               ▼
//	        answers each call: go on, go on after the delay, ENOSPC ◀───── the kernel
//
// The kernel stops each of these calls of the server, and of all processes that it starts, and
// asks the agent what to do with it (SECCOMP_RET_USER_NOTIF, seccomp_unotify(2)). So what proves
// the fault is what the kernel told: how many calls were held, for how long, or refused. The
// filter can only be put on a program that starts, so only nodes that a fault of the run hits
// have one; it costs them some microseconds for each such call.
//
// A slow disk holds fsync, fdatasync and sync_file_range. A full one refuses what writes to a
// file in the node's directory, be it new or not, as where every write needs new blocks. What a
// program writes to memory that is mapped from a file, or through io_uring, copy_file_range,
// sendfile or splice, is not seen, nor is that it makes, renames or truncates a file: none of the
// lab's servers stores what it promises that way.
package diskfault
