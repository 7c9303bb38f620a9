// Package strictjson is the one reader of JSON that comes from outside: requests,
// answers, settings. A field that is unknown, there twice or of the wrong type is
// refused with its name, and so is anything behind the value.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Decode reads exactly one JSON value. Errors name the field and say what would be
// right. What the text does not mention stays as it is. A duration is a number of
// nanoseconds unless its field's tag says otherwise.
func Decode(text []byte, into any) error { return decode(text, into, json.RejectUnknownMembers(true)) }

// DecodeOpen is Decode for what newer programs may have written: unknown fields are
// let pass.
func DecodeOpen(text []byte, into any) error { return decode(text, into) }

func decode(text []byte, into any, options ...json.Options) error {
	err := json.Unmarshal(text, into, append(options, jsonv1.FormatDurationAsNano(true))...)
	text = bytes.TrimSpace(text)
	switch {
	case err == nil:
		return nil
	case len(text) == 0:
		return errors.New("it is empty: want one JSON value")
	}
	place := int64(0)
	if e, is := errors.AsType[*jsontext.SyntacticError](err); is {
		place, err = e.ByteOffset, fmt.Errorf("%sbyte %d: %w", field(e.JSONPointer, ": "), e.ByteOffset, e.Err)
		if errors.Is(e, jsontext.ErrDuplicateName) {
			err = errors.New(field(e.JSONPointer, " is there twice"))
		}
	} else if e, is := errors.AsType[*json.SemanticError](err); is && e.GoType != nil {
		place, err = e.ByteOffset, mismatch(e)
	}
	if bytes.ContainsRune(text, '\n') {
		return fmt.Errorf("line %d: %w", 1+bytes.Count(text[:min(int(place), len(text))], []byte("\n")), err)
	}
	return err
}

// field is what is said of a field, behind its name: that of the pointer /peers/0/name is peers.0.name.
func field(at jsontext.Pointer, said string) string {
	if at == "" {
		return ""
	}
	return fmt.Sprintf("field %q%s", strings.ReplaceAll(string(at[1:]), "/", "."), said)
}

// mismatch says what a field has and what would be right.
func mismatch(e *json.SemanticError) error {
	if errors.Is(e, json.ErrUnknownName) {
		var known []string
		for _, f := range reflect.VisibleFields(e.GoType) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				known = append(known, name)
			}
		}
		return errors.New(field(e.JSONPointer, " is unknown: want one of ") + strings.Join(known, ", "))
	}
	have := strings.NewReplacer("{", "object", "[", "list").Replace(e.JSONKind.String())
	said := fmt.Sprintf("%shave %s, want %s", field(e.JSONPointer, ": "), have, strings.TrimPrefix(e.GoType.String(), "*"))
	if e.Err == nil {
		return errors.New(said)
	}
	return fmt.Errorf("%s: %w", said, e.Err) // such as a number out of range, or a type's own reader
}
