package lab

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"locklab/chaos/fault"
	"locklab/internal/must"
	"locklab/nodes/topology"
)

// nobody holds, leads or is written to.
type nobody struct{}

var _ fault.Resolver = nobody{}

func (nobody) Holder(context.Context, string) (string, error) { return "", nil }
func (nobody) Leader(context.Context) (string, error)         { return "", nil }
func (nobody) Primary(context.Context) (string, error)        { return "", nil }

// TestRefusalsSayWhatIsWrong: of everything that can be wrong with an order of the page.
func TestRefusalsSayWhatIsWrong(t *testing.T) {
	topo, err := topology.Load("seoul-2az")
	must.Do(t, err)
	play, err := NewPlay(*configFor(t, topo, "none,raft"))
	must.Do(t, err)
	refused := map[string]error{
		"a rate": play.SetRate(0), "a lock": play.Switch("rift"), "another lock": play.Switch("0"), "no fault": play.Heal("cut-1"),
	}
	for _, order := range []string{
		``, `{}`, `[]`, `{"fault":"kil"}`, `{"fault":"kill"}`, `{"fault":"kill","target":"node"}`, `{"fault":"kill","target":"holder","colour":1}`,
		`{"fault":"kill","target":"holder","target":"leader"}`, `{"fault":"latency","between":["zones"]}`, `{"fault":"latency","between":["zones"],"delay":"x"}`,
		`{"fault":"latency","between":["zones"],"delay":"1us"}`, `{"fault":"latency","delay":"1ms"}`, `{"fault":"partition","between":["zones"],"mode":"x"}`,
		`{"fault":"partition","from":"zone:a","to":"zone:c","mode":"reset"}`, `{"fault":"partition","from":"zone:a","mode":"hold"}`,
		`{"fault":"partition","from":"zone:a","to":"zone:a","mode":"hold"}`, `{"fault":"partition","between":["zone:a"],"mode":"hold"}`,
		`{"fault":"kill","target":"holder","lose_data":["x"]}`, `{"fault":"kill","target":"zones"}`, `{"fault":"kill","target":"holder"}`,
	} {
		refused[order] = play.Begin([]byte(order))
	}
	for _, order := range []string{`{"fault":"kill","target":"node:gone"}`, `{"fault":"kill","target":"holder"}`, `{"fault":"partition","between":["zone:x","others"],"mode":"hold"}`, `{"fault":"partition","between":["zone:a","others"],"mode":"hold"}`} {
		f, err := fault.Parse([]byte(order))
		must.Do(t, err)
		_, err = f.Plan(t.Context(), "id", fault.Inventory{Hosts: []fault.Host{{Name: "h", Zone: "a"}}}, nobody{})
		refused["planned "+order] = readable(err)
	}
	says := regexp.MustCompile(`want|missing|needs|unknown|there is no|no fault|try again|no host|no node|both sides|twice`)
	for order, err := range refused {
		if err == nil {
			t.Errorf("%s was not refused", order)
		} else if text := err.Error(); !says.MatchString(text) || strings.Contains(text, "fault:1:") {
			t.Errorf("%s is refused with %q", order, text)
		}
	}
}
