// Package journal keeps records in a file, so that they outlive a crash of the process
// or a power cut.
//
//	Append ─► batch ─► frame at the end of the file, fsync ─► Stored
//	                   └─ or, when the file has grown: all that still counts into a
//	                      new file, fsync, rename
//
// All records that come while a batch is written go into the next one together (group
// commit). A frame is the length of its body, then checksums of the length and of the
// body, four bytes each, then the body: records, each with its length before it. The first
// frame says whose file it is. [Lock] keeps other processes away.
//
// A power cut may leave the last frame torn: its end, its begin or what is between may be
// missing, whatever order the disk wrote them in. Nobody was told that it was stored, and
// nothing was written after it, so [Open] drops it. Anything else that is wrong with
// the file is an error that names it: to go on without what it held would be to break promises.
package journal
