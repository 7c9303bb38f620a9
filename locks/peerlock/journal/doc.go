// Package journal keeps values by name in a file, so that they survive a crash of the process.
//
//	Append ─► batch ─► end of the file, fsync ─► Stored
//
// All values appended while a batch is written form the next batch (group commit). Each record follows
// a head: its length, a checksum of the length, and a checksum of the record. The first record names
// the owner of the file. [Lock] keeps other processes away.
//
// A crash may leave the last record short. No caller was told that it was stored, so [Read] drops it. Any
// other damage is an error that names the file, because its votes may be lost. The file grows until a
// process starts and rewrites it with the latest values.
package journal
