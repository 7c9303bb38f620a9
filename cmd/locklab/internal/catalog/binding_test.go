package catalog

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	json "github.com/go-json-experiment/json/v1"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/nodes/etcdnode"
)

// TestOptionsTravel: a master gets every option of every lock as the controller has read it.
func TestOptionsTravel(t *testing.T) {
	for _, e := range Entries() {
		_, variants := e.Describe("")
		for _, v := range append(variants, locks.Variant{}) {
			variant := v.Name
			plain := locks.Spec{Name: e.Name, Variant: variant}
			if err := e.travels(plain); err != nil {
				t.Errorf("%s: %v", plain, err)
			}
			options, _ := e.Describe(variant)
			for _, o := range options {
				for _, value := range o.Values {
					if o.Open {
						value = map[string]string{"TIME": "70ms", "N": "9"}[value]
					}
					spec := locks.Spec{Name: e.Name, Variant: variant, Options: map[string]string{o.Key: value}}
					err := e.travels(spec)
					if value == "70ms" && errors.Is(err, locks.ErrInvalid) { // too short for this one
						spec.Options[o.Key] = "4s"
						err = e.travels(spec)
					}
					if err != nil {
						t.Errorf("%s: %v", spec, err)
					}
				}
			}
		}
	}
}

func (e Entry) travels(spec locks.Spec) error {
	l, err := e.bind(spec)
	if err != nil {
		return err
	}
	settings, err := l.Settings(time.Second)
	if err != nil {
		return err
	}
	got, err := e.decode(settings.Options)
	if err == nil && !reflect.DeepEqual(got.options, l.options) {
		err = fmt.Errorf("%+v was read, %s written, and %+v read again", l.options, settings.Options, got.options)
	}
	return err
}

// TestLimitsOfLocksFollowTheRoundTrips: a lock waits longer for a server that is far, unless the
// spec says how long, and the members of etcd are not hasty to elect another leader.
func TestLimitsOfLocksFollowTheRoundTrips(t *testing.T) {
	const second = 2640 * time.Millisecond // of aws-regions
	for text, want := range map[string]time.Duration{
		"etcd": 0, "postgres": 1320 * time.Millisecond, "postgres:lease": 1320 * time.Millisecond, "postgres:timeout=200ms": 200 * time.Millisecond,
	} {
		all, err := ParseList([]string{text})
		must.Do(t, err)
		l := all[0]
		settings, err := l.Settings(second)
		must.Do(t, err)
		var far struct{ Timeout time.Duration }
		must.Do(t, json.Unmarshal(settings.Options, &far))
		if far.Timeout != want {
			t.Errorf("%s: timeout %v, where a second is %v; want %v", text, far.Timeout, second, want)
		}
		for _, s := range l.Servers {
			if e, is := s.Settings(nil, second).(etcdnode.Settings); is && e.Election != second {
				t.Errorf("%s: members wait %v for a leader, want %v", text, e.Election, second)
			}
		}
	}
}
