package terraform_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions are those of Terraform's that the files use. The ones of cty's standard
// library are the ones that Terraform has.
func (w *world) functions() map[string]function.Function {
	all := map[string]function.Function{
		"can": tryfunc.CanFunc, "concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc,
		"flatten": stdlib.FlattenFunc, "index": indexFunc(), "floor": stdlib.FloorFunc, "formatdate": stdlib.FormatDateFunc,
		"join": stdlib.JoinFunc, "jsonencode": stdlib.JSONEncodeFunc, "keys": stdlib.KeysFunc,
		"length": lengthFunc(), "lookup": stdlib.LookupFunc, "merge": stdlib.MergeFunc, "range": stdlib.RangeFunc,
		"regex": stdlib.RegexFunc, "substr": stdlib.SubstrFunc, "timeadd": stdlib.TimeAddFunc,
		"try": tryfunc.TryFunc, "values": stdlib.ValuesFunc,
		"alltrue": alltrueFunc(), "sum": sumFunc(), "toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
		"plantimestamp": text(func([]string) (string, error) {
			return time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC).Format(time.RFC3339), nil
		}),
		"cidrsubnet": cidrsubnetFunc(), "cidrhost": cidrhostFunc(),
		"file": text(func(a []string) (string, error) { b, err := os.ReadFile(a[0]); return string(b), err }, "path"),
		"filesha256": text(func(a []string) (string, error) {
			b, err := os.ReadFile(w.file(a[0]))
			sum := sha256.Sum256(b)
			return hex.EncodeToString(sum[:]), err
		}, "path"),
		"fileexists": function.New(&function.Spec{
			Params: params("path"), Type: function.StaticReturnType(cty.Bool),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				_, err := os.Stat(w.file(args[0].AsString()))
				return cty.BoolVal(err == nil), nil
			},
		}),
		"endswith": function.New(&function.Spec{
			Params: params("text", "end"), Type: function.StaticReturnType(cty.Bool),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				return cty.BoolVal(strings.HasSuffix(args[0].AsString(), args[1].AsString())), nil
			},
		}),
	}

	all["templatefile"] = templatefileFunc(all)
	return all
}

// file is where a file is that the test has elsewhere.
func (w *world) file(path string) string {
	if strings.HasPrefix(path, "./build/locklab-") {
		return w.binary
	}
	return path
}

func params(names ...string) (all []function.Parameter) {
	for _, name := range names {
		all = append(all, function.Parameter{Name: name, Type: cty.String})
	}
	return all
}

func text(f func([]string) (string, error), names ...string) function.Function {
	return function.New(&function.Spec{
		Params: params(names...), Type: function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			var in []string
			for _, a := range args {
				in = append(in, a.AsString())
			}
			out, err := f(in)
			return cty.StringVal(out), err
		},
	})
}

func lengthFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType}}, Type: function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if args[0].Type() == cty.String {
				return stdlib.Strlen(args[0])
			}
			return cty.NumberIntVal(int64(args[0].LengthInt())), nil
		},
	})
}

func indexFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}, {Name: "value", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			for i, v := range args[0].AsValueSlice() {
				if v.RawEquals(args[1]) {
					return cty.NumberIntVal(int64(i)), nil
				}
			}
			return cty.NilVal, errors.New("item not found")
		},
	})
}

func alltrueFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}}, Type: function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			for _, v := range args[0].AsValueSlice() {
				if v.False() {
					return cty.False, nil
				}
			}
			return cty.True, nil
		},
	})
}

func sumFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Number)}}, Type: function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			sum := cty.Zero
			for _, v := range args[0].AsValueSlice() {
				sum = sum.Add(v)
			}
			return sum, nil
		},
	})
}

func cidrsubnetFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "prefix", Type: cty.String}, {Name: "bits", Type: cty.Number}, {Name: "n", Type: cty.Number}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			prefix, err := netip.ParsePrefix(args[0].AsString())
			bits, _ := args[1].AsBigFloat().Int64()
			n, _ := args[2].AsBigFloat().Int64()
			if err != nil || prefix.Bits() != 16 || bits != 8 || n > 255 {
				return cty.NilVal, fmt.Errorf("only a /16 into /24 here: %w", err)
			}
			a := prefix.Masked().Addr().As4()
			return cty.StringVal(fmt.Sprintf("%d.%d.%d.0/24", a[0], a[1], n)), nil
		},
	})
}

func cidrhostFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "prefix", Type: cty.String}, {Name: "n", Type: cty.Number}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			prefix, err := netip.ParsePrefix(args[0].AsString())
			if err != nil {
				return cty.NilVal, err
			}
			return cty.StringVal(prefix.Masked().Addr().Next().String()), nil
		},
	})
}

func templatefileFunc(functions map[string]function.Function) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "vars", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			path := args[0].AsString()
			src, err := os.ReadFile(path)
			if err != nil {
				return cty.NilVal, err
			}
			expr, diags := hclsyntax.ParseTemplate(src, path, hcl.InitialPos)
			if diags.HasErrors() {
				return cty.NilVal, diags
			}
			vars := args[1].AsValueMap()
			for _, traversal := range expr.Variables() {
				if _, ok := vars[traversal.RootName()]; !ok {
					return cty.NilVal, fmt.Errorf("%s: there is no %s", traversal.SourceRange(), traversal.RootName())
				}
			}
			value, diags := expr.Value(&hcl.EvalContext{Variables: vars, Functions: functions})
			if diags.HasErrors() {
				return cty.NilVal, diags
			}
			return convert.Convert(value, cty.String)
		},
	})
}
