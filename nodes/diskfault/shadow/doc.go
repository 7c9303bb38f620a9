// Package shadow tracks unsynced data of a directory, and removes them as a power cut would. It must
// be called before each write and each sync:
//
//	Write ─▶ saves the durable bytes in that range, and the durable size
//	Sync of a file ─▶ drops the saved bytes: the present ones are durable
//	Sync of a directory ─▶ its present names are durable; links in another directory keep their files alive
//	Lose ─▶ restores the bytes, then the names
//
// All unsynced data are lost. A rename or a removal is durable once its directory was synced; a rename between two
// directories needs both. Syncing a new file also makes all names in its directory durable, as the journaling file
// systems of Linux do (ext4, XFS, Btrfs). POSIX does not promise that, and Lose has a strict mode without it. A write
// concurrent with a sync counts as synced if it may have been: Lose never loses synced data.
package shadow
