// Package lang has the texts of reports and of the console in the languages that they are
// written in.
//
// A text is written where it is used, in English, and that is its key:
//
//	say.Text("No faults.")
//	say.Sprintf("%s under %s", lock, scenario)
//	{{t "No faults."}}, {{tf "%d runs side by side" .N}} in a template
//
// ko.yaml has the same in Korean. A test takes all texts from the code and the templates,
// and fails if one is missing there or left over, or takes other values. Texts are
// sentences or clauses, never pieces that only English puts together so. In Korean no
// particle follows a name, as particles depend on its last sound.
//
// Packages that know no language make a [sentence.Text]: a form of the same catalogue, and
// its values. See [Lang.Tell]. Errors are in English only.
package lang
