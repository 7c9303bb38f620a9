// Package strictyaml reads the YAML files that users write: topologies and scenarios.
//
// It reads the plain part of YAML and refuses the rest where it stands: tags, anchors,
// aliases, merge keys, keys that are not words, fields that are there twice, more than
// one document. What is read is bounded in size and depth, so that no file can make
// the program run out of memory or stack.
//
// [Parse] makes a [Document]. Its methods walk the tree and keep the first thing that
// is wrong, with file, line and what would be right:
//
//	doc, err := strictyaml.Parse(path, text, ErrInvalid)
//	for _, f := range doc.Fields(doc.Root, "topology", "name", "hosts") {
//		switch f.Key {
//		case "name":
//			name = doc.Text(f.Value, "name")
//		...
//	}
//	return doc.Err()
package strictyaml
