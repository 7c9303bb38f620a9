package strictjson_test

import (
	"strings"
	"testing"
	"time"

	"locklab/internal/strictjson"
)

type inner struct {
	Name string `json:"name"`
}

type outer struct {
	Count uint          `json:"count"`
	Wait  time.Duration `json:"wait,format:units"`
	Rest  time.Duration `json:"rest_ns,format:nano"`
	Peers []inner       `json:"peers"`
}

func TestDecode(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"right":            {`{"count":3,"wait":"5ms","peers":[{"name":"a"}]}`, ""},
		"some":             {` {"wait":"5ms"} `, ""},
		"unknown":          {`{"cuont":3}`, `field "cuont" is unknown: want one of count, wait, rest_ns, peers`},
		"on a line":        {"{\"count\":3,\n\n\"wait\":4}\n", `line 3: field "wait": have number`},
		"other case":       {`{"Count":3}`, `field "Count" is unknown`},
		"unknown below":    {`{"peers":[{"name":"a"},{"game":"b"}]}`, `field "peers.1.game" is unknown: want one of name`},
		"twice":            {`{"count":3,"count":4}`, `field "count" is there twice`},
		"twice below":      {`{"peers":[{"name":"a","name":"b"}]}`, `field "peers.0.name" is there twice`},
		"behind":           {`{"count":3} {}`, `invalid character '{' after top-level value`},
		"wrong type":       {`{"count":"3"}`, `field "count": have string, want uint`},
		"out of range":     {`{"count":-3}`, `field "count": have number, want uint`},
		"bad duration":     {`{"wait":"5 ms"}`, `field "wait": have string, want time.Duration`},
		"time on the wire": {`{"rest_ns":"5ms"}`, `field "rest_ns": have string, want time.Duration`},
		"list for object":  {`{"peers":{}}`, `field "peers": have object, want []`},
		"not an object":    {`[]`, `have list, want strictjson_test.outer`},
		"cut off":          {`{"count":`, `field "count": byte 9: unexpected EOF`},
		"empty":            {" \n", `it is empty: want one JSON value`},
	} {
		var o outer
		err := strictjson.Decode([]byte(tc.text), &o)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
	o := outer{Count: 7}
	if err := strictjson.DecodeOpen([]byte(`{"wait":"5ms","later":true}`), &o); err != nil || o.Wait != 5*time.Millisecond || o.Count != 7 {
		t.Errorf("open: %v, %+v", err, o)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"count":3,"wait":"5ms","peers":[{"name":"a"}]}`))
	f.Add([]byte(`{"count":3,"count":4}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var strict, open outer
		if strictjson.Decode(text, &strict) == nil && strictjson.DecodeOpen(text, &open) != nil {
			t.Errorf("the strict reader takes what the open one refuses: %q", text)
		}
	})
}
