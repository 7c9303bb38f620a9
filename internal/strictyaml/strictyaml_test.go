package strictyaml

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"locklab/internal/testfile"
)

var errTest = errors.New("test: invalid")

func TestRefusesWhatIsNotPlain(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":           {"", "f.yaml:1: want exactly one YAML document"},
		"a comment":         {"# later\n", "f.yaml:1: want exactly one YAML document"},
		"two documents":     {"a: b\n---\nc: d\n", "f.yaml:1: want exactly one YAML document"},
		"tag without value": {"a: b\nhosts: !x", "f.yaml:2: tags such as !x are not supported"},
		"known tag":         {"a: !!str b", "f.yaml:1: tags such as !!str are not supported"},
		"anchor":            {"a:\n  - &b c\n", "f.yaml:2: anchors and aliases are not supported"},
		"alias":             {"a: *b", "f.yaml:1: unknown anchor 'b' referenced"},
		"endless alias":     {"a: &a [*a]", "f.yaml:1: anchors and aliases are not supported"},
		"merge key":         {"a: b\n<<: {c: d}", "f.yaml:2: merge keys are not supported"},
		"key that is none":  {"a: b\n? [c]\n: d", "f.yaml:2: want a word as the name of a field"},
		"twice":             {"a: b\nc: d\na: e", `f.yaml:3: field "a" is there twice: it is on line 1 too`},
		"twice, quoted":     {"a: b\n'a': e", `f.yaml:2: field "a" is there twice`},
		"twice, in a list":  {"- {a: b, a: c}", `f.yaml:1: field "a" is there twice`},
		"open bracket":      {"a:\n  - [b,\n    c\n", "f.yaml:4: did not find expected ',' or ']' (while parsing a flow sequence that begins on line 2)"},
		"tab":               {"a:\n\tb: c", "f.yaml:2: found character that cannot start any token"},
		"control character": {"a: \x01", "f.yaml:1: control characters are not allowed"},
		"too large":         {strings.Repeat("#", maxBytes+1), "f.yaml: want at most 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f.yaml", []byte(tc.text), errTest)
			if !errors.Is(err, errTest) || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

// TestReadsWhatOthersWrite: a directive that says the version of YAML, and fields without a value.
func TestReadsWhatOthersWrite(t *testing.T) {
	for _, text := range []string{"%YAML 1.2\n---\na: b\n", "# c\n\n%YAML  1.2\r\n--- # d\na: b\n...\n", "%YAML 1.1\n---\na: b\n"} {
		d, err := Parse("f.yaml", []byte(text), errTest)
		if err != nil || d.Root.Fields("a").Get("a").Text() != "b" {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Parse("f.yaml", []byte("%YAML 1.2\n---\na: [\n"), errTest); err == nil || !strings.HasPrefix(err.Error(), "f.yaml:4: ") {
		t.Errorf("an error below a directive: %v", err)
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

// TestDepthIsBounded: deep nesting of any kind is an error, and takes little memory.
func TestDepthIsBounded(t *testing.T) {
	for _, open := range []string{"[", "{a: ", "- ", "? ", "[a, ", "{? "} {
		text := strings.Repeat(open, maxBytes/len(open))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse("f.yaml", []byte(text), errTest)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.HasPrefix(err.Error(), "f.yaml:1: nested more than 32 deep") {
			t.Errorf("%s...: %v", open, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%s...: took %d bytes of memory", open, took)
		}
	}
}

func TestPanicOfTheLibraryIsAnError(t *testing.T) {
	d := &Document{}
	if err := d.guarded(func() error { panic("oh") }); !errors.Is(err, errLibrary) {
		t.Errorf("a panic became %v", err)
	}
}

func TestReadFileWantsARegularFile(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	testfile.Write(t, large, make([]byte, maxBytes+1))
	for path, want := range map[string]string{
		dir: "want a regular YAML file", large: "want at most 1048576 bytes", "/dev/zero": "want a regular YAML file",
	} {
		if _, err := readFile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := readFile(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("name: a\nlist: [b, {c: 'd'}]\n"))
	f.Add([]byte("pairs: !0 #x"))
	f.Add([]byte("a: &a [*a]\n<<: {? [b]\n: c}"))
	f.Add([]byte("- - - |\n  a\n- \"\\u0041\" # b\n---\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse("f.yaml", text, errTest)
		switch {
		case err == nil:
			if n := depth(d.Root.yaml); n > 2*maxDepth {
				t.Errorf("accepted a tree %d deep", n)
			}
		case !errors.Is(err, errTest) || !strings.HasPrefix(err.Error(), "f.yaml:"):
			t.Errorf("error without a place: %v", err)
		case strings.Contains(err.Error(), errLibrary.Error()):
			t.Errorf("the library panicked, which should be told to its authors: %v", err)
		}
	})
}

func depth(n *yaml.Node) int {
	deepest := 0
	for _, child := range n.Content {
		deepest = max(deepest, depth(child))
	}
	return deepest + 1
}
