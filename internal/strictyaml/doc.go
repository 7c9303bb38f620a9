// Package strictyaml reads the YAML files that users write: topologies and scenarios.
//
// It reads the plain part of YAML and refuses the rest where it stands: tags, anchors,
// aliases, merge keys, keys that are not words, fields that are there twice, more than
// one document. What is read is bounded in size and depth, so that no file can make
// the program run out of memory or stack.
//
// [Parse] makes a [Document] of [Node]s, which are read and checked in one pass. The
// document keeps the first thing that is wrong, with file, line, the way to the field, and
// what would be right:
//
//	doc, err := strictyaml.Parse(path, text, ErrInvalid)
//	f := doc.Root.Fields("name", "hosts")
//	name := f.Get("name").Name(63)
//	for _, h := range f.Get("hosts").Some("at least one host") {
//		...
//	}
//	return doc.Err()
package strictyaml
