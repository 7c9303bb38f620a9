// Package shadow knows what a power cut may take from a directory: all that was not synced. It is
// told of each write before that happens, and of each sync, and copies nothing until then:
//
//	Write ─▶ what the file had there when it was last synced, and how long it was
//	Sync of a file ─▶ forgets that: the file is as it is
//	Sync of a directory ─▶ its names are as they are, and a link beside keeps each file alive
//	Lose ─▶ puts back the bytes, then the names
//
// What was not synced is gone, all of it. A rename or a removal is durable once its directory was synced, between two
// directories in each by itself. A file that is synced has its new name, too, which takes the others in its directory
// with it: so do the journaling file systems of Linux (ext4, XFS, Btrfs). POSIX does not promise it, and Lose can be as
// strict. A write that runs at the same moment as a sync may stay: where two orders are possible, the
// one is taken that keeps more, as it must never lose what was synced.
package shadow
