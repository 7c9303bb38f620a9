// Package journal keeps values by name in a file, so that they outlive a crash of the process.
//
//	Append ─► batch ─► end of the file, fsync ─► Stored
//
// All that comes while a batch is written goes into the next one together (group commit). In
// the file each record has its length, a checksum of that, and a checksum of its own before
// it. The first says whose file it is. [Lock] keeps other processes away.
//
// A crash may leave the last record short. No caller was told that it was stored, so [Read]
// drops it. Anything else that is wrong with the file is an error that names it: to go on
// without what it held would be to break promises. A process makes the file anew when it
// starts, with what still counts; until then it grows.
package journal
