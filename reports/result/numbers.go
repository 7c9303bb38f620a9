package result

import (
	"math"
	"reflect"
	"strconv"
	"strings"
)

// number is the number at a place in the row, such as latency_ms.p99 or errors.timeout;
// false if there is none. Of a kind of error that did not come there were 0.
func (r Row) number(field string) (float64, bool) {
	if kind, ok := strings.CutPrefix(field, "errors."); ok {
		return float64(r.Errors[kind]), true
	}
	if measured, ok := r.Measured[field]; ok {
		n, err := strconv.ParseFloat(string(measured), 64)
		return n, err == nil
	}
	v := reflect.ValueOf(r)
	for name := range strings.SplitSeq(field, ".") {
		if v.Kind() != reflect.Struct {
			return 0, false
		}
		if v = fieldNamed(v, name); v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
	}
	switch {
	case v.IsValid() && v.CanFloat():
		return v.Float(), true
	case v.IsValid() && v.CanInt():
		return float64(v.Int()), true
	}
	return 0, false
}

// fieldNamed is the field that JSON calls so; the zero Value if it is left out there.
func fieldNamed(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		tag, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if tag == name {
			if options == "omitempty" && v.Field(i).IsZero() {
				return reflect.Value{}
			}
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// eachNumber visits every number below v that cannot be negative: all but the moments
// of faults and violations. Its path is as in the file. Drop takes the number out, and
// with it the distribution that it belongs to.
func eachNumber(v reflect.Value, path string, drop func(), visit func(path string, v reflect.Value, drop func())) {
	switch v.Kind() { //nolint:exhaustive // what a row is made of
	case reflect.Pointer:
		if !v.IsNil() {
			eachNumber(v.Elem(), path, v.SetZero, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if name == "faults" {
				continue
			}
			if path != "" {
				name = path + "." + name
			}
			eachNumber(v.Field(i), name, drop, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if v.Index(i).Kind() == reflect.Struct {
				eachNumber(v.Index(i), path+"["+strconv.Itoa(i)+"]", nil, visit)
			}
		}
	case reflect.Map:
		for of := v.MapRange(); of.Next(); {
			eachNumber(of.Value(), path+"."+of.Key().String(), nil, visit)
		}
	case reflect.Int, reflect.Int64, reflect.Float64:
		if drop == nil {
			drop = v.SetZero
		}
		visit(path, v, drop)
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
