// Package strictjson is the one reader of JSON that comes from outside: requests,
// answers, settings. A field that is unknown, there twice or of the wrong type is
// refused with its name, and so is anything behind the value.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// maxDepth is how deep objects and lists may be nested: nothing that is sent here
// needs a tenth of it, and what is decoded recursively costs stack.
const maxDepth = 100

// Decode reads exactly one JSON value. Errors name the field and say what would be
// right. What the text does not mention stays as it is. A duration is a number of
// nanoseconds unless its field's tag says otherwise.
func Decode(text []byte, into any) error { return decode(text, into, json.RejectUnknownMembers(true)) }

// DecodeOpen is Decode for what newer programs may have written: unknown fields are
// let pass.
func DecodeOpen(text []byte, into any) error { return decode(text, into) }

func decode(text []byte, into any, options ...json.Options) error {
	if tooDeep(text) {
		return fmt.Errorf("objects and lists are nested more than %d deep", maxDepth)
	}
	err := json.Unmarshal(text, into, append(options, jsonv1.FormatDurationAsNano(true))...)
	return explain(err, text)
}

func tooDeep(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return false
}

// explain turns an error of the decoder into one for whoever wrote the text, with the
// line if there are several.
func explain(err error, text []byte) error {
	if err == nil {
		return nil
	}
	text = bytes.TrimRight(text, " \t\r\n")
	if len(text) == 0 {
		return errors.New("it is empty: want one JSON value")
	}
	offset := int64(0)
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = e.ByteOffset
	} else if e, ok := errors.AsType[*json.SemanticError](err); ok {
		offset = e.ByteOffset
	}
	why := reason(err)
	if bytes.ContainsRune(text, '\n') {
		return fmt.Errorf("line %d: %w", 1+bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n")), why)
	}
	return why
}

func reason(err error) error {
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(e, jsontext.ErrDuplicateName) {
			return fmt.Errorf("field %s is there twice", field(e.JSONPointer))
		}
		return fmt.Errorf("%sbyte %d: %w", place(e.JSONPointer), e.ByteOffset, e.Err)
	}
	e, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case !ok:
		return err
	case errors.Is(e, json.ErrUnknownName):
		return fmt.Errorf("field %s is unknown: want one of %s", field(e.JSONPointer), strings.Join(known(e.GoType), ", "))
	case e.Err != nil: // such as a number out of range, or a type's own reader
		return fmt.Errorf("%shave %s, want %s: %w", place(e.JSONPointer), have(e), want(e.GoType, e.JSONPointer), e.Err)
	}
	return fmt.Errorf("%shave %s, want %s", place(e.JSONPointer), have(e), want(e.GoType, e.JSONPointer))
}

// place says where something is, in front of what is said of it.
func place(p jsontext.Pointer) string {
	if p == "" {
		return ""
	}
	return "field " + field(p) + ": "
}

// field writes a pointer as users would: /peers/0/name is "peers[0].name".
func field(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch _, err := strconv.Atoi(token); {
		case err == nil:
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	return strconv.Quote(b.String())
}

func have(e *json.SemanticError) string {
	switch e.JSONKind {
	case 'n':
		return "null"
	case 't', 'f':
		return "a truth value"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	return "a value"
}

func want(t reflect.Type, at jsontext.Pointer) string {
	if t == nil {
		return "another type"
	}
	if t.String() == "time.Duration" && strings.HasSuffix(string(at), "_ns") {
		return "a whole number"
	}
	if t.String() == "time.Duration" {
		return `a duration such as "250ms"`
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return "a whole number from 0"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return want(t.Elem(), at)
	default:
		return "another type"
	}
}

// known lists the fields that a struct has, in its order, with those of embedded ones.
func known(t reflect.Type) []string {
	var names []string
	if t == nil || t.Kind() != reflect.Struct {
		return names
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			names = append(names, known(f.Type)...)
		case f.IsExported() && name != "-":
			names = append(names, name)
		}
	}
	return names
}
