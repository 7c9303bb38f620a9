package reports

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/strictjson"
	"locklab/reports/lang"
)

// cameTo is what a comparison came to, in the words of its page: for lists of reports, and for
// consoles. The file of it is small.
type cameTo struct {
	Schema   string              `json:"schema"`
	Runs     []string            `json:"runs"`     // the first is what the others are compared with
	Outcome  string              `json:"outcome"`  // worse, better, other, open, noise, not judged
	Said     map[string][]string `json:"said"`     // by language
	Warnings int64               `json:"warnings"` // of the runs
}

const (
	comparisonSchema = "locklab/comparison/v1"
	comparisonMost   = 1 << 20 // bytes
)

func (c *cameTo) note(say *lang.Lang, page *comparison) {
	c.Schema, c.Runs, c.Outcome = comparisonSchema, page.Names, outcomes(lang.English())[page.Outcome].Word
	c.Warnings = int64(len(page.Warnings))
	if c.Said == nil {
		c.Said = map[string][]string{}
	}
	said := slices.Clone(page.Apart)
	if page.Mismatch != "" {
		said = append(said, page.Mismatch)
	}
	if said = append(said, page.Said...); page.Undecided != "" {
		said = append(said, page.Undecided)
	}
	c.Said[say.Tag] = said
}

func (c *cameTo) encode() ([]byte, error) {
	data, err := json.Marshal(c, jsontext.WithIndent("  "), json.Deterministic(true))
	return append(data, '\n'), err
}

// CameTo is what a comparison of runs came to, which Generate wrote into the directory; false if
// it is none, or of an older program.
func CameTo(say *lang.Lang, dir string) (Digest, bool) {
	path := filepath.Join(dir, ComparisonFile)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > comparisonMost {
		return Digest{}, false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Digest{}, false
	}
	var c cameTo
	if err := strictjson.DecodeOpen(data, &c); err != nil || c.Schema != comparisonSchema || len(c.Runs) < 2 {
		return Digest{}, false
	}
	names := plainAll(c.Runs)
	d := Digest{Title: say.Sprintf("%s against %s", say.List(names[1:]), names[0]), Said: plainAll(c.Said[say.Tag])}
	for i, o := range outcomes(lang.English()) {
		if o.Word == c.Outcome {
			d.Status = outcomes(say)[i]
		}
	}
	d.Check = strings.Join(d.Said[:min(3, len(d.Said))], " ")
	if c.Warnings > 0 {
		d.Said = append(d.Said, say.Count(c.Warnings, "The runs have 1 warning, which the report has.", "The runs have %s warnings, which the report has."))
	}
	return d, true
}

// outcomeOf is what differences come to: what is shown before what is open, and that before
// what is noise.
func outcomeOf(found []Difference) int {
	for _, what := range []int{worse, better, other, unsure, chance} {
		if slices.ContainsFunc(found, func(d Difference) bool { return d.known() == what }) {
			return what
		}
	}
	return notTested
}
