package strictyaml

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/internal/testfile"
)

var errTest = errors.New("test: invalid")

func TestSaysWhereItIsWrong(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":           {"", "f.yaml:1: want exactly one YAML document"},
		"a comment":         {"# later\n", "f.yaml:1: want exactly one YAML document"},
		"two documents":     {"a: b\n---\nc: d\n", "f.yaml:1: want exactly one YAML document"},
		"alias":             {"c: &d e\na: *d", "f.yaml:2: a: want a word or a number"},
		"unknown alias":     {"a: *b", "f.yaml:1: unknown anchor 'b' referenced"},
		"endless alias":     {"a: &a [*a]", "f.yaml:1: a: want a word or a number"},
		"twice":             {"a: b\nc: d\na: e", `f.yaml:3: field "a" is there twice: it is on line 1 too`},
		"twice, quoted":     {"a: b\n'a': e", `f.yaml:2: field "a" is there twice`},
		"unknown":           {"a: b\nx: c", `f.yaml:2: unknown field "x": want a, c`},
		"a list":            {"- a", "f.yaml:1: want fields (a, c)"},
		"open bracket":      {"a:\n  - [b,\n    c\n", "f.yaml:4: did not find expected ',' or ']' (while parsing a flow sequence that begins on line 2)"},
		"tab":               {"a:\n\tb: c", "f.yaml:2: found character that cannot start any token"},
		"control character": {"a: \x01", "f.yaml:1: "},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Parse("f.yaml", []byte(tc.text), errTest)
			if err == nil {
				d.Root.Fields("a", "c").Get("a").Text()
			}
			if err := d.Err(); !errors.Is(err, errTest) || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
	d, err := Parse("f.yaml", []byte("a:\nb: # c\nd: []\n"), errTest)
	if err != nil {
		t.Fatal(err)
	}
	f := d.Root.Fields("a", "b", "d")
	if n := len(f.Get("a").Fields("x").Names()) + len(f.Get("b").List()); n != 0 || d.Err() != nil {
		t.Errorf("fields without a value have %d entries: %v", n, d.Err())
	}
}

// TestNullIsNoEntry: an entry of a list without a value is a mistake.
func TestNullIsNoEntry(t *testing.T) {
	for text, want := range map[string]string{"a:\n  -\n": "f.yaml:2: a[0]: want fields (x)", "a: [~]\n": "f.yaml:1: a[0]: want fields (x)"} {
		d, err := Parse("f.yaml", []byte(text), errTest)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range d.Root.Fields("a").Get("a").List() {
			n.Fields("x")
		}
		if err := d.Err(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestReadWantsARegularFile(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large.yaml")
	testfile.Write(t, large, strings.Repeat("#", maxBytes+1))
	of := Files{What: "topology", Builtin: os.DirFS("/"), Invalid: errTest}
	for path, want := range map[string]string{
		t.TempDir(): "want a regular YAML file", large: "want a regular YAML file of at most 1048576 bytes",
		"/dev/zero": "want a regular YAML file", "none": `topology "none": neither built in nor a file`,
	} {
		if _, _, err := of.Read(path); !errors.Is(err, errTest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("name: a\nlist: [b, {c: 'd'}]\n"))
	f.Add([]byte("pairs: !0 #x"))
	f.Add([]byte("a: &a [*a]\n<<: {? [b]\n: c}"))
	f.Add([]byte("- - - |\n  a\n- \"\\u0041\" # b\n---\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := Parse("f.yaml", text, errTest)
		if err != nil && (!errors.Is(err, errTest) || !strings.HasPrefix(err.Error(), "f.yaml:")) {
			t.Errorf("error without a place: %v", err)
		}
	})
}
