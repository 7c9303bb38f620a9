package agent

import (
	"testing"

	"locklab/internal/must"
)

func TestClockOffsetOfOneMachine(t *testing.T) {
	_, c := newAgent(t, nil)
	o, err := c.ClockOffset(t.Context(), 5)
	must.Do(t, err)
	if o.Add.Abs() > o.Error {
		t.Errorf("offset %s with an error bound of %s on one machine", o.Add, o.Error)
	}
}
