package history_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"locklab/internal/must"
	"locklab/workloads/history"
)

// fullEvent has every field set, so a field that the codec forgets is seen.
func fullEvent(t testing.TB) history.Event {
	t.Helper()
	var e history.Event
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("a " + name)
		case reflect.Int64:
			f.SetInt(-int64(i) - 1)
		case reflect.Uint64:
			f.SetUint(uint64(i) + 1)
		case reflect.Slice:
			if name == "Usage" {
				zero, some := int64(0), int64(7)
				f.Set(reflect.ValueOf([]history.Usage{{Node: "n-1", CPUNS: &zero, OutBytes: &some}, {Node: "n-2"}}))
				continue
			}
			f.Set(reflect.ValueOf([]string{name, "zwei", "삼"}))
		case reflect.Pointer:
			f.Set(reflect.ValueOf(map[string]any{
				"Machine": &history.Machine{CPUs: 2, BusyNS: 7, LateNS: 3},
				"Lost":    &history.Lost{Node: "n-1", Bytes: 7, Names: 1},
				"Aim":     &history.Aim{At: history.AimHolder, OneWay: true},
				"Run":     &history.Run{Schema: history.Schema, Lock: "raft", HostZones: map[string]string{"h": "a"}},
			}[name]))
		default:
			t.Fatalf("field %s: the test does not know kind %s", name, f.Kind())
		}
	}
	return e
}

// TestCodecKnowsEveryField: with the rare fields package json decodes the line, without them our own decoder.
func TestCodecKnowsEveryField(t *testing.T) {
	common := fullEvent(t)
	v := reflect.ValueOf(&common).Elem()
	rare, _ := v.Type().FieldByName("Unreachable")
	for i := rare.Index[0]; i < v.NumField(); i++ {
		v.Field(i).SetZero()
	}
	for _, want := range []history.Event{fullEvent(t), common} {
		line := history.AppendJSON(nil, &want)
		var ours, std history.Event
		must.Do(t, errors.Join(new(history.Decoder).Decode(line, &ours), json.Unmarshal(line, &std)))
		if diff := cmp.Diff(want, ours); diff != "" {
			t.Errorf("Decode (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, std); diff != "" {
			t.Errorf("package json (-want +got):\n%s", diff)
		}
	}
}

func TestSharedStringsStayRight(t *testing.T) {
	d := history.NewDecoder()
	rapid.Check(t, func(t *rapid.T) {
		want := history.Event{Kind: history.KindRoom, Node: rapid.String().Draw(t, "node"), Room: rapid.StringMatching(`[a-c]{0,3}`).Draw(t, "room")}
		line := history.AppendJSON(nil, &want)
		var std, got history.Event
		if err := json.Unmarshal(line, &std); err != nil {
			t.Fatal(err)
		}
		if err := d.Decode(line, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(std, got) {
			t.Fatalf("want %+v, got %+v", std, got)
		}
	})
}

// FuzzDecode holds Decode to package json on any input, and AppendJSON to what
// Decode understands.
func FuzzDecode(f *testing.F) {
	e := fullEvent(f)
	f.Add(history.AppendJSON(nil, &e))
	f.Add([]byte(`{"kind":"order","at_ns":-5,"unreachable":["w1","w2"],"worker":"w\n"}`))
	f.Add([]byte(`{"kind":"room","at_ns":0,"at_ns":7,"nodes":[],"from":null}`))
	f.Add([]byte("{\"host\":\"\xff\xc3\xa4\"}"))
	f.Add([]byte(`{"run":{"offered_per_s":1e400}}`))
	for _, line := range []string{
		` { "kind" : "match" , "at_ns" : 12, "room": "r\u00221" } `, `{"kind":"match","later":{"deep":[1,{"x":null}]}}`, `}`, `{"kind":"match"`,
		`{"kind":"match","at_ns":12}x`, `{"kind":"match","at_ns":1.5}`, `{"kind":"match","token":-1}`, `{"at_ns":"12"}`, `{"kind":"match",}`,
		`{"kind":"match","at_ns":012}`, `{"kind":"match","at_ns":99999999999999999999}`, `,"at_ns":12}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var ours, std, again history.Event
		stdErr := json.Unmarshal(line, &std, jsontext.AllowInvalidUTF8(true))
		if err := new(history.Decoder).Decode(line, &ours); (err == nil) != (stdErr == nil) {
			t.Fatalf("Decode: %v, package json: %v", err, stdErr)
		}
		if stdErr != nil {
			return
		}
		if !reflect.DeepEqual(ours, std) {
			t.Fatalf("Decode: %+v\npackage json: %+v", ours, std)
		}
		out := history.AppendJSON(nil, &ours)
		if err := new(history.Decoder).Decode(out, &again); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if second := history.AppendJSON(nil, &again); string(second) != string(out) {
			t.Fatalf("not stable:\n%s\n%s", out, second)
		}
	})
}
